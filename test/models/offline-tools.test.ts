// The offline model with the built-in tools. Fails if the texts of a tool change that the model reads.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callModel, type ModelMessage, OfflineModel } from "../../src/models/index.ts";
import type { LoomEvent } from "../../src/protocol/index.ts";
import { findEventFault } from "../../src/protocol/validate.ts";
import { recordListener } from "../contracts/record-listener.ts";
import { createBuiltinTools } from "../../src/tools/builtin-tools.ts";
import { runToolCall } from "../../src/tools/run-tool-call.ts";
import type { ToolApprovalAnswer, ToolApprovalRequest, ToolHost } from "../../src/tools/tool-host.ts";
import { createToolbox } from "../../src/tools/toolbox.ts";

let workspace = "";
beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), "loom-offline-"));
});
afterAll(() => rm(workspace, { recursive: true }));

type Approve = (request: ToolApprovalRequest) => ToolApprovalAnswer;
const agree: Approve = (request) => ({ decision: "approved", arguments: request.arguments });

/** A conversation, and the events that were shown. */
interface Talk {
  readonly messages: ModelMessage[];
  readonly shown: LoomEvent[];
}

const SHOWN: ReadonlySet<string> = new Set(["data", "image", "todo_list", "todo_update"]);

async function ask(
  question: string,
  approve: Approve = agree,
  { messages, shown }: Talk = { messages: [], shown: [] },
): Promise<string> {
  const tools = createBuiltinTools({ workspace, time: { now: () => 0, timeZone: "UTC" } });
  const toolbox = createToolbox(tools);
  const host: ToolHost = {
    sessionId: "s",
    runId: "r",
    signal: new AbortController().signal,
    emit: (event) => {
      expect(findEventFault(event)).toBeUndefined();
      if (SHOWN.has(event.type)) shown.push(event);
    },
    ready: async () => undefined,
    requestApproval: async (request) => approve(request),
  };
  messages.push({ role: "user", content: [{ type: "text", text: question }] });
  for (let round = 0; round < 8; round++) {
    const request = { messages, tools: toolbox.describe() };
    const { content, calls, text } = await callModel(new OfflineModel(), request, recordListener().listener);
    messages.push({ role: "assistant", content });
    if (calls.length === 0) return text;
    const outcomes = await Promise.all(calls.map((call) => runToolCall(call, toolbox, host)));
    const results = outcomes.map(({ callId, name, result, isError }) => ({
      type: "tool-result" as const,
      toolCallId: callId,
      toolName: name,
      output: { type: isError ? ("error-text" as const) : ("text" as const), value: result },
    }));
    messages.push({ role: "tool", content: results });
  }
  throw new Error("the conversation did not end");
}

