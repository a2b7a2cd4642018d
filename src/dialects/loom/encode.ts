/**
 * Writes the `loom` wire. The envelope's text is kept from frame to frame, since it hardly changes; the event is one
 * JSON.stringify of its own.
 */
import {
  type AnyEvent,
  type Envelope,
  isPlain,
  type JsonObject,
  type StampedRecord,
  wrapEvent,
} from "../../protocol/index.ts";
import type { Encoder, EncoderOptions } from "../dialect.ts";

export function createLoomEncoder({ strict = false, envelope: withEnvelope = true }: EncoderOptions = {}): Encoder {
  let session: string | undefined;
  let run: string | undefined;
  let node: string | undefined;
  let prefix = "";
  return {
    encode({ envelope, event }: StampedRecord) {
      const body = eventText(event, strict);
      if (!withEnvelope) return [body];
      if (event.type === "run_start" || event.type === "got_expand") return [joinOnce(envelope, event, body, strict)];
      if (envelope.session_id !== session || envelope.run_id !== run || envelope.node_id !== node || prefix === "") {
        session = envelope.session_id;
        run = envelope.run_id;
        node = envelope.node_id;
        prefix = prefixText(session, strict ? undefined : run, node);
      }
      return [`${prefix}${envelope.event_id}${restText(envelope)},${body.slice(1)}`];
    },
  };
}

function prefixText(session: string, run: string | undefined, node: string | undefined): string {
  const runText = run === undefined ? "" : `"run_id":${JSON.stringify(run)},`;
  const nodeText = node === undefined ? "" : `"node_id":${JSON.stringify(node)},`;
  return `{"session_id":${JSON.stringify(session)},${runText}${nodeText}"event_id":`;
}

function restText({ ts, prev_event_id, ext }: Envelope): string {
  let text = ts === undefined ? "" : `,"ts":${ts}`;
  if (prev_event_id !== undefined) text += `,"prev_event_id":${prev_event_id}`;
  if (ext !== undefined) text += `,"ext":${JSON.stringify(ext)}`;
  return text;
}

/** The two types whose payload shares a name with the envelope: run_start has its run_id, got_expand its node_id. */
function joinOnce(envelope: StampedRecord["envelope"], event: AnyEvent, body: string, strict: boolean): string {
  const expands = event.type === "got_expand";
  const ownsRun = event.type === "run_start" && (event as JsonObject)["run_id"] !== undefined;
  const prefix = prefixText(
    envelope.session_id,
    strict || ownsRun ? undefined : envelope.run_id,
    expands ? undefined : envelope.node_id,
  );
  const span = expands && envelope.node_id !== undefined ? `,"span_node_id":${JSON.stringify(envelope.node_id)}` : "";
  return `${prefix}${envelope.event_id}${restText(envelope)}${span},${body.slice(1)}`;
}

/** The event as a JSON text; a reply travels without its type. */
export function eventText(event: AnyEvent, strict: boolean): string {
  if (event.type === "reply") {
    const { type: _type, ...body } = event as JsonObject;
    return JSON.stringify(body);
  }
  if (event.type === "custom" || strict) {
    if (!isPlain(event)) return JSON.stringify({ type: "custom", value: wrapEvent(event) });
  }
  return JSON.stringify(event);
}
