/**
 * Validates every event before it is written. An event must
 *
 * - match the declaration of its type,
 * - have no field that belongs to the envelope,
 * - have short names and IDs, because the events that close its calls and node runs repeat them,
 * - be plain JSON, so that the stored text reads back as the value that was checked.
 *
 * Unpaired surrogates become U+FFFD, except in a piece of a longer text, which `TextJoiner` completes.
 */
import { dropNulls } from "../dialects/loom/decode.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";
import { ENVELOPE } from "../protocol/envelope.ts";
import { dropEnvelopeNames } from "../protocol/strict.ts";
import { findEventFault } from "../protocol/validate.ts";
import { isJsonObject, isPlainJson } from "../protocol/json.ts";
import { repairEvent } from "../protocol/text-joiner.ts";
import { CALL_STEPS } from "./open-work.ts";

/** Maximum characters of a name or ID in an event. Code `invalid_event`. */
export const MAX_NAME_LENGTH = 1024;
/** A node run ID is its node's name with a prefix and a number. */
const MAX_NODE_ID_LENGTH = MAX_NAME_LENGTH + 32;

const ENVELOPE_NAMES: ReadonlySet<string> = new Set([...Object.keys(ENVELOPE.fields), "span_node_id"]);

const NAMES: ReadonlySet<string> = new Set([
  "id",
  "name",
  "call_id",
  "llm_call_id",
  "list_id",
  "item_id",
  "checkpoint_id",
  "run_id",
  "request_id",
  "agent",
  "actor",
  "model",
  "code",
  "error_code",
]);

/**
 * Returns the event without null optional fields. Throws `invalid_event` with the path of the invalid field. `needsCallId`
 * says that a missing `call_id` will be refused too, so that an error names all missing fields.
 */
export function checkEvent(event: AnyEvent, needsCallId = false): AnyEvent {
  assertDeclared(event, needsCallId);
  const own = isPlainJson(event) ? event : rewrite(event);
  if (!isUnusual(own)) return own;
  const clean = dropEnvelopeNames(own);
  const spoofed = own.type === "got_expand" && "span_node_id" in own ? "span_node_id" : findMissing(own, clean);
  if (spoofed !== undefined)
    throw new LoomError(
      "invalid_event",
      `\`${own.type}\`: \`${spoofed}\` is a field of the envelope and cannot be set in an event`,
      { path: spoofed },
    );
  return dropNulls(own);
}

/** Throws `invalid_event` unless `nodeId` can be used as the `node_id` of an envelope. */
export function assertNodeId(nodeId: unknown, maxLength = MAX_NODE_ID_LENGTH): void {
  if (nodeId === undefined || (typeof nodeId === "string" && nodeId.length <= maxLength)) return;
  throw new LoomError("invalid_event", "`node_id` must be the ID of a node run", { path: "node_id" });
}

function assertDeclared(event: AnyEvent, needsCallId = false): void {
  const fault = findEventFault(event);
  if (fault === undefined) return;
  const { path, rule } = fault;
  const { type, call_id: callId } = Object(event) as { readonly type?: unknown; readonly call_id?: unknown };
  const name = isJsonObject(event) && typeof type === "string" ? type : "event";
  const lacksCallId = needsCallId && rule === "field-missing" && Object.hasOwn(CALL_STEPS, name) && callId == null;
  const more = lacksCallId ? ". `call_id` is missing; it must be a string" : "";
  throw new LoomError("invalid_event", `\`${name}\`: ${fault.message}${more}`, { path, rule });
}

/** Returns true if a field is null or has the name of an envelope field. Throws if a name is too long. */
function isUnusual(event: AnyEvent): boolean {
  const values = event as { readonly [name: string]: unknown };
  let found = false;
  for (const name in values) {
    const value = values[name];
    if (value === null || ENVELOPE_NAMES.has(name)) found = true;
    if (typeof value !== "string" || value.length <= MAX_NAME_LENGTH || !NAMES.has(name)) continue;
    throw new LoomError(
      "invalid_event",
      `\`${event.type}\`: \`${name}\` has at most ${MAX_NAME_LENGTH} characters, not ${value.length}`,
      { path: name, limit: MAX_NAME_LENGTH },
    );
  }
  return found;
}

/** Replaces the event with its JSON form, repairs that and validates it: JSON is what gets stored. */
function rewrite(event: AnyEvent): AnyEvent {
  let copy: AnyEvent;
  try {
    copy = repairEvent(event);
  } catch (cause) {
    throw new LoomError("invalid_event", `\`${event.type}\` cannot be written as JSON`, {}, { cause });
  }
  assertDeclared(copy);
  return copy;
}

function findMissing(event: AnyEvent, clean: AnyEvent): string | undefined {
  return event === clean ? undefined : Object.keys(event).find((name) => !Object.hasOwn(clean, name));
}
