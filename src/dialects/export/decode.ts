/**
 * Reads the single-key form (000/001 §6). It follows from the declarations: a key says which of the 23 types it is, and
 * the value is the payload, for a few types in a form of its own.
 */
import { type CustomEvent, findLoomEventForm, LOOM_EVENT_FORMS } from "../../protocol/events.generated.ts";
import type { Form } from "../../protocol/form.ts";
import type { SpecifiedType } from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject, toJsonObject } from "../../protocol/json.ts";
import { type AnyEvent, isKnownType, isSpecified } from "../../protocol/record.ts";
import { dropEnvelopeNames, unwrapValue } from "../../protocol/strict.ts";
import type { Decoded, Decoding } from "../dialect.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { createFrameDecoder, refuse } from "../frame-decoder.ts";
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

/** How a body that is not simply the payload is read, and what its fields are called there. */
interface Reader {
  readonly read: (body: Json) => Json;
  readonly names?: { readonly [field: string]: string };
}

const READERS: { readonly [type: string]: Reader } = {
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

/** For all other types that have an `id`: it is the name of a node. */
const NAMED: Reader = { read: renameToId, names: { id: "node_id" } };

const AS_IT_IS: Reader = { read: (body) => body };

export const EXPORT_DECODING: Decoding = {
  createDecoder: () => createFrameDecoder(decodeFrame),
  claim(frame) {
    const keys = Object.keys(frame);
    const [key] = keys;
    if (keys.length !== 1 || key === undefined) return 0;
    if (key === "reply") return 1;
    return typeOfKey(key) !== undefined && !isKnownType(key) ? 2 : 0;
  },
};

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
    return refuse("frame-kind", `a frame of the export form has exactly one key, this one has ${seen}`);
  }
  const type = typeOfKey(key);
  if (type === undefined)
    return { records: [{ envelope: {}, event: { type: "foreign", dialect: "export", frame } }], issues: [] };
  const { read, names } = READERS[type] ?? (findLoomEventForm(type)?.fields.has("id") === true ? NAMED : AS_IT_IS);
  const payload = read(frame[key] as Json);
  if (!isJsonObject(payload)) return refuse("field-type", `\`${key}\` must be an object`, "001 §6");
  const { type: _type, ...own } = payload;
  const plain = { type, ...own } as AnyEvent;
  const inner = type === "custom" ? unwrapValue((plain as CustomEvent).value) : undefined;
  return decodeEvent(dropEnvelopeNames(inner ?? plain), {}, names);
}

/** The reply may carry the envelope 001 §5 recommends. No other frame here can, so it says nothing; it is kept, as extra. */
function decodeReply(frame: JsonObject): Decoded {
  const extra = collectExtra(frame, (findLoomEventForm("reply") as Form).fields);
  return decodeEvent({ type: "reply", reply: frame["reply"] as Json }, withExtra({}, "export", extra));
}
