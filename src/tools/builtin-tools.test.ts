import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import type { JsonObject, LoomEvent } from "../protocol/index.ts";
import { findEventFault } from "../protocol/validate.ts";
import { type BuiltinToolsOptions, createBuiltinTools } from "./builtin-tools.ts";
import { createCurrentTimeTool } from "./current-time.ts";
import { runToolCall } from "./run-tool-call.ts";
import type { ToolApprovalAnswer, ToolApprovalRequest } from "./tool-host.ts";
import { createToolbox } from "./toolbox.ts";

const NOON = Date.UTC(2026, 1, 28, 12, 30, 5);
const toolbox = createToolbox(createBuiltinTools({ time: { now: () => NOON, timeZone: "UTC" } }));

/** Returns the result, its data and the shown events. */
async function use(
  name: string,
  input: JsonObject,
  sessionId = "s1",
  callId = "c1",
  answer?: (request: ToolApprovalRequest) => ToolApprovalAnswer,
) {
  const events: LoomEvent[] = [];
  const { result, isError } = await runToolCall({ callId, name, input, rawInput: "" }, toolbox, {
    sessionId,
    runId: "r1",
    signal: new AbortController().signal,
    emit: (event) => void events.push(event),
    ready: async () => undefined,
    requestApproval: async (request) => {
      if (answer === undefined) throw new Error("no approval expected");
      return answer(request);
    },
  });
  const end = events.at(-1);
  const shown = events.filter(({ type }) => !type.startsWith("tool_"));
  for (const event of events) expect(findEventFault(event)).toBeUndefined();
  return { result, isError, shown, output: end?.type === "tool_end" ? end.output : undefined };
}

