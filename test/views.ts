/**
 * The golden views of `spec/views`: the receiver's view of every vector in `spec/vectors`, written by `npm run
 * vectors`.
 */
import { basename, join } from "node:path";
import { createReceiver, type ReceiverView } from "../src/client/index.ts";
import { frameText, listVectorFiles, readVector, type Vector, VECTORS } from "./vectors.ts";

export interface GoldenView {
  readonly file: string;
  readonly vector: Vector;
}

export function listViews(): GoldenView[] {
  return (["samples", "runs"] as const).flatMap((folder) =>
    listVectorFiles(folder).map((file) => ({
      file: join(VECTORS, "..", "views", folder, basename(file)),
      vector: readVector(file),
    })),
  );
}

/** One view of the whole stream, or one per frame if the frames are independent. */
export function computeViews({ dialect, mode, frames }: Vector): readonly ReceiverView[] {
  const streams = mode === "frame" ? frames.map((frame) => [frame]) : [frames];
  return streams.map((stream) => {
    const receiver = createReceiver();
    const source = receiver.open({ dialect });
    for (const frame of stream) source.push(frameText(frame));
    source.end();
    return receiver.getSnapshot();
  });
}

export function writeViews(views: readonly ReceiverView[]): string {
  return `${JSON.stringify(views, null, 1)}\n`;
}
