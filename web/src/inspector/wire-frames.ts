/** Collects the frames of a run in another dialect, without decoding them. */
import type { DialectName } from "loom-agent/dialects";
import { isJsonObject } from "loom-agent/protocol";
import type { ListedFrame } from "./filter-frames.ts";
import { FrameStore } from "./frame-store.ts";
import type { WireFrame } from "./inspector-api.ts";
import type { FrameCollector } from "./record-run.ts";

export class WireFrames implements FrameCollector {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  readonly frames: FrameStore<ListedFrame> = new FrameStore<ListedFrame>(() => ({}));
  cursor: string | undefined;

  constructor(session: string, runId: string, dialect: DialectName) {
    this.session = session;
    this.runId = runId;
    this.dialect = dialect;
  }

  add({ text, cursor }: WireFrame): void {
    this.cursor = cursor ?? this.cursor;
    this.frames.add(text, () => ({ text, type: findType(text) }));
  }
}

/** Returns the type of a frame: its `type` field, else the name of its first field. */
export function findType(text: string): string {
  try {
    const frame: unknown = JSON.parse(text);
    if (!isJsonObject(frame)) return "";
    const { type } = frame;
    return typeof type === "string" ? type : (Object.keys(frame)[0] ?? "");
  } catch {
    return "";
  }
}
