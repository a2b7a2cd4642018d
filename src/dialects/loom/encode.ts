/** Encodes the `loom` dialect. */
import type { AnyEvent, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { Envelope } from "../../protocol/events.generated.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { fitsStrictForm, wrapEvent } from "../../protocol/strict.ts";
import { type ClosingReply, ClosingReplyWriter } from "../closing-reply-writer.ts";
import type { Encoder, EncoderOptions } from "../dialect.ts";
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

/**
 * True for the types whose payload has a field named like an envelope field: run_start (run_id) and got_expand
 * (node_id).
 */
function sharesField({ type }: AnyEvent): boolean {
  return type === "run_start" || type === "got_expand";
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
