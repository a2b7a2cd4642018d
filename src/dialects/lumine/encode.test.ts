import { describe, expect, it } from "vitest";
import type { EventOf, JsonObject, LoomEvent } from "../../protocol/index.ts";
import { createStreamCheck } from "../check-stream.ts";
import { DIALECTS } from "../index.ts";
import { LUMINE_DECODING } from "./decode.ts";
import { createLumineEncoder } from "./encode.ts";

/** Encodes the events of one run. */
function encodeTexts(events: readonly LoomEvent[], message = "What now?"): string[] {
  const encoder = createLumineEncoder();
  const all: LoomEvent[] = [{ type: "run_start", run_id: "r", message }, ...events];
  return all.flatMap((event, index) =>
    encoder.encode({ envelope: { session_id: "s", run_id: "r", event_id: index + 1, ts: 0 }, event }),
  );
}

/** Returns the fields of each frame after the first that are not null, without IDs. */
function encode(events: readonly LoomEvent[], message?: string): JsonObject[] {
  return encodeTexts(events, message)
    .slice(1)
    .map((text) => {
      const { role: _role, session_id: _s, conversation_id: _c, ...frame } = JSON.parse(text) as JsonObject;
      return Object.fromEntries(Object.entries(frame).filter(([name, value]) => name !== "id" && value !== null));
    });
}

const COMPLETED: readonly LoomEvent[] = [
  { type: "run_end", status: "completed" },
  { type: "reply", reply: "" },
];
const FAILED_TOOL: readonly LoomEvent[] = [
  { type: "tool_call", call_id: "c", name: "search", arguments: {} },
  { type: "tool_start", call_id: "c", name: "search" },
  { type: "tool_end", call_id: "c", name: "search", result: "no index", is_error: true, error_code: "tool_failed" },
  { type: "error", message: "no index", code: "tool_failed", stage: "tool_execute", recoverable: true, call_id: "c" },
];

describe("tables and charts", () => {
  const show = (data_type: EventOf<"data">["data_type"], data: JsonObject, metadata?: JsonObject): unknown =>
    encode([{ type: "data", data_type, data, ...(metadata === undefined ? {} : { metadata }) }]).map(
      ({ content }) => content,
    );

  it("sends a table as Markdown, with its name and description", () => {
    const data = { name: "Sales", columns: ["product", "units"], rows: [["pear", 3]] };
    const table = "**Sales**\n\n| product | units |\n| --- | ---: |\n| pear | 3 |\n\nIn crates\n\n";
    expect(show("dataframe", data, { description: "In crates" })).toEqual([table]);
  });

  it("sends a chart as its table, also a Vega-Lite chart", () => {
    const table = "| month | rate |\n| --- | ---: |\n| June | 7.1 |\n\n";
    expect(show("chart", { mark: "bar", columns: ["month", "rate"], rows: [["June", 7.1]] })).toEqual([table]);
    expect(show("chart", { mark: "bar", data: { values: [{ month: "June", rate: 7.1 }] } })).toEqual([table]);
  });

  it("escapes cells, so that no cell ends its column or row", () => {
    const rows = [["a|b\nc", String.raw`\|`, "<b>*x*</b>"]];
    expect(show("dataframe", { columns: ["1", "2", "3"], rows })).toEqual([
      "| 1 | 2 | 3 |\n| --- | --- | --- |\n" + String.raw`| a\|b c | \\\| | \<b\>\*x\*\</b\> |` + "\n\n",
    ]);
  });

  it("separates a table from the text around it", () => {
    const frames = encode([
      { type: "message_chunk", content: "Before.", id: "a" },
      { type: "data", data_type: "dataframe", data: { columns: ["n"], rows: [[1]] } },
      { type: "message_chunk", content: "After.", id: "a" },
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "Before.After." },
    ]);
    expect(frames.map(({ content }) => content)).toEqual([
      "Before.",
      "\n\n| n |\n| ---: |\n| 1 |\n\n",
      "After.",
      "[DONE]",
    ]);
  });

  it("omits data without columns and rows", () => {
    expect(show("chart", { mark: "bar" })).toEqual([]);
    expect(show("custom", { columns: ["n"], rows: [[1]] })).toEqual([]);
  });
});

