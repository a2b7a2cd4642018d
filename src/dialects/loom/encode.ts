/**
 * Writes the `loom` wire. The envelope's text is kept from frame to frame, since it hardly changes; text chunks, which
 * are most of a stream, are put together from their parts; every other event is one JSON.stringify of its own.
 */
import {
  type AnyEvent,
  type Envelope,
  isPlain,
  type JsonObject,
  type MessageChunkEvent,
  type StampedRecord,
  wrapEvent,
} from "../../protocol/index.ts";
import type { Encoder, EncoderOptions } from "../dialect.ts";

export function createLoomEncoder({ strict = false, envelope: withEnvelope = true }: EncoderOptions = {}): Encoder {
  const envelopeText = createEnvelopeText(strict);
  const chunkEnd = createChunkEnd();
  return {
    encode(record: StampedRecord) {
      const { event } = record;
      if (!withEnvelope) return [eventText(event, strict)];
      if (event.type === "message_chunk" && isBareChunk(event)) {
        const { content, id } = event as MessageChunkEvent;
        return [`${envelopeText(record)},"type":"message_chunk","content":${JSON.stringify(content)}${chunkEnd(id)}`];
      }
      return [`${envelopeText(record)},${eventText(event, strict).slice(1)}`];
    },
  };
}

/** True for a chunk with the two fields of 001 and no other. */
function isBareChunk(event: AnyEvent): boolean {
  let fields = 0;
  for (const _ in event) fields++;
  return fields === 3;
}

/** `,"id":…}`: the node's name, which stays the same for a whole message. */
function createChunkEnd(): (id: string) => string {
  let last: string | undefined;
  let text = "";
  return (id) => {
    if (id !== last) {
      last = id;
      text = `,"id":${JSON.stringify(id)}}`;
    }
    return text;
  };
}

/** The text of an envelope, open at its end: `{"session_id":…,"event_id":7,"ts":…`. */
function createEnvelopeText(strict: boolean): (record: StampedRecord) => string {
  let session: string | undefined;
  let run: string | undefined;
  let node: string | undefined;
  let prefix: string | undefined;
  const timeText = createTimeText();
  return (record) => {
    const { envelope, event } = record;
    const { event_id, ts } = envelope;
    if (event.type === "run_start" || event.type === "got_expand")
      return sharedEnvelopeText(record, strict) + timeText(ts) + restText(envelope);
    if (
      prefix === undefined ||
      envelope.node_id !== node ||
      envelope.run_id !== run ||
      envelope.session_id !== session
    ) {
      session = envelope.session_id;
      run = envelope.run_id;
      node = envelope.node_id;
      prefix = prefixText(session, strict ? undefined : run, node);
    }
    if (envelope.ext === undefined && envelope.prev_event_id === undefined) return prefix + event_id + timeText(ts);
    return prefix + event_id + timeText(ts) + restText(envelope);
  };
}

/** `,"ts":…`. Times of one stream share their first digits, and printing short numbers is much cheaper than long ones. */
function createTimeText(): (ts: number | undefined) => string {
  const STEP = 1_000_000;
  let high = -1;
  let highText = "";
  return (ts) => {
    if (ts === undefined) return "";
    if (!Number.isSafeInteger(ts) || ts < STEP) return `,"ts":${JSON.stringify(ts)}`;
    const top = Math.floor(ts / STEP);
    if (top !== high) {
      high = top;
      highText = `,"ts":${top}`;
    }
    const low = ts - top * STEP;
    return low >= 100_000 ? highText + low : highText + String(low).padStart(6, "0");
  };
}

function prefixText(session: string, run: string | undefined, node: string | undefined): string {
  const runText = run === undefined ? "" : `"run_id":${JSON.stringify(run)},`;
  const nodeText = node === undefined ? "" : `"node_id":${JSON.stringify(node)},`;
  return `{"session_id":${JSON.stringify(session)},${runText}${nodeText}"event_id":`;
}

function restText({ prev_event_id, ext }: Envelope): string {
  const previous = prev_event_id === undefined ? "" : `,"prev_event_id":${prev_event_id}`;
  return ext === undefined ? previous : `${previous},"ext":${JSON.stringify(ext)}`;
}

/** The two types whose payload shares a name with the envelope: run_start has its run_id, got_expand its node_id. */
function sharedEnvelopeText({ envelope, event }: StampedRecord, strict: boolean): string {
  const { session_id, run_id, node_id, event_id } = envelope;
  const expands = event.type === "got_expand";
  const ownsRun = event.type === "run_start" && (event as JsonObject)["run_id"] !== undefined;
  const prefix = prefixText(session_id, strict || ownsRun ? undefined : run_id, expands ? undefined : node_id);
  return `${prefix}${event_id}${expands && node_id !== undefined ? `,"span_node_id":${JSON.stringify(node_id)}` : ""}`;
}

/** The event as a JSON text; a reply travels without its type. */
function eventText(event: AnyEvent, strict: boolean): string {
  if (event.type === "reply") {
    const { type: _type, ...body } = event as JsonObject;
    return JSON.stringify(body);
  }
  if ((strict || event.type === "custom") && !isPlain(event))
    return JSON.stringify({ type: "custom", value: wrapEvent(event) });
  return JSON.stringify(event);
}
