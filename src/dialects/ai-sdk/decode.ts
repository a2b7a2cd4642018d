/** Decodes UI message chunks of the AI SDK, one message at a time. `ChunkReader` knows what each chunk means. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { type Envelope, findLoomEventFault } from "../../protocol/events.generated.ts";
import { type JsonObject, toJsonObject } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { CallStarts, createDoneDecoder, createRunEnd, createRunStart, DONE, toRecords } from "../client-decoder.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createReporter, createTypedDecoder } from "../frame-decoder.ts";
import { PLAIN_FRAMES, readText } from "../frame-traits.ts";
import { ReplyText } from "../reply-text.ts";
import { AI_SDK, ChunkReader } from "./chunk-reader.ts";
import { findPartEvent } from "./data-parts.ts";
import { findAiSdkFrameForm } from "./frames.generated.ts";
import { AI_SDK_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(AI_SDK_RULES);
const MAX_PARTS = 10_000;
/** Chunks that may follow the end of a run that did not complete. */
const ENDINGS: ReadonlySet<string> = new Set(["finish-step", "finish"]);
/** Chunks about something that an earlier chunk sent. Clients stop at an unknown part or call. */
const NEEDS_PART = /^(text|reasoning)-(delta|end)$/;
const NEEDS_CALL = /^tool-(input-delta|approval-request|output-.*)$/;

export const AI_SDK_DECODING: Decoding = {
  createDecoder: createAiSdkDecoder,
  confidence(frame) {
    const { type } = frame;
    const form = findAiSdkFrameForm(type);
    if (form === undefined) return typeof type === "string" && type.startsWith("data-") && "data" in frame ? 1 : 0;
    return confidenceByForm(form, frame, true);
  },
  traits: { ...PLAIN_FRAMES, endText: DONE },
};

