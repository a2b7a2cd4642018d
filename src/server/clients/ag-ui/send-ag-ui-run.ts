/** Sends the slice of a run that a request of an AG-UI client stands for. */
import { NOTICE, THOUGHT_PREFIX } from "../../../dialects/ag-ui/carried-events.ts";
import { assertCursorOf, formatCursor, parseCursor } from "../../../log/cursor.ts";
import type { StreamFrame } from "../../../log/index.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { AgUiInput } from "../../api/shapes.generated.ts";
import { assertRunStarts, findSession } from "../../endpoints/find-session.ts";
import { runPath } from "../../endpoints/resource-paths.ts";
import { readLastEventId } from "../../endpoints/stream-endpoint.ts";
import { type Position, readPosition } from "../../streams/position.ts";
import type { ReadRequest } from "../../streams/stream-reader.ts";
import { readCursor } from "../../streams/stream-selection.ts";
import { leadReader } from "../../streams/wrap-reader.ts";
import { createNotice, type NoticeCode } from "../client-protocol.ts";
import { sendRunSlice } from "../send-run-slice.ts";
import { createAgUiReader } from "./ag-ui-reader.ts";
import { type AgUiRun, findPause } from "./find-run.ts";
import { readResults } from "./read-input.ts";
import { readThread } from "./read-thread.ts";
import type { AgUiThreadMessage } from "./thread-fold.ts";

interface SendRunOptions
  extends Pick<AgUiInput, "runId" | "parentRunId" | "protocolVersion">, Pick<ReadRequest, "onLeave"> {
  /** Messages of the client. The log does not have those with instructions, so a snapshot sends them back. */
  readonly messages?: AgUiInput["messages"];
  readonly threadId: string;
  readonly framing?: "sse" | "ndjson";
  readonly modes?: readonly string[];
  /** True if the client has received nothing of the run yet. Others get a snapshot of the messages before it. */
  readonly isFirst: boolean;
  readonly notice?: NoticeCode | undefined;
  readonly isTanStack: boolean;
}

export async function sendAgUiRun(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "Empty">, "request" | "caller" | "node" | "signal">,
  target: AgUiRun,
  options: SendRunOptions,
): Promise<Response> {
  const { log } = core;
  const { session, run, answered } = target;
  const { framing = "sse", modes, onLeave, isFirst, threadId, runId, parentRunId, protocolVersion } = options;
  const { isTanStack, notice } = options;
  await assertRunStarts(log, target);
  const legacy = protocolVersion === undefined;
  const instructions = (options.messages ?? []).filter(({ role }) => role === "system" || role === "developer");
  const newMessage = notice === undefined ? undefined : options.messages?.at(-1)?.["id"];
  const client: SnapshotClient = { legacy, isTanStack, instructions, newMessage };
  const pause = answered.length === 0 ? undefined : await findPause(log, target);
  const position = await readStart(core, session, call.request);
  // From the start of the record: a frame that the client has may have to be sent again.
  const after = position?.after ?? (pause === undefined ? undefined : String(pause));
  const isJoined = !isFirst && position === undefined;
  const messages = isJoined ? await writeSnapshots(core, target, pause, client) : [];
  // A change after a pause needs the state before it, which a client that was reloaded does not have.
  const state =
    pause === undefined || position !== undefined
      ? undefined
      : await writeState(core, session, { modes, upTo: pause, ...(isFirst ? { maxRuns: 1 } : {}) });
  const snapshots = [...messages, state].filter((text) => text !== undefined);
  const ids = { threadId, runId, ...(parentRunId === undefined ? {} : { parentRunId }) };
  const isLed = notice !== undefined && position === undefined;
  // The client accepts nothing before `RUN_STARTED`, and the run may have to wait for another one.
  const lead = isLed ? [JSON.stringify({ type: "RUN_STARTED", ...ids }), ...snapshots, writeNotice(notice)] : [];
  return sendRunSlice(core, call, target, {
    dialect: "ag-ui",
    legacy,
    modes,
    after,
    onLeave,
    framing,
    headers: { "content-location": runPath(core, session, run) },
    adapt: (opened) => {
      const reader = createAgUiReader(opened, {
        ...ids,
        isStarted: isLed,
        answered,
        isTanStack,
        readUpTo: position?.readUpTo,
        ownResults: isFirst && !isTanStack ? listOwnResults(target, options.messages) : new Map(),
        replaceMessages: (frame) => replaceMessages(core, session, frame, client),
        snapshots: isLed ? [] : snapshots,
        isEnveloped: framing === "ndjson",
        findLastId: async () => (await findSession(log, session)).lastId,
      });
      return leadReader(reader, lead, "ag-ui");
    },
  });
}

function writeNotice(notice: NoticeCode): string {
  return JSON.stringify({ type: "CUSTOM", name: NOTICE, value: createNotice(notice) });
}

