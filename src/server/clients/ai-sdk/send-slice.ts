/**
 * Streams a run, or a slice of it, to clients of the AI SDK. A response ends with the run, or with `finish` where the run
 * waits for the user: these clients send an answer only after the response has ended.
 */
import type { DataLoomWaitingFrame } from "../../../dialects/ai-sdk/frames.generated.ts";
import { writeFinish } from "../../../dialects/ai-sdk/sent-message.ts";
import { parseCursor } from "../../../log/cursor.ts";
import type { Log, StreamFrame } from "../../../log/index.ts";
import { openStream } from "../../../log/stream.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import { LoomError } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { findSession } from "../../endpoints/find-session.ts";
import { isRunRead, readLastEventId } from "../../endpoints/stream-endpoint.ts";
import type { EndAt } from "../../streams/frame-batch.ts";
import type { ReadRequest } from "../../streams/stream-reader.ts";
import { leadReader } from "../../streams/wrap-reader.ts";
import { createNotice, type NoticeCode } from "../client-protocol.ts";
import { sendRunSlice } from "../send-run-slice.ts";
import { findTakenBack, skipTakenBack } from "./skip-taken-back.ts";
import { formatStreamId, type SentSlice } from "./stream-id.ts";

const DIALECT = "ai-sdk";

/** Beginning of the chunk that says that the run waits for the user. */
const WAITING = '{"type":"data-loom-waiting"';

/** What clients of the AI SDK find in the headers of every stream. */
const STREAM_HEADERS = { "x-vercel-ai-ui-message-stream": "v1" } as const;

interface SliceOptions extends Pick<ReadRequest, "onLeave"> {
  /** Index of the first chunk to send; from the end if negative. Default: 0. */
  readonly startIndex?: number | undefined;
  /** True to leave out what is taken back already, if the slice is sent from its start. */
  readonly isReplay?: boolean;
}

export async function sendSlice(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "Empty">, "request" | "caller" | "node" | "signal">,
  slice: SentSlice,
  { startIndex = 0, isReplay = false, onLeave }: SliceOptions = {},
): Promise<Response> {
  const { session, run, from, notice, sdkVersion } = slice;
  const cursor = readLastEventId(call.request);
  if (cursor !== undefined && (await isRunRead(core, session, run, cursor))) return new Response(null, { status: 204 });
  const count = startIndex < 0 ? await countChunks(core.log, slice) : undefined;
  const first = count === undefined ? startIndex : Math.max(0, count + startIndex);
  const skip = notice === undefined ? first : Math.max(0, first - 1);
  const lead = notice === undefined || cursor !== undefined || first > 0 ? [] : [writeNotice(notice)];
  const id = formatStreamId(slice);
  const headers = {
    ...STREAM_HEADERS,
    "x-workflow-run-id": id,
    "x-resumable-stream-id": id,
    ...(count === undefined ? {} : { "x-workflow-stream-tail-index": String(count - 1) }),
  };
  const position = cursor === undefined ? { after: from, skip } : { after: cursor };
  const isWhole = isReplay && cursor === undefined && skip === 0;
  const skipped = isWhole && sdkVersion !== 7 ? await findTakenBack(core, slice, call.signal) : [];
  return sendRunSlice(core, call, slice, {
    dialect: DIALECT,
    sdkVersion,
    ...position,
    endAt: createEnd(slice),
    onLeave,
    framing: "sse",
    isCutHard: true,
    headers,
    adapt: (reader) => leadReader(skipTakenBack(reader, skipped), lead, DIALECT),
  });
}

function writeNotice(code: NoticeCode): string {
  return JSON.stringify({ type: "data-loom-notice", data: createNotice(code), transient: true });
}

/** A stream without a message, for a client that cannot read an empty response. */
export function sendNothing(): Response {
  const headers = { ...STREAM_HEADERS, "content-type": "text/event-stream" };
  return new Response('data: {"type":"finish"}\n\n', { headers });
}

/** Whether the run waits for the user after this chunk. */
export function isWaitingChunk(text: string): boolean {
  return text.startsWith(WAITING);
}

/**
 * Ends the response at the first place from record `waitFromId` on where the run waits for the user. The reason is not
 * `stop`: the tool calls have no results yet.
 */
function createEnd({ waitFromId = 0, sdkVersion }: SentSlice): EndAt {
  const text = writeFinish("tool-calls", sdkVersion);
  return (frame) =>
    isWaitingChunk(frame.text) && parseCursor(frame.cursor).eventId >= waitFromId ? { ...frame, text } : undefined;
}

/** Counts the chunks that a response with this slice has so far. */
async function countChunks(log: Log, slice: SentSlice): Promise<number> {
  const { session, run, from, notice, sdkVersion } = slice;
  const info = await log.getRun(session, run);
  let count = notice === undefined ? 0 : 1;
  if (info === undefined) return count;
  const endAt = createEnd(slice);
  const { lastId = (await findSession(log, session)).lastId } = info;
  for await (const frame of readFrames(
    log,
    session,
    sdkVersion,
    from === undefined ? { after: info.firstId - 1 } : { cursor: from },
  )) {
    if (parseCursor(frame.cursor).eventId > lastId) break;
    count++;
    if (endAt(frame) !== undefined) break;
  }
  return count;
}

async function* readFrames(
  log: Log,
  session: string,
  sdkVersion: number | undefined,
  start: { readonly after?: number; readonly cursor?: string },
): AsyncGenerator<StreamFrame, void, undefined> {
  const form = { dialect: DIALECT, encoderOptions: dropUndefined({ version: sdkVersion }) } as const;
  for await (const frames of openStream(log, session, { ...form, ...start })) yield* frames;
}

/**
 * Finds what to send to a client that has answered these calls: the chunks after the one at which its last response
 * ended, which is the first wait after `eventId`, the record of the last request, or the end of that record. The server
 * uses the answers one by one, so the run seems to wait for the later ones; the response does not end there. Call it after
 * the answers were used.
 */
export async function findRest(
  log: Log,
  session: string,
  eventId: number,
  answered: ReadonlySet<string>,
  sdkVersion: number | undefined,
): Promise<Required<Pick<SentSlice, "from" | "waitFromId">>> {
  let from: string | undefined;
  let end: string | undefined;
  let waitFromId = 0;
  for await (const { text, cursor } of readFrames(log, session, sdkVersion, { after: eventId - 1 })) {
    const { eventId: at } = parseCursor(cursor);
    if (isWaitingChunk(text)) {
      from ??= cursor;
      if (!readWaitingCalls(text).every((call) => answered.has(call))) break;
      waitFromId = at + 1;
    } else if (at === eventId) end = cursor;
  }
  from ??= end;
  if (from !== undefined) return { from, waitFromId };
  throw new LoomError("unknown_call", "The request for this answer is no longer in the session");
}

function readWaitingCalls(text: string): readonly string[] {
  return (JSON.parse(text) as DataLoomWaitingFrame).data.call_ids;
}
