// The offline model and a knowledge base: what it looks up, what it says of what came back, and the whole conversation of
// specification 004, through a real agent, a real knowledge base with the handbook in it, and the lumine dialect.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase, type Retriever } from "../../src/context/index.ts";
import { createLog, expectValid } from "../../src/engine/sender.contract.ts";
import { openStream } from "../../src/log/index.ts";
import { answerPrompt, type OfflineAnswer } from "../../src/models/offline/answer-prompt.ts";
import { TOOLS, user } from "../../src/models/offline/ask-offline.contract.ts";
import type { ModelMessage, ModelTool } from "../../src/models/model.ts";
import { isJsonObject, type JsonObject } from "../../src/protocol/index.ts";
import { createBuiltinTools, createKnowledgeTool } from "../../src/tools/index.ts";
import { eventsOf } from "../agents/stage.ts";
import { packageRoot } from "../source-files.ts";

const SEARCH = "search_knowledge_base";
const tool: ModelTool = { name: SEARCH, description: "", inputSchema: { type: "object", properties: {} } };
const ask = (text: string): OfflineAnswer => answerPrompt([user(text)], [...TOOLS, tool]);
const namesOf = (text: string): readonly string[] => ask(text).calls.map(({ name }) => name);

let base: KnowledgeBase;
beforeAll(async () => {
  base = await openKnowledgeBase(":memory:");
  for (const language of ["en", "zh"]) {
    const folder = join(packageRoot, "docs", "handbook", language);
    for (const name of readdirSync(folder))
      await base.addText({ uri: `handbook/${language}/${name}`, text: readFileSync(join(folder, name), "utf8") });
  }
});
afterAll(() => base.close());

describe("the offline model looks up", () => {
  it.each([
    ["What is Loom?", "What is Loom"],
    ["How do I deploy it?", "How do I deploy it"],
    ["如何部署应用", "如何部署应用"],
    ["Explain RAG", "Explain RAG"],
    ["搜索回调", "回调"],
    ["search for dialects", "dialects"],
    ["Please search the knowledge base for approval", "approval"],
    ["look up metrics", "metrics"],
    ["Find information about resume, please", "resume"],
    ["帮我查一下审批", "审批"],
    ["帮我搜索部署文档，然后创建一个部署清单", "部署文档"],
    ["Search the deployment docs and make a checklist", "deployment docs"],
    ["在知识库里搜索事件", "事件"],
    ["Hello, what is Loom?", "Hello, what is Loom"],
    ["How do I use the knowledge base?", "How do I use the knowledge base"],
  ])("%s", (text, query) => {
    expect(ask(text).calls).toEqual([{ name: SEARCH, input: { query } }]);
  });

  it.each([
    "Hello",
    "What can you do?",
    "Who are you?",
    "Tell me a joke",
    "What is the weather like?",
    "查一下天气",
    "look up the time in Tokyo",
    "I like cats",
    "Thanks!",
    "Game of 24: 4 9 10 13",
    "Cause an error",
    "你好",
    "你能做什么？",
  ])("nothing for %s", (text) => {
    expect(namesOf(text)).toEqual([]);
  });

  it.each([
    ["What is 17*23?", "calculator"],
    ["查一下现在几点", "current_time"],
    ["Make a todo list: search the docs, write", "write_todo_list"],
    ["Make a checklist for moving house", "write_todo_list"],
    ["Bar chart: a 1, b 2", "show_chart"],
    ["Ask me first, what is Loom?", "ask_consent"],
    ["写一个待办清单：搜索资料、写报告", "write_todo_list"],
  ])("and does what it did before for %s", (text, name) => {
    expect(namesOf(text)).toEqual([name]);
  });

  it("nothing without the tool", () => {
    expect(answerPrompt([user("What is Loom?")], TOOLS).calls).toEqual([]);
    expect(answerPrompt([user("Search for Loom")], TOOLS).text).toContain(`I was not given the tool ${SEARCH}`);
  });
});

function afterSearch(question: string, result: string, type: "text" | "error-text" = "text"): OfflineAnswer {
  const call = { toolCallId: "c", toolName: SEARCH };
  const messages: readonly ModelMessage[] = [
    user(question),
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type, value: result } }] },
  ];
  return answerPrompt(messages, [...TOOLS, tool]);
}

describe("the offline model says", () => {
  const found = `Passages:\n\n[3] Tides (sea.md, lines 2 to 4)\nThe moon pulls the sea.\n\n[4] 潮汐 (chao.md, lines 1 to 2)\n月亮吸引海水。`;

  it("what was found, with its number and where it is from", () => {
    const { text } = afterSearch("Why does the moon pull the sea?", found);
    expect(text).toContain("“Tides” [3]:\n\nThe moon pulls the sea.\n\nSources:\n[3] Tides (sea.md, lines 2 to 4)\n");
  });

  it("it in the language of the question, where there is a passage in it", () => {
    const { text } = afterSearch("月亮为什么吸引海水？", found);
    expect(text).toContain("“潮汐”写道 [4]：\n\n月亮吸引海水。\n\n来源：\n[4] 潮汐（chao.md，第 1–2 行）");
  });

  it("plainly that there is nothing, or that it may be something else", () => {
    expect(afterSearch("What are quarks?", 'Nothing was found for "quarks".').text).toContain(
      "found nothing about this",
    );
    expect(afterSearch("什么是夸克？", 'Nothing was found for "夸克".').text).toContain("没有找到相关内容");
    expect(afterSearch("What are quarks and gluons?", found).text).toContain("I am not sure that this answers");
  });

  it("why a search failed, and makes no list of nothing", () => {
    const { text, calls } = afterSearch(
      "Search the tides and make a checklist",
      "Knowledge base unavailable: gone",
      "error-text",
    );
    expect(calls).toEqual([]);
    expect(text).toContain("Knowledge base unavailable: gone");
    expect(text).toContain("I left that out (a to-do list)");
  });

  it("that a list is general where no steps were found", () => {
    const { calls } = afterSearch("Search the tides and make a checklist", "Nothing was found.");
    expect(calls.map(({ name }) => name)).toEqual(["write_todo_list"]);
  });
});

