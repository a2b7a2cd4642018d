/**
 * Leaves out of a replay what interrupted attempts of the agent wrote. Version 7 of the AI SDK takes it back with
 * `reset-step`. Others cannot, but a client that reads a message from its start need not receive it at all.
 */
import { createAiSdkEncoder } from "../../../dialects/ai-sdk/encode.ts";
import { parseCursor } from "../../../log/cursor.ts";
import type { StreamFrame } from "../../../log/index.ts";
import type { Page } from "../../../log/page.ts";
import { readPages } from "../../../log/read-pages.ts";
import { openStream } from "../../../log/stream.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { findSession } from "../../endpoints/find-session.ts";
import type { StreamReader } from "../../streams/stream-reader.ts";
import { mapReader } from "../../streams/wrap-reader.ts";
import type { SentSlice } from "./stream-id.ts";

/** A step that is taken back: the record that starts it, and the one that takes it back. */
export interface TakenBack {
  readonly from: number;
  readonly to: number;
}

const START_STEP = '{"type":"start-step"';
const FINISH_STEP = '{"type":"finish-step"';
const RESET_STEP = '{"type":"reset-step"';
/** It replaces a part that comes before the step. */
const NODE = '{"type":"data-loom-node"';
/** Does nothing in any version. It takes the place of a chunk that is left out, because some clients count chunks. */
const NOTHING = '{"type":"message-metadata","messageMetadata":null}';

/**
 * How long a replay waits for the next attempt after an interruption, in milliseconds. It begins at once, but on a busy
 * machine that can take seconds.
 */
const MAX_WAIT_MS = 10_000;

/**
 * Finds what is taken back so far. Encodes the run only if a process that executed it has died. If the next attempt is
 * about to begin, waits for it: a page often resumes as soon as the server is back, and may be faster than the search for
 * abandoned runs.
 */
export async function findTakenBack(
  { log, runs }: Pick<ServerCore, "log" | "runs">,
  { session, run }: SentSlice,
  signal: AbortSignal,
): Promise<readonly TakenBack[]> {
  let deadline: AbortSignal | undefined;
  for (;;) {
    // In this order: a run that ends meanwhile is not taken for one that no process executes.
    const info = await findSession(log, session);
    const found = await log.getRun(session, run);
    if (found === undefined) return [];
    const read = () => readPages(log, info, Math.max(found.firstId, info.firstId) - 1, found.lastId ?? info.lastId);
    let hasDied = false;
    let last = "";
    for await (const { texts } of read()) {
      hasDied ||= texts.some((text) => text.includes('"supersedes"'));
      last = texts.at(-1) ?? last;
    }
    // No process executes the run: the one that continues it records the interruption first.
    const isOrphaned = found.lastId === undefined && info.holder === undefined;
    if (isOrphaned) void runs.dispatch(session);
    const isAboutToRepeat = isOrphaned || (last.includes('"code":"interrupted"') && last.includes('"attempt"'));
    if (!isAboutToRepeat || deadline?.aborted === true) return hasDied ? listSteps(read(), run) : [];
    deadline ??= AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)]);
    const next = openStream(log, session, { dialect: "loom", after: info.lastId, follow: true, signal: deadline });
    await next.next();
    await next.return();
  }
}

async function listSteps(pages: AsyncIterable<Page>, run: string): Promise<readonly TakenBack[]> {
  const encoder = createAiSdkEncoder({ version: 7 });
  const steps: TakenBack[] = [];
  let from = 0;
  for await (const { records } of pages)
    for (const record of records) {
      const { run_id, event_id } = record.envelope;
      for (const text of run_id === run ? encoder.encode(record) : []) {
        if (text.startsWith(START_STEP)) from = event_id;
        if (text.startsWith(RESET_STEP)) steps.push({ from, to: event_id });
      }
    }
  return steps;
}

/** Leaves out the parts of these steps. Cursors, all other frames and their number stay as they are. */
export function skipTakenBack(reader: StreamReader, steps: readonly TakenBack[]): StreamReader {
  if (steps.length === 0) return reader;
  let skippedTo = 0;
  /** True in a step of which everything was left out. The next attempt continues it. */
  let isEmpty = false;
  const show = (frame: StreamFrame): StreamFrame => {
    const { text, cursor } = frame;
    const { eventId } = parseCursor(cursor);
    if (text.startsWith(NODE)) return frame;
    if (eventId <= skippedTo || (isEmpty && text.startsWith(FINISH_STEP))) return { text: NOTHING, cursor };
    const isStart = text.startsWith(START_STEP);
    const isContinued = isEmpty && isStart;
    // Of attempts that have the same step, the last one says up to where it is taken back.
    const step = isStart ? steps.findLast(({ from }) => from === eventId) : undefined;
    skippedTo = step?.to ?? 0;
    isEmpty = step !== undefined;
    return isContinued ? { text: NOTHING, cursor } : frame;
  };
  return mapReader(reader, (frames) => ({ frames: frames.map(show), isLast: false }));
}