describe("errors", () => {
  it("sends a failed tool as tool_result only", () => {
    expect(encode([...FAILED_TOOL, ...COMPLETED])).toEqual([
      { type: "tool_use", tool_use_id: "c", toolName: "search", args: {}, status: "running" },
      {
        type: "tool_result",
        tool_use_id: "c",
        toolName: "search",
        status: "error",
        error: "no index",
        code: "TOOL_FAILED",
      },
      { type: "chunk", content: "[DONE]" },
    ]);
  });

  it("sends an error if the run fails after a tool failed", () => {
    expect(encode([...FAILED_TOOL, { type: "run_end", status: "error" }]).slice(2)).toEqual([
      { type: "error", error: "no index", code: "TOOL_FAILED" },
      { type: "chunk", content: "[DONE]" },
    ]);
  });

  it.each([
    ["What now?", "The model service is unavailable; try again later"],
    ["现在怎么办？", "模型服务暂时不可用，请稍后重试"],
  ])("writes the error for a user who asked %j, with the original message as detail", (message, error) => {
    const failure: LoomEvent = {
      type: "error",
      message: "openai/gpt-5 responded with status 503",
      code: "model_failed",
    };
    const [frame] = encode([failure], message);
    expect(frame).toEqual({ type: "error", error, detail: failure.message, code: "MODEL_FAILED" });
  });

  it.each([
    ["offline/offline failed: 离线模型按要求出错。", "model_failed", "模型服务暂时不可用，请稍后重试"],
    ["openai/gpt-5 rejected the API key (status 401)", "model_unauthorized", "模型配置有误：服务商拒绝了 API 密钥"],
    ["openai/gpt-5 returned an empty answer (finish reason: stop)", "model_empty", "模型没有给出回答，请重试"],
  ])("does not show %j, which is for developers", (message, code, error) => {
    const [frame] = encode([{ type: "error", message, code }], "现在怎么办？");
    expect(frame).toEqual({ type: "error", error, detail: message, code: code.toUpperCase() });
  });

  it("keeps a message that is already in Chinese, and introduces one without a text for its code", () => {
    const [own, other] = encode(
      [
        { type: "error", message: "余额不足", code: "model_failed" },
        { type: "error", message: "out of paper", code: "printer_failed" },
      ],
      "打印",
    );
    expect(own).toEqual({ type: "error", error: "余额不足", code: "MODEL_FAILED" });
    expect(other).toMatchObject({ error: "出错了：out of paper", detail: "out of paper" });
  });

  it("reports once that a step is run again after a crash, and starts a new message", () => {
    const exit: LoomEvent = { type: "node_exit", id: "think", result: { Err: "interrupted" } };
    const again: LoomEvent = { type: "error", message: "It died", code: "interrupted", recoverable: true, attempt: 2 };
    const frames = encode([exit, exit, again, { type: "node_enter", id: "think" }, ...COMPLETED], "你好");
    expect(frames).toEqual([
      {
        type: "error",
        error: "服务器在运行期间停止，正在重新执行中断的步骤",
        code: "INTERRUPTED",
        attempt: 2,
        detail: "It died",
      },
      // The run has completed, so the error must not come last.
      { type: "chunk", content: "" },
      { type: "chunk", content: "[DONE]" },
    ]);
    const [forked] = encode([{ ...again, details: { forked: true } }, ...COMPLETED], "你好");
    expect(forked).toMatchObject({ error: "从检查点继续运行", code: "INTERRUPTED", attempt: 2, detail: "It died" });
  });
});

