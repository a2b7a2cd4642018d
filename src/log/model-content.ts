/**
 * Reads what model calls sent and received. A record (`llm_content`) has only values that no earlier record has; the others
 * it refers to, so a session stores each message once, however often it is sent. This module follows the references.
 *
 * Invariant: a reference points to an earlier record, or to what was carried over from a pruned one (`carried-content.ts`).
 * Values that are no longer stored, and references that make no sense, are `undefined`; nothing here trusts an imported
 * record.
 */
import { createRecordReader } from "../dialects/loom/decode.ts";
import { isLoomError, type Json, LoomError } from "../protocol/index.ts";
import type { LlmContentEvent } from "../protocol/events.generated.ts";
import type { AnyEvent } from "../protocol/record.ts";
import type { Log, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { assertRun, assertSession } from "./rules.ts";

/** Values of one call. More only occur in records that were not written by an agent. */
const MAX_VALUES = 100_000;
/** Values and references that are followed for one call. */
const MAX_STEPS = 400_000;

/** A value, or undefined if it is no longer stored. */
export type StoredValue = Json | undefined;

/** A model call of a run, and where its content is stored. */
export interface ModelCallInfo {
  readonly callId: string;
  readonly model: string | undefined;
  /** Record of its start. */
  readonly eventId: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number | undefined;
  /** Record with the request; undefined if it was not recorded. */
  readonly requestId: number | undefined;
  /** Record with the response; undefined if there is none. */
  readonly responseId: number | undefined;
}

/** What a model call sent and received. */
export interface ModelCallContent extends ModelCallInfo {
  /** Model, settings, tool choice and response format. */
  readonly parameters: StoredValue;
  readonly tools: StoredValue;
  /** The messages that were sent, in order. */
  readonly messages: readonly StoredValue[];
  /** The message that the model returned. */
  readonly response: StoredValue;
}

/** Removes the content of an event that only the owner of its session may read. Other events are returned unchanged. */
export function hideContent<E extends AnyEvent>(event: E): E {
  return event.type === "llm_content" ? { ...event, parts: [] } : event;
}

/** Lists the model calls of a run in the order they started. Throws `unknown_session` and `unknown_run`. */
export async function listModelCalls(log: Log, sessionId: string, runId: string): Promise<readonly ModelCallInfo[]> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  const run = assertRun(await log.getRun(sessionId, runId), sessionId, runId);
  const calls = new Map<string, ModelCallInfo>();
  const read = createRecordReader();
  const from = Math.max(run.firstId, info.firstId);
  for await (const { texts } of readPages(log, info, from - 1, run.lastId ?? info.lastId))
    for (const text of texts) {
      // Most records are text chunks and need not be parsed.
      if (!text.includes('"llm_')) continue;
      const record = read(text);
      if (record === undefined || record.envelope.run_id !== runId) continue;
      const { event, envelope } = record;
      const { event_id: eventId = 0, ts: startedAt } = envelope;
      if (event.type === "llm_start") {
        const { llm_call_id: callId, model } = event as { readonly llm_call_id: string; readonly model?: string };
        calls.set(callId, { callId, model, eventId, startedAt, requestId: undefined, responseId: undefined });
      } else if (event.type === "llm_content") {
        const { llm_call_id: callId, role, is_partial: isPartial, parts } = event as LlmContentEvent;
        const known = calls.get(callId);
        if (known === undefined || isPartial === true || parts.length === 0) continue;
        calls.set(callId, { ...known, [role === "request" ? "requestId" : "responseId"]: eventId });
      }
    }
  return [...calls.values()];
}

/**
 * Reads one model call with its prompt and response. Throws `unknown_session`, `unknown_run`, and `unknown_call` if the run
 * has no such call.
 */
export async function readModelCall(
  log: Log,
  sessionId: string,
  runId: string,
  callId: string,
): Promise<ModelCallContent> {
  const call = (await listModelCalls(log, sessionId, runId)).find((each) => each.callId === callId);
  if (call === undefined)
    throw new LoomError("unknown_call", `Run "${runId}" has no model call "${callId}"`, { llm_call_id: callId });
  const [parameters, tools, ...messages] =
    call.requestId === undefined ? [] : await readContent(log, sessionId, call.requestId);
  const [response] = call.responseId === undefined ? [] : await readContent(log, sessionId, call.responseId);
  return { ...call, parameters, tools, messages, response };
}

/** Values of a record that are still to be read: `count` from `start`. */
interface Range {
  readonly id: number;
  readonly start: number;
  readonly count: number;
}

/**
 * Returns all values of a record, its own and those it refers to. Empty if it is not an `llm_content` record. Each level
 * of references passes on only the range that is needed, so the work is linear in the values and the levels.
 */
export async function readContent(log: Log, sessionId: string, eventId: number): Promise<readonly StoredValue[]> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  const known = new Map<number, LlmContentEvent["parts"]>();
  let carried: ReturnType<typeof readCarriedParts> | undefined;
  const values: StoredValue[] = [];
  const stack: (Range | { readonly value: StoredValue })[] = [{ id: eventId, start: 0, count: MAX_VALUES }];
  for (let steps = 0; stack.length > 0 && values.length < MAX_VALUES && steps < MAX_STEPS; steps++) {
    const next = stack.pop() as (typeof stack)[number];
    if ("value" in next) {
      values.push(next.value);
      continue;
    }
    let parts = known.get(next.id);
    if (parts === undefined) {
      parts = await readParts(log, info, next.id);
      parts ??= (await (carried ??= readCarriedParts(log, sessionId))).get(next.id) ?? [];
      known.set(next.id, parts);
    }
    const found = cutParts(parts, next);
    const missing = next.id === eventId ? 0 : Math.min(next.count - countValues(found), MAX_VALUES - values.length);
    for (let index = 0; index < missing; index++) stack.push({ value: undefined });
    stack.push(...found.toReversed());
  }
  return values;
}

/** Returns the parts of a record within a range of its values. */
function cutParts(parts: LlmContentEvent["parts"], { id, start, count }: Range) {
  const found: (Range | { readonly value: StoredValue })[] = [];
  let position = 0;
  for (const { value, event_id: from, start: first = 0, count: length = 0 } of parts) {
    const size = from === undefined ? 1 : length;
    const low = Math.max(start, position);
    const high = Math.min(start + count, position + size);
    if (high > low) {
      if (from === undefined) found.push({ value });
      // A record that refers to itself or to a later one was not written by an agent.
      else found.push({ id: from < id ? from : 0, start: first + low - position, count: high - low });
    }
    position += size;
  }
  return found;
}

function countValues(parts: readonly (Range | { readonly value: StoredValue })[]): number {
  return parts.reduce((sum, part) => sum + ("value" in part ? 1 : part.count), 0);
}

/** Undefined if the record was pruned. */
async function readParts(log: Log, info: SessionInfo, id: number): Promise<LlmContentEvent["parts"] | undefined> {
  if (id < info.firstId) return undefined;
  if (id > info.lastId) return [];
  try {
    const { records } = await log.read(info.sessionId, { after: id - 1, limit: 1 });
    const event = records[0]?.event;
    return event?.type === "llm_content" ? (event as LlmContentEvent).parts : [];
  } catch (error) {
    if (isLoomError(error, "evicted")) return undefined;
    throw error;
  }
}

async function readCarriedParts(log: Log, sessionId: string): Promise<ReadonlyMap<number, LlmContentEvent["parts"]>> {
  const carried = await log.readCarried(sessionId);
  return new Map(carried.map(({ record }) => [record.envelope.event_id, (record.event as LlmContentEvent).parts]));
}
