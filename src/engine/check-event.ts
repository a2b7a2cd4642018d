/**
 * What every event must pass on its way in: its declaration, no field that could be mistaken for the envelope's, names
 * that are short enough to be repeated in the record that closes what they began, and values that read back from their
 * text as what they were checked as.
 */
import { dropNulls } from "../dialects/loom/decode.ts";
import { type AnyEvent, dropEnvelopeNames, findEventFault, isJsonObject, LoomError } from "../protocol/index.ts";

/** Characters of a name or id within an event. Code `invalid_event`. */
export const MAX_EVENT_NAME_LENGTH = 1024;

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
  const own = isPlain(event) ? event : rewrite(event);
  assertNames(own, maxNameLength);
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

function assertNames(event: AnyEvent, limit: number): void {
  const values = event as { readonly [name: string]: unknown };
  for (const name in values) {
    const value = values[name];
    if (typeof value !== "string" || value.length <= limit || !NAMES.has(name)) continue;
    throw new LoomError("invalid_event", `\`${event.type}\`: \`${name}\` may have ${limit} characters`, {
      path: name,
      limit,
    });
  }
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

export function copyJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** True when JSON writes the value as it is, and it reads back the same. Its depth was checked before. */
function isPlain(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return prototype === Array.prototype && value.every(isPlain) && !("toJSON" in value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const name in value) if (!isPlain((value as { readonly [name: string]: unknown })[name])) return false;
  return true;
}

function findMissing(event: AnyEvent, clean: AnyEvent): string | undefined {
  return event === clean ? undefined : Object.keys(event).find((name) => !Object.hasOwn(clean, name));
}
