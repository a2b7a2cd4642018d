/**
 * Decodes the `export` dialect (000/001 §6). The key names the event type and the value is the payload; a few types
 * have a different body.
 */
import { type CustomEvent, findLoomEventForm, LOOM_EVENT_FORMS } from "../../protocol/events.generated.ts";
import type { Form } from "../../protocol/form.ts";
import type { SpecifiedType } from "../../protocol/events/index.ts";
import { isJsonObject, type Json, type JsonObject, toJsonObject } from "../../protocol/json.ts";
import { type AnyEvent, isSpecified } from "../../protocol/record.ts";
import { dropEnvelopeNames, unwrapCustomValue } from "../../protocol/strict.ts";
import { ClosingReplyFilter } from "../closing-reply-filter.ts";
import type { Decoded, Decoder, Decoding } from "../dialect.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { createFrameDecoder, rejectFrame } from "../frame-decoder.ts";
import { PLAIN_FRAMES } from "../frame-traits.ts";
import { decodeEvent } from "../loom/decode.ts";

let typesOfKeys: ReadonlyMap<string, SpecifiedType> | undefined;

function typeOfKey(key: string): SpecifiedType | undefined {
  typesOfKeys ??= new Map(
    Object.keys(LOOM_EVENT_FORMS)
      .filter(isSpecified)
      .map((type) => [findLoomEventForm(type)?.exportKey ?? "", type]),
  );
  return typesOfKeys.get(key);
}

/** Reads a body that differs from the payload. `names` maps event fields to the body's field names. */
interface BodyReader {
  readonly read: (body: Json) => Json;
  readonly names?: { readonly [field: string]: string };
}

const READERS: { readonly [type: string]: BodyReader } = {
  message_chunk: {
    read: (body) => {
      if (!isJsonObject(body)) return body;
      const { chunk, metadata } = body;
      const { loom_node, ...more } = toJsonObject(metadata);
      return { ...more, content: toJsonObject(chunk)["content"] as Json, id: loom_node as Json };
    },
    names: { content: "chunk.content", id: "metadata.loom_node" },
  },
  values: { read: (body) => ({ state: body }) },
  custom: { read: (body) => ({ value: body }) },
};

/** For all other types with an `id`, which is the name of a node. */
const NODE_BODY: BodyReader = { read: renameToId, names: { id: "node_id" } };

const PLAIN_BODY: BodyReader = { read: (body) => body };

export const EXPORT_DECODING: Decoding = {
  createDecoder: createExportDecoder,
  confidence(frame) {
    const keys = Object.keys(frame);
    const [key] = keys;
    if (keys.length !== 1 || key === undefined) return 0;
    if (key === "reply") return 1;
    return typeOfKey(key) === undefined ? 0 : 2;
  },
  traits: PLAIN_FRAMES,
};

function createExportDecoder(): Decoder {
  const closing = new ClosingReplyFilter();
  return createFrameDecoder((frame) => {
    if (closing.matches(frame)) return { records: [], issues: [] };
    const decoded = decodeFrame(frame);
    closing.add(frame, decoded, frame["Custom"] !== undefined);
    return decoded;
  });
}

function renameToId(body: Json): Json {
  if (!isJsonObject(body)) return body;
  const { node_id, id: _id, ...rest } = body;
  return { id: node_id as Json, ...rest };
}

function decodeFrame(frame: JsonObject): Decoded {
  if (Object.hasOwn(frame, "reply")) return decodeReply(frame);
  const keys = Object.keys(frame);
  const [key] = keys;
  if (key === undefined || keys.length > 1) {
    const seen = key === undefined ? "no key" : `${keys.length} keys (${keys.slice(0, 4).join(", ")})`;
    return rejectFrame("frame-kind", `a frame of the export dialect has exactly one key; this one has ${seen}`);
  }
  const type = typeOfKey(key);
  if (type === undefined)
    return { records: [{ envelope: {}, event: { type: "foreign", dialect: "export", frame } }], issues: [] };
  const { read, names } =
    READERS[type] ?? (findLoomEventForm(type)?.fields.has("id") === true ? NODE_BODY : PLAIN_BODY);
  const payload = read(frame[key] as Json);
  if (!isJsonObject(payload)) return rejectFrame("field-type", `\`${key}\` must be an object`, "001 §6");
  const { type: _type, ...own } = payload;
  const plain = { type, ...own } as AnyEvent;
  const inner = type === "custom" ? unwrapCustomValue((plain as CustomEvent).value) : undefined;
  return decodeEvent(dropEnvelopeNames(inner ?? plain), {}, names);
}

/**
 * A reply may have the envelope that 001 §5 recommends. No other frame of this dialect has one, so it is stored as
 * extra fields.
 */
function decodeReply(frame: JsonObject): Decoded {
  const extra = collectExtra(frame, (findLoomEventForm("reply") as Form).fields);
  return decodeEvent({ type: "reply", reply: frame["reply"] as Json }, withExtra({}, "export", extra));
}
