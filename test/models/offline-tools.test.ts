// The offline model with the tools that come with the package: what it reads of their words is what they say.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callModel, type ModelMessage, OfflineModel } from "../../src/models/index.ts";
import { findEventFault, type LoomEvent } from "../../src/protocol/index.ts";
import { recordListener } from "../../src/models/record-listener.contract.ts";
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

/** A conversation: what is said, and what is shown meanwhile. */
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
  throw new Error("it never came to an end");
}

describe("the offline model and the built-in tools", () => {
  it("do one thing after the other where that matters", async () => {
    expect(await ask("write hello to b.txt and read b.txt")).toBe(
      "Offline model: I have written b.txt. b.txt says:\nhello\n",
    );
    expect(await ask("write hello to a.txt and delete a.txt")).toContain("I have deleted a.txt.");
    expect(await readdir(workspace)).toEqual(["b.txt"]);
  });

  it("leave files alone that are only spoken of", async () => {
    const before = await readdir(workspace);
    for (const text of ["Do not delete b.txt", "How do I delete b.txt?", "请不要删除 b.txt", "Write a poem to p.txt"])
      await ask(text);
    expect(await ask("Read b.txt but do not delete it")).toBe("Offline model: b.txt says:\nhello\n");
    expect(await readdir(workspace)).toEqual(before);
  });

  it("agree about a refusal", async () => {
    const refuse: Approve = ({ arguments: given }) => ({ decision: "rejected", arguments: given, reason: "还要用" });
    expect(await ask("删除 b.txt", refuse)).toBe("离线模型：用户拒绝了（删除 b.txt），所以没有执行。理由：还要用。");
    const expire: Approve = ({ arguments: given }) => ({ decision: "expired", arguments: given });
    expect(await ask("删除 b.txt", expire)).toBe("离线模型：没有人及时同意（删除 b.txt），所以没有执行。");
  });

  it("agree about arguments that the user has changed", async () => {
    const edit: Approve = () => ({ decision: "approved", arguments: { path: "c.txt", content: "x" } });
    const said = await ask("write hello to d.txt", edit);
    expect(said).toContain("The user changed what was to be done (write d.txt)");
    expect(said).not.toContain("I have written");
  });

  it("agree about the time", async () => {
    expect(await ask("现在几点？")).toBe("离线模型：现在是 1970-01-01 星期四 00:00:00（UTC）。");
    expect(await ask("现在东京几点？")).toBe("离线模型：现在是 1970-01-01 星期四 09:00:00（Asia/Tokyo）。");
  });

  it("agree about sums", async () => {
    expect(await ask("12 加 30 再乘以 2 等于多少？")).toBe("离线模型：(12+30)*2 = 84。");
    expect(await ask("What is 15% of 80?")).toBe("Offline model: 15/100*80 = 12.");
  });

  it("agree about to-do lists, from one message to the next", async () => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask("make a todo list: milk, bread, eggs", agree, talk)).toBe(
      "Offline model: The list is there, with 3 items.",
    );
    expect(await ask("mark milk and the third item as done", agree, talk)).toBe(
      "“milk” is marked as done. “eggs” is marked as done.",
    );
    expect(await ask("把 milk 标记为未完成", agree, talk)).toBe("“milk”已取消勾选。");
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
    // Another list goes before the one that was there.
    await ask("make a todo list: sleep", agree, talk);
    expect(await ask("sleep is done", agree, talk)).toBe("“sleep” is marked as done.");
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
      "Offline model: The table is there, with 0 rows.",
      { type: "data", data: { columns: ["name", "age"], rows: [] } },
    ],
    [
      "pie chart of apples 3, pears 5",
      "Offline model: The pie chart is there, with 2 values.",
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
  ])("agree about what is shown: %s", async (question, said, event) => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask(question, agree, talk)).toBe(said);
    expect(talk.shown).toMatchObject([event]);
  });

  it("agree about every drawing", async () => {
    const things = "circle,rectangle,square,triangle,star,heart,house,tree,sun,flower,smiley".split(",");
    for (const thing of things) {
      const talk: Talk = { messages: [], shown: [] };
      expect(await ask(`draw a white ${thing}`, agree, talk)).toBe(`Offline model: Here you see a white ${thing}.`);
      expect(talk.shown).toMatchObject([{ type: "image" }]);
    }
  });

  it("agree about consent", async () => {
    const asked: unknown[] = [];
    const answer = (decision: "approved" | "rejected"): Approve => {
      return ({ name, arguments: given }) => {
        asked.push([name, given]);
        return { decision, arguments: given };
      };
    };
    const question = "ask me for approval, then calculate 2+2";
    expect(await ask(question, answer("approved"))).toBe("Offline model: You agreed. 2+2 = 4.");
    expect(await ask(question, answer("rejected"))).toBe(
      "Offline model: That did not happen (your consent): The user refused this call; it was not run. I left that out (2+2), as nobody agreed.",
    );
    expect(asked).toEqual(Array.from({ length: 2 }, () => ["ask_consent", { question: "May I go on?" }]));
    expect(await ask("请先征求我的同意", answer("approved"))).toBe("离线模型：你同意了。");
  });

  it("take several things at once", async () => {
    const talk: Talk = { messages: [], shown: [] };
    expect(await ask("What is 6*7? Make a todo list: tea. Chart 1, 2 and draw a star.", agree, talk)).toBe(
      "Offline model: 6*7 = 42. The list is there, with 1 item. The bar chart is there, with 2 values. Here you see a yellow star.",
    );
    expect(talk.shown.map(({ type }) => type)).toEqual(["todo_list", "data", "image"]);
  });

  it("fail when they are asked to, after what there was to do", async () => {
    const talk: Talk = { messages: [], shown: [] };
    await expect(ask("Draw a star, then cause an error.", agree, talk)).rejects.toMatchObject({
      code: "model_failed",
    });
    expect(talk.shown).toMatchObject([{ type: "image" }]);
    await expect(ask("出个错")).rejects.toThrow("离线模型应要求出错。");
  });

  it("save a list", async () => {
    expect(await ask("make a todo list: milk, bread and save it to list.txt")).toBe(
      "Offline model: The list is there, with 2 items. I have written list.txt.",
    );
    expect(await ask("read list.txt")).toBe("Offline model: list.txt says:\n1. [ ] milk\n2. [ ] bread\n");
  });
});