describe("createBuiltinTools", () => {
  it("creates these tools by default", () => {
    expect(toolbox.names).toEqual([
      "calculator",
      "current_time",
      "write_todo_list",
      "update_todo_item",
      "show_table",
      "show_chart",
      "show_image",
      "ask_consent",
    ]);
    for (const { description, inputSchema } of toolbox.describe()) {
      expect(description.length).toBeGreaterThan(40);
      expect(new Ajv({ strict: true, strictTypes: false }).validateSchema(inputSchema)).toBe(true);
    }
  });

  it("includes file and web tools only if an option enables them", () => {
    const namesOf = (options: BuiltinToolsOptions) =>
      createBuiltinTools(options)
        .map(({ name }) => name)
        .slice(8);
    expect(namesOf({ workspace: "." })).toEqual([
      "read_file",
      "list_files",
      "search_files",
      "write_file",
      "delete_file",
    ]);
    expect(namesOf({ workspace: ".", files: { readOnly: true }, fetch: true })).toEqual([
      "read_file",
      "list_files",
      "search_files",
      "http_fetch",
    ]);
    expect(namesOf({ fetch: { allow: ["intranet"] } })).toEqual(["http_fetch"]);
  });

  it.each<[object, string]>([
    [{ workspce: "." }, "Unknown option `workspce`; did you mean `workspace`?"],
    [{ fetch: "yes" }, '`fetch` must be true, false or an object, not "yes"'],
    [{ fetch: { maxByte: 5 } }, "did you mean `maxBytes`?"],
    [{ fetch: { methods: ["get"] } }, "`methods` must be an array of GET, HEAD"],
    [{ workspace: ".", files: { readonly: true } }, "did you mean `readOnly`?"],
    [{ workspace: ".", files: { maxEntries: -1 } }, "`maxEntries` must be a number from 0, not -1"],
    [{ time: { timezone: "UTC" } }, "did you mean `timeZone`?"],
    [{ images: { hosts: "example.org" } }, "`hosts` must be an array of strings"],
  ])("explains a mistake in its options: %o", (options, message) => {
    expect(() => createBuiltinTools(options)).toThrow(
      expect.objectContaining({ code: "invalid_arguments", message: expect.stringContaining(message) as string }),
    );
  });

  it.each([
    ["calculator", { expression: "6*7" }, "Calculate 6*7", "Calculated 6*7: 42", "计算 6*7", "已计算 6*7：42"],
    [
      "current_time",
      { time_zone: "UTC" },
      "Get the current time: UTC",
      "Got the current time: 2026-02-28 12:30 (UTC)",
      "获取当前时间：UTC",
      "已获取当前时间：2026-02-28 12:30 (UTC)",
    ],
    [
      "write_todo_list",
      { title: "Trip", items: [{ text: "Pack" }] },
      "Make a to-do list: Trip",
      "Made a to-do list (1 item): Trip",
      "列出待办清单：Trip",
      "已列出待办清单（1 项）：Trip",
    ],
    [
      "update_todo_item",
      { list_id: "a", item_id: "1", completed: true },
      "Update a to-do item",
      "Ticked off to-do item 1",
      "更新待办事项",
      "已勾选待办事项 1",
    ],
    [
      "show_table",
      { name: "Cities", columns: ["a"], rows: [[1]] },
      "Show a table: Cities",
      "Showed a table: Cities",
      "展示表格：Cities",
      "已展示表格：Cities",
    ],
    [
      "show_chart",
      { kind: "bar", labels: ["a"], series: [{ name: "s", values: [1] }] },
      "Show a chart",
      "Showed a chart",
      "展示图表",
      "已展示图表",
    ],
    [
      "show_image",
      { svg: "<svg xmlns='http://www.w3.org/2000/svg'></svg>", alt: "A dot" },
      "Show an image: A dot",
      "Showed an image: A dot",
      "展示图片：A dot",
      "已展示图片：A dot",
    ],
    ["ask_consent", { question: "Go on?" }, "Ask for approval", "Received approval", "请求用户同意", "已获得同意"],
  ] as const)("says what a call of %s does and has done, in both languages", async (name, input, ...expected) => {
    const said = [];
    for (const language of ["en", "zh"] as const) {
      const events: LoomEvent[] = [];
      await runToolCall({ callId: "c", name, input, rawInput: "" }, toolbox, {
        sessionId: "s",
        runId: "r",
        signal: new AbortController().signal,
        language,
        emit: (event) => void events.push(event),
        ready: async () => undefined,
        requestApproval: async (request) => ({ decision: "approved", arguments: request.arguments }),
      });
      const end = events.at(-1);
      said.push(toolbox.summarize(name, language, input), end?.type === "tool_end" ? end.summary : undefined);
    }
    expect(said).toEqual(expected);
  });

  it("evaluates expressions with calculator", async () => {
    expect(await use("calculator", { expression: "（1.1＋2.2）×3" })).toEqual({
      result: "9.9",
      isError: false,
      shown: [],
      output: { expression: "（1.1＋2.2）×3", result: "9.9", exact: true },
    });
    expect(await use("calculator", { expression: "12 / (3 - 3)" })).toMatchObject({
      isError: true,
      result: "Error at character 4: `/` divides by zero. Context: 12 ⟨here⟩/ (3 - 3)",
    });
    expect((await use("calculator", { expr: "1" })).result).toContain("`expression`: is missing; it must be a string");
  });

  it.each([
    [undefined, "Saturday, 2026-02-28, 12:30:05 in UTC (2026-02-28T12:30:05Z)"],
    ["UTC", "Saturday, 2026-02-28, 12:30:05 in UTC (2026-02-28T12:30:05Z)"],
    ["Asia/Shanghai", "Saturday, 2026-02-28, 20:30:05 in Asia/Shanghai (2026-02-28T20:30:05+08:00)"],
    ["America/St_Johns", "Saturday, 2026-02-28, 09:00:05 in America/St_Johns (2026-02-28T09:00:05-03:30)"],
    ["Pacific/Kiritimati", "Sunday, 2026-03-01, 02:30:05 in Pacific/Kiritimati (2026-03-01T02:30:05+14:00)"],
    ["Mars/Base", 'Unknown time zone "Mars/Base". Use an IANA name, such as Asia/Shanghai or UTC.'],
  ])("returns the current_time in %s", async (time_zone, expected) => {
    const { result, isError, output } = await use("current_time", time_zone === undefined ? {} : { time_zone });
    expect(result).toBe(expected);
    expect(isError).toBe(time_zone === "Mars/Base");
    if (!isError) expect(Date.parse((output as { iso: string }).iso)).toBe(NOON);
  });

  it("handles midnight and the time zone of the machine", async () => {
    const tool = createCurrentTimeTool({ now: () => Date.UTC(2026, 0, 1) });
    const context = {
      callId: "",
      sessionId: "",
      runId: "",
      signal: new AbortController().signal,
      print: () => undefined,
      report: () => undefined,
      show: () => undefined,
      ready: async () => undefined,
    };
    expect((await tool.execute({ time_zone: "UTC" }, context)).text).toContain("00:00:00 in UTC");
    expect((await tool.execute({}, context)).text).toContain(Intl.DateTimeFormat().resolvedOptions().timeZone);
    expect(() => createCurrentTimeTool({ timeZone: "Nowhere" })).toThrow('Unknown time zone "Nowhere"');
  });

  it("writes a to-do list and ticks its items", async () => {
    const { result, output, shown } = await use("write_todo_list", {
      title: "部署清单",
      items: [{ text: "build" }, { text: "test", completed: true }],
    });
    const { list_id } = output as { list_id: string };
    const items = [
      { id: "1", text: "build", completed: false },
      { id: "2", text: "test", completed: true },
    ];
    expect(shown).toEqual([{ type: "todo_list", list_id, title: "部署清单", items }]);
    expect(result).toBe(`The list ${list_id} is shown:\n1. [ ] build\n2. [x] test`);
    // The same call gets the same list ID, another call a different one.
    expect((await use("write_todo_list", { items: [{ text: "x" }, { text: "y" }] })).output).toMatchObject({ list_id });
    expect((await use("write_todo_list", { items: [{ text: "x" }] }, "s1", "c2")).output).not.toMatchObject({
      list_id,
    });

    expect(await use("update_todo_item", { list_id, item_id: "1", completed: true, text: null })).toMatchObject({
      isError: false,
      shown: [{ type: "todo_update", list_id, item_id: "1", completed: true }],
    });
    expect(await use("update_todo_item", { list_id, item_id: "3", completed: true })).toMatchObject({
      isError: true,
      result: `List ${list_id} has items 1 to 2, but no item 3.`,
      shown: [],
    });
    expect((await use("update_todo_item", { list_id, item_id: "01", text: "x" })).isError).toBe(true);
    expect((await use("update_todo_item", { list_id, item_id: "1" })).result).toContain("pass `completed` or `text`");
    // The IDs of a list it did not write are left to the log.
    expect((await use("update_todo_item", { list_id, item_id: "9", completed: true }, "s2")).shown).toHaveLength(1);
  });

  it("shows tables", async () => {
    const rows = [
      ["七月", 118, true],
      ["八月", null, false],
    ];
    expect(
      await use("show_table", { name: "销量", description: "单位：箱", columns: ["月份", "销量", "final"], rows }),
    ).toMatchObject({
      result: "Shown to the user: table with 2 rows and 3 columns.",
      shown: [
        {
          type: "data",
          data_type: "dataframe",
          data: { name: "销量", columns: ["月份", "销量", "final"], rows },
          metadata: { description: "单位：箱" },
        },
      ],
    });
    // A table without a name is named after its columns, because 003 §1.3 gives every table a name.
    expect((await use("show_table", { columns: ["a", "b"], rows: [[1, 2]] })).shown).toMatchObject([
      { data: { name: "a, b", columns: ["a", "b"], rows: [[1, 2]] } },
    ]);
    expect(await use("show_table", { columns: ["a", "b"], rows: [[1, 2], [3]] })).toMatchObject({
      isError: true,
      result: "Row 2 has 1 values, but there are 2 columns. Nothing was shown.",
      shown: [],
    });
    expect((await use("show_table", { columns: ["a"], rows: [[{}]] })).result).toContain("`rows[0][0]`");
  });

  it("shows charts", async () => {
    const series = [
      { name: "2025", values: [1, 2] },
      { name: "2026", values: [3, null] },
    ];
    expect(
      await use("show_chart", { kind: "line", title: "Sales", axis: "month", labels: ["Jan", 2], series }),
    ).toMatchObject({
      result: "Shown to the user: line chart, 2 series of 2 values.",
      shown: [
        {
          type: "data",
          data_type: "chart",
          data: {
            name: "Sales",
            mark: "line",
            columns: ["month", "2025", "2026"],
            rows: [
              ["Jan", 1, 3],
              [2, 2, null],
            ],
          },
        },
      ],
    });
    expect((await use("show_chart", { kind: "pie", labels: ["a", "b"], series })).result).toContain(
      "A pie chart takes one series.",
    );
    expect((await use("show_chart", { kind: "bar", labels: ["a"], series })).result).toBe(
      'The series "2025" has 2 values, but there are 1 labels. Nothing was shown.',
    );
    expect((await use("show_chart", { kind: "donut", labels: ["a"], series })).result).toContain(
      'must be one of "bar", "line"',
    );
  });
});

