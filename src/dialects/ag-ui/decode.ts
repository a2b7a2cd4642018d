/**
 * Decodes events of AG-UI, one run at a time. A run that ends with interrupts waits: `RUN_STARTED` with its ID continues
 * it. `FrameReader` knows what each event means, `OrderChecker` what clients refuse.
 */
import type { Form } from "../../protocol/form.ts";
import type { Envelope } from "../../protocol/events.generated.ts";
import { type Json, type JsonObject, toJsonObject, toJsonObjects } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { createRunEnd, createUsage, toRecords } from "../client-decoder.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createTypedDecoder } from "../frame-decoder.ts";
import { PLAIN_FRAMES, readText } from "../frame-traits.ts";
import { AG_UI } from "./carried-events.ts";
import { ChunkExpander } from "./chunk-expander.ts";
import { DeltaReader } from "./delta-reader.ts";
import { FrameReader, keep } from "./frame-reader.ts";
import { findAgUiFrameForm } from "./frames.generated.ts";
import { OrderChecker } from "./order-checker.ts";
import { report } from "./rules.ts";

const CANCELLED = "cancelled";
/** Fields that clients accept with null. */
const NULLABLE: ReadonlySet<string> = new Set([
  "rawEvent",
  "parentMessageId",
  "outcome",
  "result",
  "event",
  "value",
  "snapshot",
]);
/** Fields that no event has. */
const KEPT_FIELDS = ["rawEvent", "subagentRunId", "parentRunId", "input"] as const;

export const AG_UI_DECODING: Decoding = {
  createDecoder: createAgUiDecoder,
  confidence: (frame) => confidenceByForm(findAgUiFrameForm(frame["type"]), frame, true),
  traits: {
    ...PLAIN_FRAMES,
    readSession: ({ type, threadId }) =>
      type === "RUN_STARTED" || type === "RUN_FINISHED" ? readText(threadId) : undefined,
  },
};

function createAgUiDecoder(): Decoder {
  let sessionId: string | undefined;
  let runId: string | undefined;
  let state: "new" | "live" | "waiting" | "over" = "new";
  let hasFailed = false;
  /** True if the run has sent its usage call by call; its end then has the sum. */
  let hasUsage = false;
  const deltas = new DeltaReader();
  let reader = new FrameReader(deltas);
  let order = new OrderChecker();
  let chunks = new ChunkExpander();

  const envelope = (timestamp?: Json): Envelope =>
    dropMissing({
      session_id: sessionId,
      run_id: runId,
      ts: typeof timestamp === "number" && timestamp >= 0 ? timestamp : undefined,
    });

  function begin(frame: JsonObject): AnyEvent[] {
    state = "live";
    hasFailed = false;
    hasUsage = false;
    deltas.startRun();
    reader = new FrameReader(deltas);
    order = new OrderChecker();
    chunks = new ChunkExpander();
    runId = readText(frame["runId"]);
    return [dropMissing({ type: "run_start", run_id: runId, message: readMessage(frame["input"]) })];
  }

  /** Starts a run, or continues the one that waits. */
  function start(frame: JsonObject, issues: Issue[]): EventRecord[] {
    const isSame = state === "waiting" && readText(frame["runId"]) === runId;
    const ended = state === "waiting" && !isSame ? complete(reader.answer) : [];
    const records = toRecords(ended, envelope());
    if (state === "live")
      report(
        issues,
        "ag-ui-started-twice",
        "`RUN_STARTED` while a run is active; send `RUN_FINISHED` or `RUN_ERROR` first",
      );
    sessionId = readText(frame["threadId"]) ?? sessionId;
    if (isSame) {
      state = "live";
      order = new OrderChecker();
      return records;
    }
    const begun = begin(frame);
    return [...records, ...toRecords(begun, envelope(frame["timestamp"]))];
  }

  /** Starts a run if none is live. */
  function ensureRun(type: string, issues: Issue[]): AnyEvent[] {
    if (state === "live") return [];
    // Clients accept RUN_ERROR at any time, but only once.
    const isLate = state !== "new" && (type !== "RUN_ERROR" || hasFailed);
    if (isLate)
      report(
        issues,
        "ag-ui-after-end",
        `\`${type}\` follows the end of its run; send it before, or start a run with \`RUN_STARTED\``,
      );
    else if (state === "new" && type !== "RUN_ERROR")
      report(
        issues,
        "ag-ui-started-first",
        `the stream starts with \`${type}\` instead of \`RUN_STARTED\`; send that first`,
      );
    if (state !== "waiting") return begin({});
    state = "live";
    return [];
  }

  function complete(reply: string): AnyEvent[] {
    return [
      { type: "run_end", status: "completed" },
      { type: "reply", reply },
    ];
  }

  function finish(frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const { outcome, result, usage, metadata } = frame;
    const { type = "success", interrupts } = toJsonObject(outcome);
    if (type === "interrupt") {
      state = "waiting";
      if (!Array.isArray(interrupts) || interrupts.length === 0)
        report(
          issues,
          "ag-ui-interrupt-empty",
          "the outcome `interrupt` has no interrupts; name what the run waits for",
        );
      return reader.readInterrupts(frame);
    }
    const { reason, code, pending } = toJsonObject(toJsonObject(metadata)["loom"]);
    // A run of Loom waits for calls that the client carries out. Runs of other servers end.
    if (type === "success" && pending !== undefined) {
      state = "waiting";
      return [];
    }
    state = "over";
    const used = hasUsage ? [] : readUsage(usage);
    if (type !== CANCELLED) return [...used, ...complete(typeof result === "string" ? result : reader.answer)];
    return [...used, createRunEnd(CANCELLED, reason, code)];
  }

  function fail({ message, code, usage }: JsonObject): readonly AnyEvent[] {
    state = "over";
    hasFailed = true;
    const used = hasUsage ? [] : readUsage(usage);
    return [...used, code === CANCELLED ? createRunEnd(CANCELLED, message) : createRunEnd("error", message, code)];
  }

  function readEvents(type: string, frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    if (type === "RUN_FINISHED") return finish(frame, issues);
    if (type === "RUN_ERROR") return fail(frame);
    return findAgUiFrameForm(type) === undefined ? [keep(frame)] : reader.read(type, frame, issues);
  }

  /** Reads one event: a frame, or one that a chunk stands for. */
  function readOne(frame: JsonObject, issues: Issue[]): EventRecord[] {
    const type = frame["type"] as string;
    if (type === "RUN_STARTED") return start(frame, issues);
    const begun = ensureRun(type, issues);
    order.check(type, frame, issues);
    const events = readEvents(type, frame, issues);
    hasUsage ||= events.some((event) => event.type === "usage");
    return [...toRecords(begun, envelope()), ...toRecords(events, envelope(frame["timestamp"]))];
  }

  const frames = createTypedDecoder("event", (frame, type, issues) => {
    const form = findAgUiFrameForm(type);
    if (form !== undefined && !checkFrame(form, frame, issues)) return [];
    if (form === undefined) report(issues, "ag-ui-type-unknown", `there is no event \`${type}\`; ${adviseType(type)}`);
    if (type.startsWith("THINKING_")) report(issues, "ag-ui-thinking", `\`${type}\` was replaced with \`REASONING_*\``);
    if (form !== undefined) reportNull(form, frame, issues);
    const expanded = chunks.expand(type, frame, issues);
    const records =
      expanded?.flatMap((each) => readOne(each, issues)) ??
      toRecords([...ensureRun(type, issues), keep(frame)], envelope());
    if (form === undefined) return records;
    const extra = { ...collectExtra(frame, form.fields, "type"), ...collectUnread(frame) };
    return Object.keys(extra).length === 0 ? records : addExtra(records, extra, type === "RUN_STARTED");
  });

  return {
    decode: (text, given) => frames.decode(text, given),
    get isWaiting() {
      return state === "waiting";
    },
  };
}

