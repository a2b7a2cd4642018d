/**
 * Writes the `loom` wire, as text frame by frame or as bytes in batches. Both give the same; the second keeps the bytes
 * of the envelope, which hardly changes from frame to frame, and writes text chunks without building a string.
 */
import { ByteWriter } from "../../framing/index.ts";
import {
  type AnyEvent,
  type Envelope,
  isPlain,
  type JsonObject,
  type StampedEnvelope,
  type StampedRecord,
  wrapEvent,
} from "../../protocol/index.ts";
import type { BatchEncoder, Encoder, EncoderOptions } from "../dialect.ts";

export function createLoomEncoder({ strict = false, envelope: withEnvelope = true }: EncoderOptions = {}): Encoder {
  const startOf = createStartMemory(strict);
  return {
    encode({ envelope, event }: StampedRecord) {
      const body = eventText(event, strict);
      if (!withEnvelope) return [body];
      const { event_id } = envelope;
      return [`${startOf(envelope, event)}${event_id}${restText(envelope, event)},${body.slice(1)}`];
    },
  };
}

/** `startText`, kept while session, run and node run stay the same: tokens come in rows. */
function createStartMemory(strict: boolean): (envelope: StampedEnvelope, event: AnyEvent) => string {
  let session: string | undefined;
  let run: string | undefined;
  let node: string | undefined;
  let text = "";
  return (envelope, event) => {
    if (sharesField(event)) return startText(envelope, event, strict);
    const { session_id, run_id, node_id } = envelope;
    if (session_id !== session || run_id !== run || node_id !== node || text === "") {
      text = startText(envelope, event, strict);
      session = session_id;
      run = run_id;
      node = node_id;
    }
    return text;
  };
}

/** As NDJSON bytes. */
export function createLoomBatchEncoder(options: EncoderOptions = {}): BatchEncoder {
  const { strict = false, envelope: withEnvelope = true } = options;
  const writer = new ByteWriter();
  const startOf = createStartCache(strict);
  const nameOf = createNameCache();
  /** What comes before the event, as bytes. */
  const writeHead = (start: Start, { event_id, ts }: StampedEnvelope): void => {
    writer.bytes(start.bytes);
    writer.integer(event_id);
    if (ts === undefined) return;
    writer.bytes(TS);
    writer.integer(ts);
  };
  const write = ({ envelope, event }: StampedRecord): void => {
    if (!withEnvelope) {
      writer.text(`${eventText(event, strict)}\n`);
      return;
    }
    const start = startOf(envelope, event);
    const isRare = isRareEnvelope(envelope) || event.type === "got_expand";
    if (!isRare && isBareChunk(event) && (event.type === "message_chunk" || !strict)) {
      writeHead(start, envelope);
      writer.bytes(event.type === "message_chunk" ? MESSAGE_START : REASONING_START);
      writer.jsonString(event.content);
      writer.bytes(nameOf(event.id));
      return;
    }
    const body = eventText(event, strict);
    if (isRare || body.length < LONG_BODY) {
      writer.text(`${start.text}${envelope.event_id}${restText(envelope, event)},${body.slice(1)}\n`);
      return;
    }
    // The event's opening brace gives way to the comma that joins it to the envelope.
    writeHead(start, envelope);
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
/** From this length on a body is worth a conversion of its own: one character beyond Latin-1 doubles all that is with it. */
const LONG_BODY = 1024;
const TS = utf8.encode(',"ts":');
const MESSAGE_START = utf8.encode(',"type":"message_chunk","content":');
const REASONING_START = utf8.encode(',"type":"reasoning_chunk","content":');

/** An envelope with more than ids and a whole number of milliseconds. */
function isRareEnvelope({ ts, prev_event_id, ext }: Envelope): boolean {
  return (
    prev_event_id !== undefined || ext !== undefined || (ts !== undefined && (!Number.isSafeInteger(ts) || ts < 0))
  );
}

/** A piece of text with its node's name and nothing else: most of what a stream carries. */
type BareChunk = { readonly type: "message_chunk" | "reasoning_chunk"; readonly content: string; readonly id: string };

function isBareChunk(event: AnyEvent): event is BareChunk {
  if (event.type !== "message_chunk" && event.type !== "reasoning_chunk") return false;
  let fields = 0;
  for (const _ in event) fields++;
  return fields === 3 && (event as Partial<BareChunk>).id !== undefined;
}

interface Start {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Node runs whose envelope is kept; a session has few open at a time. */
const MAX_STARTS = 256;

/** `startText`, as text and bytes, kept by node run while session and run stay the same. */
function createStartCache(strict: boolean): (envelope: StampedEnvelope, event: AnyEvent) => Start {
  let session: string | undefined;
  let run: string | undefined;
  const starts = new Map<string, Start>();
  const shared = new Map<string, Start>();
  return (envelope, event) => {
    const { session_id, run_id } = envelope;
    if (session_id !== session || run_id !== run || starts.size > MAX_STARTS) {
      session = session_id;
      run = run_id;
      starts.clear();
      shared.clear();
    }
    const shares = sharesField(event);
    const cache = shares ? shared : starts;
    const key = shares ? sharedKey(event) : (envelope.node_id ?? "");
    const known = cache.get(key);
    if (known !== undefined) return known;
    const text = startText(envelope, event, strict);
    const made = { text, bytes: utf8.encode(text) };
    cache.set(key, made);
    return made;
  };
}

/** The end of a text chunk with its node's name, kept while the name stays the same. */
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

/** The two types whose payload shares a name with the envelope: run_start has its run_id, got_expand its node_id. */
function sharesField({ type }: AnyEvent): boolean {
  return type === "run_start" || type === "got_expand";
}

/** What their `startText` depends on beside session and run. */
function sharedKey(event: AnyEvent): string {
  return event.type === "run_start" && (event as JsonObject)["run_id"] === undefined
    ? "run_start without run_id"
    : event.type;
}

/** `{"session_id":…,"run_id":…,"node_id":…,"event_id":` */
function startText({ session_id, run_id, node_id }: StampedEnvelope, event: AnyEvent, strict: boolean): string {
  const ownsRun = event.type === "run_start" && (event as JsonObject)["run_id"] !== undefined;
  const runText = run_id === undefined || strict || ownsRun ? "" : `"run_id":${JSON.stringify(run_id)},`;
  const nodeText = node_id === undefined || event.type === "got_expand" ? "" : `"node_id":${JSON.stringify(node_id)},`;
  return `{"session_id":${JSON.stringify(session_id)},${runText}${nodeText}"event_id":`;
}

/** What follows the event_id: `,"ts":…` and, rarely, more. */
function restText({ ts, prev_event_id, ext, node_id }: Envelope, event: AnyEvent): string {
  let text = ts === undefined ? "" : `,"ts":${ts}`;
  if (prev_event_id !== undefined) text += `,"prev_event_id":${prev_event_id}`;
  if (ext !== undefined) text += `,"ext":${JSON.stringify(ext)}`;
  if (node_id !== undefined && event.type === "got_expand") text += `,"span_node_id":${JSON.stringify(node_id)}`;
  return text;
}

/** The event as a JSON text; a reply travels without its type. */
function eventText(event: AnyEvent, strict: boolean): string {
  if (event.type === "reply") return replyText(event as JsonObject);
  if ((strict || event.type === "custom") && !isPlain(event))
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