describe("ask_consent", () => {
  it("asks each time and confirms the agreement", async () => {
    const asked: JsonObject[] = [];
    const agree = ({ arguments: given }: ToolApprovalRequest): ToolApprovalAnswer => {
      asked.push(given);
      return { decision: "approved", arguments: given };
    };
    for (const callId of ["c1", "c2"])
      expect(await use("ask_consent", { question: "Shall I?" }, "s1", callId, agree)).toMatchObject({
        result: "The user agreed.",
        isError: false,
        shown: [],
      });
    expect(asked).toEqual([{ question: "Shall I?" }, { question: "Shall I?" }]);
  });

  it("reports a rejection with its reason, and an edited question", async () => {
    const refuse = ({ arguments: given }: ToolApprovalRequest): ToolApprovalAnswer => ({
      decision: "rejected",
      arguments: given,
      reason: "not now",
    });
    expect(await use("ask_consent", { question: "Shall I?" }, "s1", "c1", refuse)).toMatchObject({
      result: "The user rejected this call; it was not run. Reason: not now",
      isError: true,
    });
    const edit = (): ToolApprovalAnswer => ({ decision: "approved", arguments: { question: "Only half?" } });
    expect((await use("ask_consent", { question: "All?" }, "s1", "c1", edit)).result).toBe(
      'The user changed the arguments to {"question":"Only half?"}.\nThe user agreed.',
    );
    expect((await use("ask_consent", { question: "" })).isError).toBe(true);
  });
});

describe("createToolbox", () => {
  const [calculator, time] = createBuiltinTools();
  it("rejects duplicate names, invalid names and too many tools", () => {
    expect(() => createToolbox([calculator!, time!, calculator!])).toThrow("Two tools have the name calculator");
    expect(() => createToolbox([{ ...calculator!, name: "a b" }])).toThrow("the name must have 1 to 64 letters");
    const many = Array.from({ length: 1001 }, (_, index) => ({ ...calculator!, name: `tool-${index}` }));
    expect(() => createToolbox(many)).toThrow("An agent can have at most 1000 tools");
  });

  it("knows which tools are idempotent", () => {
    const box = createToolbox([calculator!, { ...time!, idempotent: false }]);
    expect(["calculator", "current_time", "other"].map((name) => box.isIdempotent(name))).toEqual([true, false, false]);
  });
});