function adviseType(type: string): string {
  const upper = type.toUpperCase();
  if (type !== upper && findAgUiFrameForm(upper) !== undefined) return `write \`${upper}\``;
  return "use `CUSTOM` for other events";
}

function reportNull({ fields }: Form, frame: JsonObject, issues: Issue[]): void {
  for (const name of fields.keys())
    if (frame[name] === null && !NULLABLE.has(name)) report(issues, "ag-ui-null", `\`${name}\` is null; leave it out`);
}

/** Adds extra fields to the first record of the frame that does not have the whole frame. */
function addExtra(records: readonly EventRecord[], extra: JsonObject, isStart: boolean): EventRecord[] {
  const at = records.findIndex(({ event: { type } }) =>
    isStart ? type === "run_start" : type !== "foreign" && type !== "custom" && type !== "run_start",
  );
  return records.map((record, index) =>
    index === at ? { ...record, envelope: withExtra(record.envelope, AG_UI, extra) } : record,
  );
}

/** Fields of the frame that are declared, but have no place in an event. The metadata of Loom is read. */
function collectUnread(frame: JsonObject): JsonObject {
  const kept: [string, Json][] = [];
  for (const name of KEPT_FIELDS) if (frame[name] != null) kept.push([name, frame[name]]);
  const { loom: _, ...metadata } = toJsonObject(frame["metadata"]);
  if (Object.keys(metadata).length > 0) kept.push(["metadata", metadata]);
  if (frame["result"] != null && typeof frame["result"] !== "string") kept.push(["result", frame["result"]]);
  return Object.fromEntries(kept);
}

function readUsage(usage: Json | undefined): AnyEvent[] {
  return toJsonObjects(usage).flatMap(({ inputTokens, outputTokens, totalTokens }) =>
    createUsage(inputTokens ?? 0, outputTokens ?? 0, totalTokens),
  );
}

/** The last message of the request, if the user sent it. */
function readMessage(input: Json | undefined): string | undefined {
  const { role, content } = toJsonObjects(toJsonObject(input)["messages"]).at(-1) ?? {};
  return role === "user" && typeof content === "string" ? content : undefined;
}
