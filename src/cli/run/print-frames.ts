/**
 * Prints a run as specification 001 defines it: its frames, then its reply, as NDJSON. A frame is stored before it is
 * printed.
 */
import { LOOM_DECODING } from "../../dialects/loom/decode.ts";
import { encodeNdjson } from "../../framing/index.ts";
import type { StreamModes } from "../../protocol/stream-modes.ts";
import { isTerminal } from "../../protocol/record.ts";
import { escapeJson } from "../fit-text.ts";
import type { SessionService } from "../sessions/session-service.ts";
import type { Terminal } from "../terminal.ts";

/** Which frames are printed. */
export interface FrameFormat {
  /** Undefined: all events except graph states. */
  readonly modes: StreamModes | undefined;
  /** Only the 23 types of specification 001. */
  readonly strict: boolean;
}

export interface PrintFramesOptions extends FrameFormat {
  /** Resolves to the ID of the run's first record, or to undefined if the run never starts. */
  readonly firstId: Promise<number | undefined>;
  /** Stops following: the frames stored so far are printed, and the run continues. */
  readonly signal: AbortSignal;
}

/** Resolves when the last frame is written. Throws `OutputClosed` if standard output was closed. */
export async function printFrames(
  service: Pick<SessionService, "openFrames">,
  sessionId: string,
  terminal: Terminal,
  { modes, strict, firstId, signal }: PrintFramesOptions,
): Promise<void> {
  const first = await firstId;
  if (first === undefined) return;
  // On a terminal, unsafe characters are escaped.
  const isScreen = terminal.columns !== undefined;
  let cursor: string | undefined;
  const findLast = createEndFinder(strict);
  /** Returns true if the last frame was written. */
  const print = async (waiting: { readonly follow: boolean; readonly signal: AbortSignal }): Promise<boolean> => {
    const after = cursor ?? String(first - 1);
    for await (const frames of service.openFrames(sessionId, { dialect: "loom", strict, modes, after, ...waiting })) {
      const last = frames.findIndex(({ text }) => findLast(text));
      const shown = last < 0 ? frames : frames.slice(0, last + 1);
      await terminal.write(shown.map(({ text }) => encodeNdjson(isScreen ? escapeJson(text) : text)).join(""));
      cursor = frames.at(-1)?.cursor;
      if (last >= 0) return true;
    }
    return false;
  };
  if (await print({ follow: true, signal })) return;
  await print({ follow: false, signal: new AbortController().signal });
}

/** Recognizes the last frame of the run: the reply, or a `run_end` without a reply. In strict form it is always a reply. */
function createEndFinder(strict: boolean): (text: string) => boolean {
  let hasReply = false;
  const decoder = LOOM_DECODING.createDecoder();
  return (text) => {
    if (hasReply) return true;
    if (!text.includes('"run_end"')) return false;
    const event = decoder.decode(text).records[0]?.event;
    if (event?.type !== "run_end") return false;
    hasReply = strict || !isTerminal(event);
    return !hasReply;
  };
}
