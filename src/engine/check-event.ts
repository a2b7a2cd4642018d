/**
 * What every event must pass on its way in: its declaration, no field that could be mistaken for the envelope's, names
 * that are short enough to be repeated in the record that closes what they began, and values that read back from their
 * text as what they were checked as.
 */
import { dropNulls } from "../dialects/loom/decode.ts";
import {
  type AnyEvent,
  dropEnvelopeNames,
  ENVELOPE,
  findEventFault,
  isJsonObject,
  LoomError,
} from "../protocol/index.ts";
import { copyJson, isPlainJson } from "./plain-json.ts";

/** Characters of a name or id within an event. Code `invalid_event`. */
export const MAX_EVENT_NAME_LENGTH = 1024;

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

/** The event without nulls in optional fields; throws `invalid_event`, which names the field. */
export function checkEvent(event: AnyEvent, maxNameLength: number = MAX_EVENT_NAME_LENGTH): AnyEvent {
  assertDeclared(event);
  const own = isPlainJson(event) ? event : rewrite(event);
  if (!isUnusual(own, maxNameLength)) return own;
  const clean = dropEnvelopeNames(own);
  const spoofed = own.type === "got_expand" && "span_node_id" in own ? "span_node_id" : findMissing(own, clean);
  if (spoofed !== undefined)
    throw new LoomError("invalid_event", `\`${own.type}\`: \`${spoofed}\` belongs to the envelope`, { path: spoofed });
  return dropNulls(own);
}

/** Throws unless the node run an event is said to belong to can be written into its envelope. */
export function assertNodeId(nodeId: unknown, maxNameLength: number = MAX_EVENT_NAME_LENGTH): void {
  // An id made of a name is a little longer than the name.
  if (nodeId === undefined || (typeof nodeId === "string" && nodeId.length <= maxNameLength + 32)) return;
  throw new LoomError("invalid_event", "`node_id` must be the id of a node run", { path: "node_id" });
}

function assertDeclared(event: AnyEvent): void {
  const fault = findEventFault(event);
  if (fault === undefined) return;
  const type = isJsonObject(event) && typeof event["type"] === "string" ? event["type"] : "event";
  throw new LoomError("invalid_event", `\`${type}\`: ${fault.message}`, { path: fault.path, rule: fault.rule });
}

/** True where a field is null, or named like one of the envelope; throws where a name is too long. */
function isUnusual(event: AnyEvent, limit: number): boolean {
  const values = event as { readonly [name: string]: unknown };
  let found = false;
  for (const name in values) {
    const value = values[name];
    if (value === null || ENVELOPE_NAMES.has(name)) found = true;
    if (typeof value !== "string" || value.length <= limit || !NAMES.has(name)) continue;
    throw new LoomError("invalid_event", `\`${event.type}\`: \`${name}\` may have ${limit} characters`, {
      path: name,
      limit,
    });
  }
  return found;
}

/** What is written is what JSON makes of the event: that is what must be right, not the object it was made of. */
function rewrite(event: AnyEvent): AnyEvent {
  let copy: AnyEvent;
  try {
    copy = copyJson(event);
  } catch (cause) {
    throw new LoomError("invalid_event", `\`${event.type}\` cannot be written as JSON`, {}, { cause });
  }
  assertDeclared(copy);
  return copy;
}

function findMissing(event: AnyEvent, clean: AnyEvent): string | undefined {
  return event === clean ? undefined : Object.keys(event).find((name) => !Object.hasOwn(clean, name));
}
