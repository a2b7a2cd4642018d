import { describe, expect, it } from "vitest";
import type { EventOf, JsonObject, LoomEvent } from "../../protocol/index.ts";
import { createLumineEncoder } from "./encode.ts";

/** Encodes the events of one run. Returns the fields of each frame that are not null, without IDs. */
function encode(events: readonly LoomEvent[], message = "What now?"): JsonObject[] {
  const encoder = createLumineEncoder();
  const all: LoomEvent[] = [{ type: "run_start", run_id: "r", message }, ...events];
  return all
    .flatMap((event, index) =>
      encoder.encode({ envelope: { session_id: "s", run_id: "r", event_id: index + 1, ts: 0 }, event }),
    )
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
        code: "tool_failed",
      },
      { type: "chunk", content: "[DONE]" },
    ]);
  });

  it("sends an error if the run fails after a tool failed", () => {
    expect(encode([...FAILED_TOOL, { type: "run_end", status: "error" }]).slice(2)).toEqual([
      { type: "error", error: "no index", code: "tool_failed" },
      { type: "chunk", content: "[DONE]", status: "error" },
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
    expect(frame).toEqual({ type: "error", error, detail: failure.message, code: "model_failed" });
  });

  it.each([
    ["offline/offline failed: 离线模型按要求出错。", "model_failed", "模型服务暂时不可用，请稍后重试"],
    ["openai/gpt-5 rejected the API key (status 401)", "model_unauthorized", "模型配置有误：服务商拒绝了 API 密钥"],
    ["openai/gpt-5 returned an empty answer (finish reason: stop)", "model_empty", "模型没有给出回答，请重试"],
  ])("does not show %j, which is for developers", (message, code, error) => {
    const [frame] = encode([{ type: "error", message, code }], "现在怎么办？");
    expect(frame).toEqual({ type: "error", error, detail: message, code });
  });

  it("keeps a message that is already in Chinese, and introduces one without a text for its code", () => {
    const [own, other] = encode(
      [
        { type: "error", message: "余额不足", code: "model_failed" },
        { type: "error", message: "out of paper", code: "printer_failed" },
      ],
      "打印",
    );
    expect(own).toEqual({ type: "error", error: "余额不足", code: "model_failed" });
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
        code: "interrupted",
        attempt: 2,
        detail: "It died",
      },
      { type: "chunk", content: "[DONE]", status: "completed" },
    ]);
    const [forked] = encode([{ ...again, details: { forked: true } }, ...COMPLETED], "你好");
    expect(forked).toMatchObject({ error: "从检查点继续运行", code: "interrupted", attempt: 2, detail: "It died" });
  });
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
