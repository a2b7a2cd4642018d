/**
 * A run as specification 001 has it: its frames, then its reply, one JSON object per line. A frame is on disk before it
 * is printed.
 */
import { encodeNdjson } from "../../framing/index.ts";
import { type Log, openStream } from "../../log/index.ts";
import type { StreamModes } from "../../protocol/index.ts";
import { escapeJson } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";

export interface PrintFramesOptions {
  readonly modes: StreamModes;
  /** Resolves to the id of the run's first record, or to undefined when it never begins. */
  readonly firstId: Promise<number | undefined>;
  /** What is there is still printed, then it ends: the run is left as it is. */
  readonly signal: AbortSignal;
}

/** Resolves when the run's last frame is written. Throws `OutputClosed` when nobody reads any more. */
export async function printFrames(
  log: Log,
  sessionId: string,
  terminal: Terminal,
  { modes, firstId, signal }: PrintFramesOptions,
): Promise<void> {
  const first = await firstId;
  if (first === undefined) return;
  // What models say must not repaint a terminal; escaped, it still means the same.
  const isScreen = terminal.columns !== undefined;
  let cursor: string | undefined;
  const findLast = createEndFinder();
  /** True when the last frame was written. */
  const print = async (waiting: { readonly follow: boolean; readonly signal?: AbortSignal }): Promise<boolean> => {
    const place = cursor === undefined ? { after: first - 1 } : { cursor };
    for await (const frames of openStream(log, sessionId, { dialect: "loom", modes, ...place, ...waiting })) {
      const last = frames.findIndex(({ text }) => findLast(text));
      const shown = last < 0 ? frames : frames.slice(0, last + 1);
      await terminal.write(shown.map(({ text }) => encodeNdjson(isScreen ? escapeJson(text) : text)).join(""));
      cursor = frames.at(-1)?.cursor;
      if (last >= 0) return true;
    }
    return false;
  };
  if (!(await print({ follow: true, signal }))) await print({ follow: false });
}

/** True for the frame that is the run's last: its reply, or a `run_end` that none follows. */
function createEndFinder(): (text: string) => boolean {
  let isCompleted = false;
  return (text) => {
    if (isCompleted) return true;
    if (!text.includes('"run_end"')) return false;
    const { type, status } = JSON.parse(text) as { readonly type?: unknown; readonly status?: unknown };
    if (type !== "run_end") return false;
    isCompleted = status === "completed";
    return !isCompleted;
  };
}
