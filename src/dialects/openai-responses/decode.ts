/** Decodes stream events of the Responses API, one response at a time. `ItemReader` knows what each item means. */
import { type Envelope, findLoomEventFault } from "../../protocol/events.generated.ts";
import { type JsonObject, keepFields, toJsonObject } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { createDoneDecoder, createRunEnd, createRunStart, createUsage, DONE, toRecords } from "../client-decoder.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createReporter, createTypedDecoder } from "../frame-decoder.ts";
import { isCount, PLAIN_FRAMES, readText } from "../frame-traits.ts";
import { parseOpenaiId } from "../openai-id.ts";
import { MAX_REPLY_CHARACTERS } from "../reply-text.ts";
import { findOpenaiResponsesFrameForm } from "./frames.generated.ts";
import { ItemReader, keep, OPENAI_RESPONSES } from "./item-reader.ts";
import { FAILED, isRepeatedEvent, readErrorCode } from "./output-items.ts";
import { OPENAI_RESPONSES_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(OPENAI_RESPONSES_RULES);
/** Events that clients of the API know and that this package has no event for. */
const KNOWN =
  /^(response\.(output_text\.annotation\.added|audio\.(transcript\.)?(delta|done)|image_generation_call\.partial_image)|keepalive|error)$/;
const LIFECYCLE = /^response\.(created|queued|in_progress|completed|incomplete|failed)$/;

export const OPENAI_RESPONSES_DECODING: Decoding = {
  createDecoder: createOpenaiResponsesDecoder,
  confidence(frame) {
    const { type } = frame;
    const form = findOpenaiResponsesFrameForm(type);
    if (form === undefined) return typeof type === "string" && type.startsWith("response.") ? 1 : 0;
    const isOwn = type !== "error" && type !== "keepalive";
    if (!isOwn && !isCount(frame["sequence_number"])) return 0;
    return confidenceByForm(form, frame, isOwn || "loom" in frame);
  },
  traits: { ...PLAIN_FRAMES, endText: DONE },
};

function createOpenaiResponsesDecoder(): Decoder {
  let runId: string | undefined;
  let responseId: string | undefined;
  /** `waiting` if the run goes on in another response. */
  let state: "new" | "live" | "waiting" | "over" = "new";
  /** Text of the responses before this one of the same run. */
  let earlier = "";
  let last: number | undefined;
  let hasUsage = false;
  let reader = new ItemReader();

  const envelope = (): Envelope => dropMissing({ run_id: runId });

  function begin(response: JsonObject): EventRecord[] {
    responseId = readText(response["id"]);
    const named = parseOpenaiId("response", responseId)?.run ?? responseId;
    last = undefined;
    hasUsage = false;
    const isSame = runId !== undefined && (named === runId || responseId?.startsWith(`${runId}.`) === true);
    const isContinued = state === "waiting" && isSame;
    reader = new ItemReader(isContinued ? reader : undefined);
    state = "live";
    if (isContinued) return [];
    runId = named;
    earlier = "";
    return [createRunStart(runId, response["created_at"])];
  }

  /** Starts a response if none is live. */
  function ensureRun(type: string, response: JsonObject, issues: Issue[]): EventRecord[] {
    const id = readText(response["id"]);
    if (type === "response.created" && state !== "live") return begin(response);
    if (state === "live") {
      if (id === undefined || responseId === undefined || id === responseId) return [];
      report(issues, "openai-responses-id-changed", `the response ${responseId} continues as ${id}; end it first`);
      return type === "response.created" ? begin(response) : [];
    }
    if (state === "new")
      report(
        issues,
        "openai-responses-created-first",
        `the response starts with \`${type}\`; send \`response.created\` first`,
      );
    else
      report(
        issues,
        "openai-responses-after-end",
        `\`${type}\` follows the end of its response; send one end, after all other events`,
      );
    return begin(response);
  }

  function checkSequence(frame: JsonObject, issues: Issue[]): void {
    const number = frame["sequence_number"];
    if (!isCount(number)) return;
    if (last !== undefined && number !== last + 1)
      report(
        issues,
        "openai-responses-sequence",
        `\`sequence_number\` ${number} follows ${last}; number the events of a response without gaps`,
      );
    last = number;
  }

  function end(status: "completed" | "error" | "cancelled", about: JsonObject, response: JsonObject): AnyEvent[] {
    state = "over";
    const { input_tokens, output_tokens, total_tokens } = toJsonObject(response["usage"]);
    const usage = hasUsage ? [] : createUsage(input_tokens, output_tokens, total_tokens);
    return [...usage, createRunEnd(status, readText(about["reason"]), readText(about["code"]))];
  }

  function complete(frame: JsonObject, issues: Issue[], isComplete: boolean): readonly AnyEvent[] {
    const response = toJsonObject(frame["response"]);
    const isWaiting = toJsonObject(frame["loom"])["waiting"] === true;
    if (isComplete) {
      for (const id of reader.listUnended(response["output"]))
        report(
          issues,
          "openai-responses-item-open",
          `the item ${id} did not end and is not in the output; send \`response.output_item.done\` first`,
        );
    }
    const unsent = reader.readUnsent(response["output"]);
    const { text, overflowed } = reader.readReply(response["output"]);
    if (overflowed)
      report(issues, "openai-responses-reply-limit", "the answer exceeds the limit; the reply is cut off");
    if (isWaiting) {
      state = "waiting";
      earlier = (earlier + text).slice(0, MAX_REPLY_CHARACTERS);
      return unsent;
    }
    const events = end("completed", {}, response);
    return [...unsent, ...events, { type: "reply", reply: earlier + text }];
  }

  function fail(error: JsonObject, response: JsonObject): AnyEvent[] {
    const { message, code } = error;
    return end("error", { reason: readText(message) ?? FAILED, code: readErrorCode(code) ?? null }, response);
  }

  function readEvents(type: string, frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const response = toJsonObject(frame["response"]);
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return [];
      case "response.completed":
        return complete(frame, issues, true);
      case "response.incomplete":
        if (response["status"] === "cancelled") return end("cancelled", toJsonObject(frame["loom"]), response);
        return complete(frame, issues, false);
      case "response.failed":
        return fail(toJsonObject(response["error"]), response);
      case "error":
        return fail({ ...frame, ...toJsonObject(frame["error"]) }, {});
      case "keepalive": {
        const { loom } = frame;
        if (loom === undefined || loom === null) return [];
        const event = loom as unknown as AnyEvent;
        if (typeof event.type !== "string" || findLoomEventFault(event) !== undefined) return [keep(frame)];
        hasUsage ||= event.type === "usage";
        return reader.start(event);
      }
      default: {
        const fault = reader.findFault(type, frame);
        if (fault !== undefined) report(issues, `openai-responses-item-${fault.rule}`, fault.message);
        const events = reader.read(type, frame);
        if (events !== undefined) return events;
        if (isRepeatedEvent(type)) return [];
        if (!KNOWN.test(type))
          report(
            issues,
            "openai-responses-type-unknown",
            `the client does not know \`${type}\`; send only types of the API`,
          );
        return [keep(frame)];
      }
    }
  }

  const frames = createTypedDecoder("event", (frame, type, issues) => {
    const form = findOpenaiResponsesFrameForm(type);
    if (form !== undefined && !checkFrame(form, frame, issues)) {
      // An event that is not read still has a number.
      if (isCount(frame["sequence_number"])) last = frame["sequence_number"];
      return [];
    }
    const response = LIFECYCLE.test(type) ? toJsonObject(frame["response"]) : {};
    const records = ensureRun(type, response, issues);
    checkSequence(frame, issues);
    const events = readEvents(type, frame, issues);
    const extra = form === undefined ? {} : keepFields(frame, (name) => name !== "type" && !form.fields.has(name));
    const at = envelope();
    return [...records, ...toRecords(events, at, withExtra(at, OPENAI_RESPONSES, extra))];
  });

  function readDone(issues: Issue[]): readonly EventRecord[] {
    if (state === "new" || state === "live")
      report(
        issues,
        state === "new" ? "openai-responses-created-first" : "openai-responses-end-missing",
        "[DONE] comes before the end of a response; send `response.completed`, `.incomplete` or `.failed`",
      );
    return [];
  }

  return createDoneDecoder(frames, readDone, () => state === "waiting");
}