/** Reads `Last-Event-ID`: what the client has, and the record to start with. */
async function readStart(
  { log }: ServerCore,
  session: string,
  request: Request,
): Promise<{ readonly after: string; readonly readUpTo: Position } | undefined> {
  const cursor = readLastEventId(request);
  if (cursor === undefined) return undefined;
  const parsed = readCursor(cursor, { dialect: "ag-ui" });
  const { incarnation } = await findSession(log, session);
  assertCursorOf(session, incarnation, parsed);
  return { after: formatCursor(incarnation, Math.max(0, parsed.eventId - 1)), readUpTo: readPosition(cursor) };
}

/** The client that receives snapshots of the messages. */
interface SnapshotClient {
  /** True for clients before version 1.0. */
  readonly legacy: boolean;
  readonly isTanStack: boolean;
  /** Its messages that are not in the log. */
  readonly instructions: readonly JsonObject[];
  /** ID of its new message, if it lacks messages before that one. */
  readonly newMessage?: Json | undefined;
}

/** The graph state at a record, if the modes include it. */
async function writeState(
  core: ServerCore,
  session: string,
  { modes = [], ...range }: { modes?: readonly string[] | undefined; upTo: number; maxRuns?: number },
): Promise<string | undefined> {
  if (!modes.includes("all") && !modes.includes("values")) return undefined;
  const { fold } = await readThread(core, { session, modes: ["values"], ...range });
  return fold.state === undefined ? undefined : JSON.stringify({ type: "STATE_SNAPSHOT", snapshot: fold.state });
}

/** The messages before the run, for a client that may have a part of it: what is not in the snapshot is removed. */
async function writeSnapshots(
  core: ServerCore,
  { session, run }: AgUiRun,
  pause: number | undefined,
  { legacy, isTanStack, instructions, newMessage }: SnapshotClient,
): Promise<readonly string[]> {
  const info = await core.log.getRun(session, run);
  const upTo = pause ?? info?.firstId;
  if (upTo === undefined) return [];
  const { messages } = (await readThread(core, { session, upTo, legacy })).fold;
  if (isTanStack) return [writeMessages(instructions, messages)];
  // HttpAgent adds what it lacks at the end, so its new message must be removed first.
  const earlier = messages.filter(({ id }) => id !== newMessage);
  const first = earlier.length === messages.length ? [] : [writeMessages(instructions, earlier)];
  if (messages.some(isThought)) return [...first, writeMessages(instructions, messages)];
  // HttpAgent keeps thoughts if a snapshot has none, and would append to them.
  const { fold } = await readThread(core, { session, maxRuns: 1, legacy });
  const thought = fold.messages.find(isThought);
  const thoughts = thought === undefined ? [] : [emptyMessage(thought.id, "reasoning")];
  return [...first, writeMessages(instructions, messages, thoughts)];
}

/**
 * The results in the messages of a client that it sends as answers. TanStack AI keeps results by call, others have a
 * message for each.
 */
function listOwnResults({ answered }: AgUiRun, messages: AgUiInput["messages"] = []): ReadonlyMap<string, string> {
  const calls = new Set(answered.flatMap(({ kind, call }) => (kind === "result" ? [call] : [])));
  const results = [...readResults({ messages })].filter(([call]) => calls.has(call));
  return new Map(
    results.map(([call, { output }]) => [call, typeof output === "string" ? output : JSON.stringify(output)]),
  );
}

/** The snapshots that leave the client with the messages up to a frame. A `loom.superseded` names those to remove. */
async function replaceMessages(
  core: ServerCore,
  session: string,
  { text, cursor }: StreamFrame,
  { legacy, isTanStack, instructions }: SnapshotClient,
): Promise<readonly string[]> {
  const { fold } = await readThread(core, { session, upTo: parseCursor(cursor).eventId, legacy });
  const { messages } = fold;
  const { value } = JSON.parse(text) as { readonly value?: { readonly messageIds: readonly string[] } };
  const thought = value?.messageIds.find((id) => id.startsWith(THOUGHT_PREFIX));
  if (isTanStack || thought === undefined || messages.some(isThought)) return [writeMessages(instructions, messages)];
  // HttpAgent keeps thoughts if a snapshot has none. This one has the thought, but with another role in the end, so that
  // the next one removes it.
  const changed = [emptyMessage(thought, "reasoning"), emptyMessage(thought, "assistant")];
  return [writeMessages(instructions, messages, changed), writeMessages(instructions, messages)];
}

function isThought({ role }: AgUiThreadMessage): boolean {
  return role === "reasoning";
}

function emptyMessage(id: string, role: "assistant" | "reasoning"): AgUiThreadMessage {
  return { id, role, content: "" };
}

function writeMessages(...messages: readonly (readonly (AgUiThreadMessage | JsonObject)[])[]): string {
  return JSON.stringify({ type: "MESSAGES_SNAPSHOT", messages: messages.flat() });
}
