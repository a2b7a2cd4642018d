/**
 * The `export` dialect (000/001 §6): one key per frame, no envelope. It follows from the declarations: each of the 23
 * types has its key, types of ours travel as `Custom` with `$loom`, and the reply is `{"reply": …}` unchanged.
 */
import {
  type AnyEvent,
  type CustomEvent,
  dropEnvelopeNames,
  EVENT_TYPES,
  EVENTS,
  type EventType,
  type Fault,
  findLoomEventFault,
  type Hint,
  isJsonObject,
  isKnownType,
  isPlain,
  isSpecified,
  type Json,
  type JsonObject,
  type ReplyEvent,
  type SpecifiedType,
  unwrapValue,
  wrapEvent,
} from "../../protocol/index.ts";
import type { Decoded, Decoder, Dialect, Encoder } from "../dialect.ts";
import { collectExtra, extraOf, mergeExtra, withExtra } from "../extra.ts";
import type { Fate } from "../ledger.ts";
import { dropNulls, sectionOf } from "../loom/decode.ts";
import { loom } from "../loom/index.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";

const TYPE_OF_KEY = new Map<string, SpecifiedType>(
  EVENT_TYPES.filter(isSpecified).map((type) => [EVENTS[type].exportKey, type]),
);

/** How a body that is not simply the payload is written and read back, and what its fields are called there. */
interface Body {
  write(event: JsonObject): Json;
  read(body: Json): Json;
  readonly names?: { readonly [field: string]: string };
}

const NAMED: Body = { write: renameToNodeId, read: renameToId, names: { id: "node_id" } };

const BODIES: { readonly [T in SpecifiedType]?: Body } = {
  node_enter: NAMED,
  node_exit: NAMED,
  updates: NAMED,
  got_node_start: NAMED,
  got_node_complete: NAMED,
  got_node_failed: NAMED,
  message_chunk: {
    write: ({ content, id, ...more }) => ({
      chunk: { content: content as Json },
      metadata: { loom_node: id as Json, ...more },
    }),
    read(body) {
      if (!isJsonObject(body)) return body;
      const { chunk, metadata } = body;
      const { loom_node, ...more } = isJsonObject(metadata) ? metadata : {};
      return { ...more, content: (isJsonObject(chunk) ? chunk["content"] : undefined) as Json, id: loom_node as Json };
    },
    names: { content: "chunk.content", id: "metadata.loom_node" },
  },
  values: { write: (event) => event["state"] as Json, read: (body) => ({ state: body }) },
  custom: { write: (event) => event["value"] as Json, read: (body) => ({ value: body }) },
  checkpoint: {
    write: (event) => ({ ...event, ...nullUnless(event, "thread_id", "checkpoint_ns") }),
    read: (body) => body,
  },
  tool_call_chunk: { write: (event) => ({ ...nullUnless(event, "call_id", "name"), ...event }), read: (body) => body },
  tool_call: withCallId(),
  tool_start: withCallId(),
  tool_output: withCallId(),
  tool_end: withCallId(),
  tool_approval: withCallId(),
};

function withCallId(): Body {
  return { write: (event: JsonObject) => ({ ...nullUnless(event, "call_id"), ...event }), read: (body: Json) => body };
}

function nullUnless(event: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, event[name] ?? null]));
}

function renameToNodeId({ id, ...rest }: JsonObject): JsonObject {
  return { node_id: id as Json, ...rest };
}

function renameToId(body: Json): Json {
  if (!isJsonObject(body)) return body;
  const { node_id, id: _id, ...rest } = body;
  return { id: node_id as Json, ...rest };
}

function createExportEncoder(): Encoder {
  return { encode: ({ envelope, event }) => [exportText(event, extraOf(envelope, "export"))] };
}

function exportText(event: AnyEvent, extra: JsonObject | undefined): string {
  const { type, ...payload } = event as JsonObject & { readonly type: string };
  if (type === "reply") return JSON.stringify(mergeExtra(payload, extra));
  if (type === "foreign" && payload["dialect"] === "export") return JSON.stringify(payload["frame"]);
  if (!isPlain(event) || !isSpecified(type)) return JSON.stringify({ Custom: wrapEvent(event) });
  const special = BODIES[type];
  const body = special === undefined ? payload : special.write(payload);
  return JSON.stringify({ [EVENTS[type].exportKey]: body });
}

