/**
 * The golden views of `spec/views`: the receiver's view of every vector in `spec/vectors`. The golden messages of
 * `spec/messages.json`: the messages of every run in the `engine` dialect, with the fields that its documentation
 * defines. `npm run vectors` writes both.
 */
import { basename, join } from "node:path";
import { createReceiver, type MessageState } from "../src/client/index.ts";
import type { ReceiverView } from "../src/client/view.ts";
import type { DialectName } from "../src/dialects/index.ts";
import { frameText, listVectorFiles, readVector, type Vector, VECTORS } from "./vectors.ts";

export const MESSAGES = join(VECTORS, "..", "messages.json");

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
  return streams.map((stream) => computeView(dialect, stream));
}

function computeView(dialect: DialectName, frames: readonly unknown[]): ReceiverView {
  const receiver = createReceiver();
  const source = receiver.open({ dialect });
  for (const frame of frames) source.push(frameText(frame));
  source.end();
  return receiver.getSnapshot();
}

/** Computes the messages of every run in the `engine` dialect, by the name of the vector. */
export function computeMessages(): string {
  const messages = listVectorFiles("runs").map((file) => {
    const { name, encodings } = readVector(file);
    const { sessions } = computeView("engine", encodings["engine"]?.flat() ?? []);
    return [name, sessions.flatMap(({ turns }) => turns.flatMap((turn) => turn.messages.map(dropOwnFields)))] as const;
  });
  return `${JSON.stringify(Object.fromEntries(messages), null, 1)}\n`;
}

/** Drops the fields of our receiver that the dialect does not define. Those of a tool call are always empty there. */
function dropOwnFields({ parts: _parts, ...message }: MessageState): object {
  const toolCalls = message.toolCalls.map(
    ({ argumentsText: _text, argumentsInvalid: _invalid, output: _output, ...call }) => call,
  );
  return { ...message, toolCalls };
}

export function writeViews(views: readonly ReceiverView[]): string {
  return `${JSON.stringify(views, null, 1)}\n`;
}