function createAiSdkDecoder(): Decoder {
  let runId: string | undefined;
  let state: "new" | "live" | "over" = "new";
  let isCut = false;
  let cancelReason: string | undefined;
  let reader = new ChunkReader({ infersAnswers: true });
  const reply = new ReplyText({ held: 0 });
  /** Open text and reasoning parts, and calls with their approvals. */
  const parts = new BoundedMap<true>(MAX_PARTS);
  const calls = new BoundedMap<true>(MAX_PARTS);
  const starts = new CallStarts();

  const envelope = (): Envelope => dropMissing({ run_id: runId });

  function begin(messageId: string | undefined): EventRecord[] {
    state = "live";
    isCut = false;
    cancelReason = undefined;
    runId = messageId;
    reader = new ChunkReader({ infersAnswers: true });
    reply.clear();
    for (const known of [parts, calls, starts]) known.clear();
    return [createRunStart(runId)];
  }

  /** Starts a run if none is live. */
  function ensureRun(type: string, issues: Issue[]): EventRecord[] {
    if (state === "live") return [];
    if (state === "over") report(issues, "ai-sdk-after-finish", `\`${type}\` follows the end of its message`);
    else report(issues, "ai-sdk-start-first", `the message starts with \`${type}\` instead of \`start\``);
    return begin(undefined);
  }

  function end(status: "completed" | "error" | "cancelled", reason: string | undefined, issues: Issue[]): AnyEvent[] {
    state = "over";
    isCut = status !== "completed";
    const last = [...reader.takeSources(), createRunEnd(status, reason)];
    if (status !== "completed") return last;
    if (reply.overflowed) report(issues, "ai-sdk-reply-limit", "the answer exceeds the limit; the reply is cut off");
    return [...last, { type: "reply", reply: reply.toString() }];
  }

  /** Reports parts, calls and approvals that were not sent. Chunks of a known type have these fields. */
  function checkReferences(type: string, frame: JsonObject, issues: Issue[]): void {
    const { id = "", toolCallId = "", approvalId = "" } = frame as { readonly [name: string]: string | undefined };
    const part = `${type.startsWith("text") ? "text" : "reasoning"}:${id}`;
    if (NEEDS_PART.test(type) && !parts.has(part)) report(issues, "ai-sdk-part-unknown", `there is no open part ${id}`);
    if (type === "text-start" || type === "reasoning-start") parts.set(part, true);
    if (type === "text-end" || type === "reasoning-end") parts.delete(part);
    if (type === "reset-step") parts.clear();
    if (NEEDS_CALL.test(type) && !calls.has(`call:${toolCallId}`))
      report(issues, "ai-sdk-call-unknown", `there is no call ${toolCallId}`);
    if (type === "tool-approval-response" && !calls.has(`approval:${approvalId}`))
      report(issues, "ai-sdk-call-unknown", `there is no approval ${approvalId}`);
    if (type.startsWith("tool-input-")) calls.set(`call:${toolCallId}`, true);
    if (type === "tool-approval-request") calls.set(`approval:${approvalId}`, true);
  }

  function readEvents(type: string, frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    switch (type) {
      case "start":
      case "finish": {
        const { messageMetadata, finishReason } = frame;
        const kept: AnyEvent[] =
          messageMetadata === undefined || messageMetadata === null
            ? []
            : [{ type: "foreign", dialect: AI_SDK, frame: { type: "message-metadata", messageMetadata } }];
        if (type === "start") return kept;
        return [...kept, ...end(finishReason === "error" ? "error" : "completed", undefined, issues)];
      }
      case "error":
        return end("error", readText(frame["errorText"]), issues);
      case "abort":
        return end("cancelled", readText(frame["reason"]) ?? cancelReason, issues);
      case "start-step":
        reply.mark();
        return [];
      case "finish-step":
        return reader.takeSources();
      case "reset-step":
        reply.rollBack();
        return [];
      case "data-loom-cancelled":
        cancelReason = readText(toJsonObject(frame["data"])["reason"]);
        return [];
      case "data-loom-node":
      case "data-loom-superseded":
      case "data-loom-waiting":
        return [];
      case "source-url":
      case "source-document":
        // A data part has the same source with all its fields.
        return frame["repeats"] === undefined ? reader.read(frame) : [];
      case "text-delta":
        reply.add(readText(frame["delta"]) ?? "");
        return reader.read(frame);
      default: {
        const carried = findPartEvent(type);
        if (carried === undefined) return reader.read(frame).flatMap((event) => starts.add(event));
        const event = { ...toJsonObject(frame["data"]), type: carried } as AnyEvent;
        return findLoomEventFault(event) === undefined ? starts.add(event) : reader.read(frame);
      }
    }
  }

  const frames = createTypedDecoder("chunk", (frame, type, issues) => {
    const form = findAiSdkFrameForm(type);
    // JSON has no undefined, so a tool without a result has no output.
    const whole = type === "tool-output-available" && !("output" in frame) ? { ...frame, output: null } : frame;
    if (form !== undefined && !checkFrame(form, whole, issues)) return [];
    if (state === "over" && isCut && ENDINGS.has(type)) return [];
    // It belongs to a response, and comes before the message.
    if (type === "data-loom-notice") return [];
    let records: EventRecord[];
    if (type === "start" && state !== "live") records = begin(readText(frame["messageId"]));
    else {
      if (type === "start") report(issues, "ai-sdk-start-once", "the message has a second `start`");
      records = ensureRun(type, issues);
    }
    if (form !== undefined) checkReferences(type, whole, issues);
    const events = readEvents(type, whole, issues);
    const isCustom = events[0]?.type === "custom";
    const extra = form === undefined || isCustom ? undefined : collectExtra(frame, form.fields, "type");
    const at = envelope();
    return [...records, ...toRecords(events, at, withExtra(at, AI_SDK, extra))];
  });

  return createDoneDecoder(frames, (issues) => {
    if (state === "new") report(issues, "ai-sdk-start-first", "the stream has no message before [DONE]");
    if (state !== "live") return [];
    report(issues, "ai-sdk-finish-missing", "[DONE] comes before `finish`");
    return toRecords(end("completed", undefined, issues), envelope());
  });
}