function createExportDecoder(): Decoder {
  return {
    decode(text): Decoded {
      const parsed = parseFrame(text);
      if (!parsed.ok) return { records: [], issues: [parsed.issue] };
      return decodeFrame(parsed.frame);
    },
  };
}

function decodeFrame(frame: JsonObject): Decoded {
  const keys = Object.keys(frame);
  const [key] = keys;
  if (key === "reply" || Object.hasOwn(frame, "reply")) return decodeReply(frame);
  if (key === undefined || keys.length > 1) {
    const seen = keys.length === 0 ? "no key" : `${keys.length} keys (${keys.slice(0, 4).join(", ")})`;
    return {
      records: [],
      issues: [issueOfKind(`a frame of the export form has exactly one key, this one has ${seen}`)],
    };
  }
  const type = TYPE_OF_KEY.get(key);
  const body = frame[key] as Json;
  if (type === undefined)
    return { records: [{ envelope: {}, event: { type: "foreign", dialect: "export", frame } }], issues: [] };
  const special = BODIES[type];
  const payload = special === undefined ? body : special.read(body);
  if (!isJsonObject(payload))
    return {
      records: [],
      issues: [issueOfFault({ rule: "field-type", path: key, message: `\`${key}\` must be an object` }, "001 §6")],
    };
  const { type: _type, ...own } = payload;
  const event = { type, ...own } as unknown as AnyEvent;
  return decodeEvent(type === "custom" ? (unwrapValue((event as CustomEvent).value) ?? event) : event);
}

/** Says of a fault where it is in this form. */
function renameFault(fault: Fault, type: string): Fault {
  const name = isSpecified(type) ? BODIES[type]?.names?.[fault.path] : undefined;
  return name === undefined
    ? fault
    : { ...fault, path: name, message: fault.message.replace(`\`${fault.path}\``, `\`${name}\``) };
}

/** The reply may carry the envelope 001 §5 recommends. No other frame here can, so it says nothing; it is kept, as extra. */
function decodeReply(frame: JsonObject): Decoded {
  const { records, issues } = decodeEvent({ ...frame, type: "reply" });
  const extra = collectExtra(frame, EVENTS.reply.fields);
  return {
    records: records.map(({ envelope, event }) => ({
      envelope: withExtra(envelope, "export", extra),
      event: dropExtra(event),
    })),
    issues,
  };
}

/** The reply alone: all else of its frame is kept as extra. */
function dropExtra(event: AnyEvent): AnyEvent {
  return { type: "reply", reply: (event as ReplyEvent).reply };
}

function decodeEvent(given: AnyEvent): Decoded {
  const event = dropEnvelopeNames(given);
  const hints: Hint[] = [];
  const fault = findLoomEventFault(event, hints);
  const section = sectionOf(event.type);
  if (fault !== undefined) return { records: [], issues: [issueOfFault(renameFault(fault, event.type), section)] };
  return {
    records: [{ envelope: {}, event: dropNulls(event) }],
    issues: hints.map((hint) => issueOfHint(hint, section)),
  };
}

const ledger = Object.fromEntries(
  EVENT_TYPES.map((type): [EventType, Fate] => {
    if (type === "reply") return [type, { fate: "carried", as: "{reply}", loses: [], back: (event) => event }];
    if (isSpecified(type))
      return [type, { fate: "carried", as: EVENTS[type].exportKey, loses: [], back: (event) => event }];
    return [type, { fate: "as", as: "Custom", note: "with `$loom`", loses: [], back: (event) => event }];
  }),
) as { readonly [T in EventType]: Fate };

export const exportDialect: Dialect = {
  name: "export",
  title: "EXPORT_SPEC single-key form (000/001 §6)",
  createDecoder: createExportDecoder,
  createEncoder: createExportEncoder,
  folds: false,
  ledger,
  rules: {},
  unended: loom.unended,
  unsaid: ["envelope-missing"],
  claim(frame) {
    const keys = Object.keys(frame);
    const [key] = keys;
    if (keys.length !== 1 || key === undefined) return 0;
    if (key === "reply") return 1;
    return TYPE_OF_KEY.has(key) && !isKnownType(key) ? 2 : 0;
  },
};