describe("calls", () => {
  const call = { call_id: "c", name: "remove" };
  const called: LoomEvent = { type: "tool_call", ...call, arguments: { path: "x" } };
  const asked: LoomEvent = { type: "tool_approval", ...call, arguments: { path: "x" } };
  const end = (code: string): LoomEvent => ({
    type: "tool_end",
    ...call,
    result: "not run",
    is_error: true,
    error_code: code,
  });

  it("have one tool_use with status running, also if they are refused", () => {
    const statuses = (events: readonly LoomEvent[]) => encode(events).map(({ type, status }) => [type, status]);
    expect(statuses([called, end("tool_denied")])).toEqual([
      ["tool_use", "running"],
      ["tool_result", "error"],
    ]);
    const rejected: LoomEvent = { type: "tool_approval_result", ...call, decision: "rejected" };
    expect(statuses([called, asked, rejected, end("tool_rejected")])).toEqual([
      ["tool_use", "awaiting_approval"],
      ["tool_use", "running"],
      ["tool_result", "error"],
    ]);
  });

  it("have an object as result", () => {
    const results = [
      { result: "56" },
      { result: "" },
      { result: "[1]", output: [1] },
      { result: "{}", output: { a: 1 } },
    ];
    const ends = results.map((own): LoomEvent => ({ type: "tool_end", ...call, is_error: false, ...own }));
    const frames = ends.map((each) => encode([called, { type: "tool_start", ...call }, each]).at(-1));
    expect(frames.map((frame) => frame?.["result"])).toEqual([
      { content: "56" },
      { content: "" },
      { value: [1] },
      { a: 1 },
    ]);
  });
});

describe("the end of a run that did not complete", () => {
  it.each([
    ["error", "too_many_attempts", "TOO_MANY_ATTEMPTS", "error"],
    ["error", undefined, "RUN_FAILED", "error"],
    ["cancelled", "cancelled", "CANCELLED", "cancelled"],
  ] as const)(
    "%s (%s) is an error with a code directly before [DONE], which our decoder reads",
    (status, code, sent, read) => {
      const run: LoomEvent[] = [
        { type: "message_chunk", content: "Half", id: "a" },
        { type: "run_end", status, ...(code === undefined ? {} : { code }), has_reply: true },
        { type: "reply", reply: "Half" },
      ];
      const frames = encode(run);
      expect(frames.slice(-2)).toMatchObject([{ type: "error", code: sent }, { content: "[DONE]" }]);
      expect(frames.filter(({ content }) => content === "[DONE]")).toEqual([{ type: "chunk", content: "[DONE]" }]);
      const decoder = LUMINE_DECODING.createDecoder();
      const events = encodeTexts(run).flatMap((text) => decoder.decode(text).records.map(({ event }) => event));
      expect(events.at(-1)).toEqual({ type: "run_end", status: read });
      expect(events.some(({ type }) => type === "error")).toBe(status === "error");
    },
  );
});

describe("to-do lists", () => {
  it.each([
    ["Plan it", undefined, "To-do list"],
    ["列个清单", " ", "待办事项"],
    ["列个清单", "今日", "今日"],
  ])("gives a list of %j a title", (message, title, shown) => {
    const list: LoomEvent = { type: "todo_list", list_id: "l", items: [], ...(title === undefined ? {} : { title }) };
    expect(encode([list], message)).toMatchObject([{ type: "todo_list", title: shown }]);
  });
});

describe("reasoning", () => {
  it("is not ended a second time, nor by the reasoning of a judgement, which is not sent", () => {
    const frames = encode([
      { type: "reasoning_chunk", content: "Is it good?", channel: "judgement" },
      { type: "reasoning_end" },
      { type: "reasoning_chunk", content: "First, the sum." },
      { type: "reasoning_end" },
      { type: "reasoning_end" },
      ...COMPLETED,
    ]);
    expect(frames).toEqual([
      { type: "reasoning", content: "First, the sum.", status: "thinking" },
      { type: "reasoning", content: "", status: "done" },
      { type: "chunk", content: "[DONE]" },
    ]);
  });
});

it("sends a refused call so that the check finds nothing", () => {
  const call = { call_id: "c", name: "erase" };
  const check = createStreamCheck(DIALECTS.lumine);
  const frames = encodeTexts([
    { type: "tool_call", ...call, arguments: {} },
    { type: "tool_approval", ...call, arguments: {} },
    { type: "tool_approval_result", ...call, decision: "rejected" },
    { type: "tool_end", ...call, result: "refused", is_error: true, error_code: "tool_rejected" },
    ...COMPLETED,
  ]);
  expect(frames.flatMap((text) => check.check(text).issues)).toEqual([]);
});