async function play(question: string, options: Partial<AgentOptions> = {}) {
  const log = await createLog();
  const helper = agent({
    provider: "offline",
    tools: [...createBuiltinTools(), createKnowledgeTool(base)],
    ...options,
  });
  await using session = await helper.openSession(log, "chat-7");
  await (
    await helper.answer(session, question)
  ).ended;
  const records = await expectValid(log, "chat-7");
  const frames: JsonObject[] = [];
  for await (const page of openStream(log, "chat-7", { dialect: "lumine" }))
    for (const { text } of page) {
      const frame: unknown = JSON.parse(text);
      if (isJsonObject(frame)) frames.push(frame);
    }
  return { records, frames };
}

/** The frames as 004 lists them: pieces of one text are one, and the list is there by itself, without the call for it. */
function describeFrames(frames: readonly JsonObject[]): readonly string[] {
  const kinds = (frames as readonly { readonly [name: string]: string | null }[])
    .filter(({ toolName }) => toolName !== "write_todo_list")
    .map(({ type, status, content, toolName }) => {
      if (type === "chunk") return content === "[DONE]" ? "[DONE]" : "chunk";
      if (type === "reasoning") return `reasoning ${status}`;
      return type === "tool_use" || type === "tool_result" ? `${type} ${toolName}` : `${type}`;
    });
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}

/** The whole conversation of 004. */
const FULL = [
  "session_id",
  "reasoning thinking",
  "reasoning done",
  `tool_use ${SEARCH}`,
  `tool_result ${SEARCH}`,
  "chunk",
  "todo_list",
  "chunk",
  "[DONE]",
];

describe("the offline model with a knowledge base", () => {
  it.each([
    ["帮我搜索部署文档，然后创建一个部署清单", "部署文档", "部署指南", "部署清单", "安装 Node.js 24 或更高版本"],
    [
      "Search the deployment docs and make a checklist",
      "deployment docs",
      "Deployment guide",
      "Deployment guide",
      "Install Node.js 24 or newer",
    ],
  ])("plays the full example of 004: %s", async (question, query, document, title, first) => {
    const { records, frames } = await play(question);
    expect(describeFrames(frames)).toEqual(FULL);
    expect(frames.find(({ type }) => type === "tool_use")?.["args"]).toEqual({ query });
    const result = frames.find(({ type }) => type === "tool_result")?.["result"] as {
      readonly results: readonly { readonly title: string }[];
    };
    expect(result.results.map((one) => one.title)).toContain(document);
    const list = frames.find(({ type }) => type === "todo_list");
    const items = list?.["items"] as readonly { readonly text: string; readonly completed: boolean }[];
    expect([list?.["title"], items[0], items.length]).toEqual([
      title,
      expect.objectContaining({ text: first, completed: false }),
      8,
    ]);
    const reply = eventsOf(records, "reply")[0]?.reply ?? "";
    expect(reply).toMatch(new RegExp(`(?:Sources|来源)[:：]\\n\\[\\d\\] ${document}`));
    expect(eventsOf(records, "retrieval_complete")).toHaveLength(1);
  });

  it.each([
    ["What is Loom?", "Loom runs agents", "what-is-loom"],
    ["Loom 是什么？", "Loom 运行 Agent", "zh/what-is-loom"],
    ["How do I deploy it?", "1. Install Node.js 24 or newer", "en/deployment-guide"],
    ["如何部署应用", "1. 安装 Node.js 24", "zh/deployment-guide"],
    ["How does approval work?", "waits for the user", "en/tools-and-approval"],
    ["审批怎么用？", "等待用户", "zh/tools-and-approval"],
    ["How do I back up the store?", "backup", "en/"],
    ["如何备份存储？", "SQLite 的备份功能", "zh/backup-and-upkeep"],
    ["Which dialects are there?", "lumine", "en/events-and-dialects"],
    ["断线的读者怎么办？", "游标", "zh/resume-and-durability"],
  ])("answers %s from the handbook, searched for and given", async (question, words, source) => {
    for (const options of [{}, { tools: createBuiltinTools(), retriever: base as Retriever }]) {
      const { records } = await play(question, options);
      const reply = eventsOf(records, "reply")[0]?.reply ?? "";
      expect(reply).toContain(words);
      expect(reply).toContain(source);
      expect(reply).toMatch(/\[\d\].*(?:Sources|来源)[:：]\n\[\d\] /s);
      expect(eventsOf(records, "retrieval_complete")).toHaveLength(1);
    }
  });

  it("makes a list of passages that came with the question", async () => {
    const { records } = await play("Search the deployment docs and make a checklist", {
      tools: createBuiltinTools(),
      retriever: base,
    });
    expect(eventsOf(records, "todo_list")[0]?.items).toHaveLength(8);
  });

  it.each(["tot", "got"] as const)("looks it up as %s too", async (kind) => {
    const { records } = await play("What is Loom?", { kind });
    expect(eventsOf(records, "run_end")[0]?.status).toBe("completed");
    expect(eventsOf(records, "reply")[0]?.reply).toContain("Loom runs agents");
  });
});
