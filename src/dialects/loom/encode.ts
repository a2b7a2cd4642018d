/**
 * Encodes the `loom` dialect, as one string per frame or as bytes in batches. Both give the same result. The batch
 * encoder caches the bytes of the envelope, which rarely changes, and writes text chunks without building strings.
 */
import { ByteWriter } from "../../framing/byte-writer.ts";
import { encodeNdjsonBatch } from "../../framing/ndjson.ts";
import type { AnyEvent, Envelope, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { fitsStrictForm, wrapEvent } from "../../protocol/strict.ts";
import { type ClosingReply, ClosingReplyWriter } from "../closing-reply-writer.ts";
import type { BatchEncoder, Encoder, EncoderOptions } from "../dialect.ts";
import { toStrictEvent } from "../strict-event.ts";

export function createLoomEncoder(
  { strict = false, envelope: withEnvelope = true }: EncoderOptions = {},
  saved?: unknown,
): Encoder {
  const prefixOf = createPrefixMemory(strict);
  const closing = strict ? new ClosingReplyWriter(saved) : undefined;
  return {
    ...(closing === undefined
      ? {}
      : { save: () => closing.save(), findMissingText: (record) => closing.findMissingText(record) }),
    encode(record: StampedRecord) {
      const { envelope, event } = record;
      const body = eventText(strict ? toStrictEvent(event, envelope.session_id) : event, strict);
      const { event_id } = envelope;
      const text = withEnvelope
        ? `${prefixOf(envelope, event)}${event_id}${strict ? "" : restText(envelope, event)},${body.slice(1)}`
        : body;
      const end = closing?.add(record);
      return end === undefined ? [text] : [text, closingText(envelope, end, withEnvelope)];
    },
  };
}

function closingText({ session_id }: StampedEnvelope, { reply, nodeId }: ClosingReply, withEnvelope: boolean) {
  if (!withEnvelope) return JSON.stringify({ reply });
  return JSON.stringify({ session_id, node_id: nodeId, reply });
}

/** Caches `prefixText` while session, run and node run stay the same. */
function createPrefixMemory(strict: boolean): (envelope: StampedEnvelope, event: AnyEvent) => string {
  let session: string | undefined;
  let run: string | undefined;
  let node: string | undefined;
  let text = "";
  return (envelope, event) => {
    if (sharesField(event)) return prefixText(envelope, event, strict);
    const { session_id, run_id, node_id } = envelope;
    if (session_id !== session || run_id !== run || node_id !== node || text === "") {
      text = prefixText(envelope, event, strict);
      session = session_id;
      run = run_id;
      node = node_id;
    }
    return text;
  };
}

/** Encodes batches as NDJSON bytes. */
export function createLoomBatchEncoder(options: EncoderOptions = {}): BatchEncoder {
  const { strict = false, envelope: withEnvelope = true } = options;
  if (strict) {
    const encoder = createLoomEncoder(options);
    return { encode: (records) => encodeNdjsonBatch(records.flatMap((record) => encoder.encode(record))) };
  }
  const writer = new ByteWriter();
  const prefixOf = createPrefixCache();
  const nameOf = createNameCache();
  /** Writes the envelope, except for rare fields. */
  const writeHead = (prefix: EnvelopePrefix, { event_id, ts }: StampedEnvelope): void => {
    writer.bytes(prefix.bytes);
    writer.integer(event_id);
    if (ts === undefined) return;
    writer.bytes(TS);
    writer.integer(ts);
  };
  const write = ({ envelope, event }: StampedRecord): void => {
    if (!withEnvelope) {
      writer.text(`${eventText(event, false)}\n`);
      return;
    }
    const prefix = prefixOf(envelope, event);
    const isRare = isRareEnvelope(envelope) || event.type === "got_expand";
    if (!isRare && isBareChunk(event)) {
      writeHead(prefix, envelope);
      writer.bytes(event.type === "message_chunk" ? MESSAGE_START : REASONING_START);
      writer.jsonString(event.content);
      writer.bytes(nameOf(event.id));
      return;
    }
    const body = eventText(event, false);
    if (isRare || body.length < LONG_BODY) {
      writer.text(`${prefix.text}${envelope.event_id}${restText(envelope, event)},${body.slice(1)}\n`);
      return;
    }
    // The comma that joins envelope and event replaces the event's opening brace.
    writeHead(prefix, envelope);
    writer.longText(body, COMMA);
    writer.bytes(NEWLINE);
  };
  return {
    encode(records) {
      for (const record of records) write(record);
      return writer.take();
    },
  };
}

const utf8 = new TextEncoder();
const COMMA = 0x2c;
const NEWLINE = utf8.encode("\n");
/**
 * Bodies of this length are encoded separately: a character beyond Latin-1 makes the whole string it is in use two
 * bytes per character.
 */
const LONG_BODY = 1024;
const TS = utf8.encode(',"ts":');
const MESSAGE_START = utf8.encode(',"type":"message_chunk","content":');
const REASONING_START = utf8.encode(',"type":"reasoning_chunk","content":');

/** True for an envelope with more than IDs and an integer time. */
function isRareEnvelope({ ts, prev_event_id, ext }: Envelope): boolean {
  return (
    prev_event_id !== undefined || ext !== undefined || (ts !== undefined && (!Number.isSafeInteger(ts) || ts < 0))
  );
}

/** A text chunk with only its node name: the most frequent event. */
type BareChunk = { readonly type: "message_chunk" | "reasoning_chunk"; readonly content: string; readonly id: string };

function isBareChunk(event: AnyEvent): event is BareChunk {
  if (event.type !== "message_chunk" && event.type !== "reasoning_chunk") return false;
  let fields = 0;
  for (const _ in event) fields++;
  return fields === 3 && (event as Partial<BareChunk>).id !== undefined;
}

interface EnvelopePrefix {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Maximum number of cached prefixes; a session has few open node runs at a time. */
const MAX_PREFIXES = 256;

/** Caches `prefixText` as string and bytes for each node run, while session and run stay the same. */
function createPrefixCache(): (envelope: StampedEnvelope, event: AnyEvent) => EnvelopePrefix {
  let session: string | undefined;
  let run: string | undefined;
  const prefixes = new Map<string, EnvelopePrefix>();
  const shared = new Map<string, EnvelopePrefix>();
  return (envelope, event) => {
    const { session_id, run_id } = envelope;
    if (session_id !== session || run_id !== run || prefixes.size > MAX_PREFIXES) {
      session = session_id;
      run = run_id;
      prefixes.clear();
      shared.clear();
    }
    const shares = sharesField(event);
    const cache = shares ? shared : prefixes;
    const key = shares ? sharedKey(event) : (envelope.node_id ?? "");
    const known = cache.get(key);
    if (known !== undefined) return known;
    const text = prefixText(envelope, event, false);
    const made = { text, bytes: utf8.encode(text) };
    cache.set(key, made);
    return made;
  };
}

/** Caches the end of a text chunk, which holds the node name. */
function createNameCache(): (id: string) => Uint8Array {
  let name: string | undefined;
  let bytes = new Uint8Array(0);
  return (id) => {
    if (id !== name) {
      name = id;
      bytes = utf8.encode(`,"id":${JSON.stringify(id)}}\n`);
    }
    return bytes;
  };
}

/**
 * True for the types whose payload has a field named like an envelope field: run_start (run_id) and got_expand
 * (node_id).
 */
function sharesField({ type }: AnyEvent): boolean {
  return type === "run_start" || type === "got_expand";
}

/** The cache key for these types: what their `prefixText` depends on besides session and run. */
function sharedKey(event: AnyEvent): string {
  return event.type === "run_start" && (event as JsonObject)["run_id"] === undefined
    ? "run_start without run_id"
    : event.type;
}

/** `{"session_id":…,"run_id":…,"node_id":…,"event_id":` */
function prefixText({ session_id, run_id, node_id }: StampedEnvelope, event: AnyEvent, strict: boolean): string {
  const ownsRun = event.type === "run_start" && (event as JsonObject)["run_id"] !== undefined;
  const runText = run_id === undefined || strict || ownsRun ? "" : `"run_id":${JSON.stringify(run_id)},`;
  const nodeText = node_id === undefined || event.type === "got_expand" ? "" : `"node_id":${JSON.stringify(node_id)},`;
  return `{"session_id":${JSON.stringify(session_id)},${runText}${nodeText}"event_id":`;
}

/** Returns the envelope after event_id: `,"ts":…` and rarely other fields. */
function restText({ ts, prev_event_id, ext, node_id }: Envelope, event: AnyEvent): string {
  let text = ts === undefined ? "" : `,"ts":${ts}`;
  if (prev_event_id !== undefined) text += `,"prev_event_id":${prev_event_id}`;
  if (ext !== undefined) text += `,"ext":${JSON.stringify(ext)}`;
  if (node_id !== undefined && event.type === "got_expand") text += `,"span_node_id":${JSON.stringify(node_id)}`;
  return text;
}

/** Returns the event as JSON. A reply is written without its type. */
function eventText(event: AnyEvent, strict: boolean): string {
  if (event.type === "reply") return replyText(event as JsonObject);
  if ((strict || event.type === "custom") && !fitsStrictForm(event))
    return JSON.stringify({ type: "custom", value: wrapEvent(event) });
  return JSON.stringify(event);
}

function replyText(event: JsonObject): string {
  let fields = 0;
  for (const _ in event) fields++;
  if (fields === 2) return `{"reply":${JSON.stringify(event["reply"])}}`;
  const { type: _type, ...body } = event;
  return JSON.stringify(body);
}