describe("the offline model and the built-in tools", () => {
  it("run one call after the other if the order matters", async () => {
    expect(await ask("write hello to b.txt and read b.txt")).toBe(
      "Offline model: Wrote b.txt. Contents of b.txt:\nhello\n",
    );
    expect(await ask("write hello to a.txt and delete a.txt")).toContain("Deleted a.txt.");
    expect(await readdir(workspace)).toEqual(["b.txt"]);
  });

  it("do not touch files that are only mentioned", async () => {
    const before = await readdir(workspace);
    for (const text of ["Do not delete b.txt", "How do I delete b.txt?", "请不要删除 b.txt", "Write a poem to p.txt"])
      await ask(text);
    expect(await ask("Read b.txt but do not delete it")).toBe("Offline model: Contents of b.txt:\nhello\n");
    expect(await readdir(workspace)).toEqual(before);
  });

  it("agree on refusals", async () => {
    const refuse: Approve = ({ arguments: given }) => ({ decision: "rejected", arguments: given, reason: "还要用" });
    expect(await ask("删除 b.txt", refuse)).toBe("离线模型：用户已拒绝（删除 b.txt），未执行。原因：还要用。");
    const expire: Approve = ({ arguments: given }) => ({ decision: "expired", arguments: given });
    expect(await ask("删除 b.txt", expire)).toBe("离线模型：未及时获得同意（删除 b.txt），未执行。");
  });

  it("agree on changed arguments", async () => {
    const edit: Approve = () => ({ decision: "approved", arguments: { path: "c.txt", content: "x" } });
    const said = await ask("write hello to d.txt", edit);
    expect(said).toContain("The request was changed (write d.txt)");
    expect(said).not.toContain("Wrote");
  });

  it("agree on the time", async () => {
    expect(await ask("现在几点？")).toBe("离线模型：现在是 1970-01-01 星期四 00:00:00（UTC）。");
    expect(await ask("现在东京几点？")).toBe("离线模型：现在是 1970-01-01 星期四 09:00:00（Asia/Tokyo）。");
  });

  it("agree on calculations", async () => {
    expect(await ask("12 加 30 再乘以 2 等于多少？")).toBe("离线模型：(12+30)*2 = 84。");
    expect(await ask("What is 15% of 80?")).toBe("Offline model: 15/100*80 = 12.");
  });

  it("agree on to-do lists across messages", async () => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask("make a todo list: milk, bread, eggs", agree, talk)).toBe(
      "Offline model: Here is the list, with 3 items.",
    );
    expect(await ask("mark milk and the third item as done", agree, talk)).toBe(
      "Marked “milk” as done. Marked “eggs” as done.",
    );
    expect(await ask("把 milk 标记为未完成", agree, talk)).toBe("已取消勾选“milk”。");
    const [list, ...updates] = talk.shown;
    expect(list).toMatchObject({
      type: "todo_list",
      items: [{ text: "milk" }, { text: "bread" }, { id: "3", text: "eggs" }],
    });
    const list_id = list?.type === "todo_list" ? list.list_id : "";
    expect(updates).toEqual([
      { type: "todo_update", list_id, item_id: "1", completed: true },
      { type: "todo_update", list_id, item_id: "3", completed: true },
      { type: "todo_update", list_id, item_id: "1", completed: false },
    ]);
    // The latest list comes first.
    await ask("make a todo list: sleep", agree, talk);
    expect(await ask("sleep is done", agree, talk)).toBe("Marked “sleep” as done.");
    expect(talk.shown.at(-1)).not.toMatchObject({ list_id });
  });

  it.each<[string, string, object]>([
    [
      "表格：苹果 3，梨 5",
      "离线模型：表格已显示，共 2 行。",
      { type: "data", data_type: "dataframe", data: { columns: ["名称", "数值"] } },
    ],
    [
      "make a table with columns name and age",
      "Offline model: Here is the table, with 0 rows.",
      { type: "data", data: { columns: ["name", "age"], rows: [] } },
    ],
    [
      "pie chart of apples 3, pears 5",
      "Offline model: Here is the pie chart, with 2 values.",
      {
        type: "data",
        data_type: "chart",
        data: {
          mark: "pie",
          rows: [
            ["apples", 3],
            ["pears", 5],
          ],
        },
      },
    ],
    ["画一个红色的圆", "离线模型：画好了：红色的圆。", { type: "image", media_type: "image/svg+xml", alt: "红色的圆" }],
  ])("agree on what is shown: %s", async (question, said, event) => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask(question, agree, talk)).toBe(said);
    expect(talk.shown).toMatchObject([event]);
  });

  it("agree on every drawing", async () => {
    const things = "circle,rectangle,square,triangle,star,heart,house,tree,sun,flower,smiley".split(",");
    for (const thing of things) {
      const talk: Talk = { messages: [], shown: [] };
      expect(await ask(`draw a white ${thing}`, agree, talk)).toBe(`Offline model: I drew a white ${thing}.`);
      expect(talk.shown).toMatchObject([{ type: "image" }]);
    }
  });

  it("agree on approvals", async () => {
    const asked: unknown[] = [];
    const answer = (decision: "approved" | "rejected"): Approve => {
      return ({ name, arguments: given }) => {
        asked.push([name, given]);
        return { decision, arguments: given };
      };
    };
    const question = "ask me for approval, then calculate 2+2";
    expect(await ask(question, answer("approved"))).toBe("Offline model: Approved. 2+2 = 4.");
    expect(await ask(question, answer("rejected"))).toBe(
      "Offline model: Not done (your approval): The user rejected this call; it was not run. Not done (2+2): not approved.",
    );
    expect(asked).toEqual(Array.from({ length: 2 }, () => ["ask_consent", { question: "Continue?" }]));
    expect(await ask("请先征求我的同意", answer("approved"))).toBe("离线模型：已同意。");
  });

  it("handle several requests at once", async () => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask("What is 6*7? Make a todo list: tea. Chart 1, 2 and draw a star.", agree, talk)).toBe(
      "Offline model: 6*7 = 42. Here is the list, with 1 item. Here is the bar chart, with 2 values. I drew a yellow star.",
    );
    expect(talk.shown.map(({ type }) => type)).toEqual(["todo_list", "data", "image"]);
  });

  it("fail on request, after the other requests", async () => {
    const talk: Talk = { messages: [], shown: [] };
    await expect(ask("Draw a star, then cause an error.", agree, talk)).rejects.toMatchObject({
      code: "model_failed",
    });
    expect(talk.shown).toMatchObject([{ type: "image" }]);
    await expect(ask("出个错")).rejects.toThrow("离线模型按要求出错。");
  });

  it("save a list", async () => {
    expect(await ask("make a todo list: milk, bread and save it to list.txt")).toBe(
      "Offline model: Here is the list, with 2 items. Wrote list.txt.",
    );
    expect(await ask("read list.txt")).toBe("Offline model: Contents of list.txt:\n1. [ ] milk\n2. [ ] bread\n");
  });
});
