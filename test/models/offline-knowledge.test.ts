// The offline model with a knowledge base: what it searches for, how it answers, and the full example of specification
// 004, with a real agent, the handbook as the knowledge base, and the lumine dialect.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase, type Retriever } from "../../src/context/index.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import { openStream } from "../../src/log/index.ts";
import { answerPrompt, type OfflineAnswer } from "../../src/models/offline/answer-prompt.ts";
import { TOOLS, user } from "../contracts/ask-offline.ts";
import { cleanItem, findSteps } from "../../src/models/offline/find-steps.ts";
import type { ModelMessage, ModelTool } from "../../src/models/model.ts";
import { isJsonObject, type JsonObject } from "../../src/protocol/index.ts";
import { createBuiltinTools, createKnowledgeTool } from "../../src/tools/index.ts";
import { eventsOf } from "../agents/agent-fixture.ts";
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

describe("the offline model searches for", () => {
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
    ["How do I use a local model with Ollama?", "How do I use a local model with Ollama"],
    ["怎么用 OpenAI 的模型？", "怎么用 OpenAI 的模型"],
    ["帮我搜索部署文档然后创建部署清单", "部署文档"],
    ["请搜索部署文档，并根据它生成一份检查清单", "部署文档"],
    ["查一下部署文档，整理成待办清单", "部署文档"],
    ["根据部署文档创建一个清单", "部署文档"],
    ["根据文档创建一个部署清单", "部署"],
    ["Find the deployment docs and create a to-do list", "deployment docs"],
    ["Make a checklist from the deployment guide", "deployment guide"],
    ["Create a deployment checklist from the docs", "deployment"],
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
    "I like cats",
    "Thanks!",
    "Game of 24: 4 9 10 13",
    "Cause an error",
    "你好",
    "你能做什么？",
    "Look for my keys",
    "What?",
    "How?",
    "Really?",
    "Tell me more",
    "Why not?",
    "什么？",
    "真的吗？",
    "怎么办？",
    "How do I use it?",
    "怎么用？",
  ])("nothing for %s", (text) => {
    expect(namesOf(text)).toEqual([]);
  });

  it.each([
    ["What is 17*23?", "calculator"],
    ["查一下现在几点", "current_time"],
    ["look up the time in Tokyo", "current_time"],
    ["Make a todo list: search the docs, write", "write_todo_list"],
    ["Make a checklist for moving house", "write_todo_list"],
    ["Bar chart: a 1, b 2", "show_chart"],
    ["Ask me first, what is Loom?", "ask_consent"],
    ["写一个待办清单：搜索资料、写报告", "write_todo_list"],
  ])("but uses another tool for %s", (text, name) => {
    expect(namesOf(text)).toEqual([name]);
  });

  it("nothing without the tool", () => {
    expect(answerPrompt([user("What is Loom?")], TOOLS).calls).toEqual([]);
    expect(answerPrompt([user("Search for Loom")], TOOLS).text).toContain(`the tool ${SEARCH} is not available`);
  });
});

describe("a list item of a document", () => {
  it.each([
    ["Check that 6*7 is 42", "Check that 6*7 is 42"],
    ["2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"],
    ["**Stop** the *old* process;", "Stop the old process"],
    ["__Wait__ for `snake_case_name`.", "Wait for snake_case_name"],
    ["Run `rm *.log` and `ls **/*.ts`", "Run rm *.log and ls **/*.ts"],
    ["Type `` a`b `` once", "Type a`b once"],
    ["A lone ` stays, and a lone * too", "A lone ` stays, and a lone * too"],
    ["[x] Done already", "Done already"],
    ["See the notes ...", "See the notes ..."],
    ["把**旧进程**停掉。", "把旧进程停掉"],
  ])("keeps its words: %s", (item, words) => {
    expect(cleanItem(item)).toBe(words);
  });

  it("includes its continuation lines", () => {
    const text = "1. Stop\n   the process\n2. Wait\n\n3. Go";
    const found = findSteps("x", [{ ref: "1", title: "T", score: 1, text }], "en");
    expect(found?.items).toEqual(["Stop the process", "Wait", "Go"]);
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

describe("the offline model reports", () => {
  const found = `Passages:\n\n[3] Tides (sea.md, lines 2 to 4)\nThe moon pulls the sea.\n\n[4] 潮汐 (chao.md, lines 1 to 2)\n月亮吸引海水。`;

  it("a passage with its number", () => {
    const { text } = afterSearch("Why does the moon pull the sea?", found);
    expect(text).toMatch(/From “Tides” \[3\]:\n\nThe moon pulls the sea\.$/);
  });

  it("a passage in the language of the question, if there is one", () => {
    const { text } = afterSearch("月亮为什么吸引海水？", found);
    expect(text).toMatch(/来自“潮汐”\[4\]：\n\n月亮吸引海水。$/);
  });

  it("that nothing was found, or only a weak match", () => {
    expect(afterSearch("What are quarks?", 'Nothing was found for "quarks".').text).toContain(
      "The knowledge base has nothing about this.",
    );
    expect(afterSearch("什么是夸克？", 'Nothing was found for "夸克".').text).toContain("知识库中没有相关内容。");
    const { text } = afterSearch("What are quarks and gluons?", found);
    expect(text).toContain("The knowledge base has no exact match. The closest is “Tides” [3].");
    expect(text).not.toContain("The moon pulls");
  });

  it("a failed search, and makes no list", () => {
    const { text, calls } = afterSearch(
      "Search the tides and make a checklist",
      "Knowledge base unavailable: gone",
      "error-text",
    );
    expect(calls).toEqual([]);
    expect(text).toContain("Knowledge base unavailable: gone");
    expect(text).toContain("Not done (a to-do list)");
  });

  it.each([
    ["Nothing was found.", "The knowledge base has nothing about this."],
    [`[1] "Bread" (bread.md, lines 1 to 3, score 0.12)\n| 1. Knead\n| 2. Bake`, "The closest is “Bread” [1]"],
    [`[1] "Bread" (bread.md)\n| 1. Knead\n| 2. Bake`, "The closest is “Bread” [1]"],
    [`[1] "Tides" (sea.md, line 1, score 0.9)\n| The moon pulls the sea.`, "The moon pulls the sea."],
  ])("that nothing is suitable, and makes no list: %s", (result, words) => {
    const { calls, text } = afterSearch("Search the tides and make a checklist", result);
    expect(calls).toEqual([]);
    expect(text).toContain("Not done (a to-do list): no suitable content was found.");
    expect(text).toContain(words);
  });

  it("how many items of a long list it used", () => {
    const lines = Array.from({ length: 23 }, (_, n) => `| ${n + 1}. Wave ${n + 1}`).join("\n");
    const { calls, text } = afterSearch("Search the tides and make a checklist", `[1] "Tides" (score 0.9)\n${lines}`);
    expect(calls[0]?.input["items"]).toHaveLength(20);
    expect(text).toContain("(the first 20 of 23 items)");
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

/**
 * The frames as specification 004 lists them: pieces of a text are merged, and the call behind the list is left out.
 */
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

/** The full example of specification 004. */
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

/** Passages come with the question, and there is no search tool. */
const GIVEN = (): Partial<AgentOptions> => ({ tools: createBuiltinTools(), retriever: base as Retriever });

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
  ])("plays the full example of specification 004: %s", async (question, query, document, title, first) => {
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
    expect(reply).toMatch(new RegExp(`(?:Source: |来源：)“${document}” ?\\[\\d\\]`));
    expect(eventsOf(records, "retrieval_complete")).toHaveLength(1);
  });

  it.each([
    ["What is Loom?", "Loom runs agents", "en/what-is-loom"],
    ["Loom 是什么？", "Loom 运行智能体", "zh/what-is-loom"],
    ["How do I deploy it?", "1. Install Node.js 24 or newer", "en/deployment-guide"],
    ["如何部署应用", "1. 安装 Node.js 24", "zh/deployment-guide"],
    ["How does approval work?", "waits for the user", "en/tools-and-approval"],
    ["审批怎么用？", "等待用户", "zh/tools-and-approval"],
    ["How do I back up the store?", "backup", "en/backup-and-maintenance"],
    ["如何备份存储？", "npx loom store backup", "zh/backup-and-maintenance"],
    ["What happens when the disk is full?", "store_full", "en/backup-and-maintenance"],
    ["磁盘满了怎么办？", "store_full", "zh/backup-and-maintenance"],
    ["Which dialects are there?", "lumine", "en/events-and-dialects"],
    ["断线的客户端怎么办？", "游标", "zh/resume-and-durability"],
    ["Which Node version do I need?", "version 24 or newer", "en/install-and-first-run"],
    ["有哪些 Agent？", "react", "zh/agents"],
    ["有哪些智能体？", "react", "zh/agents"],
    ["怎么接 MCP？", "--mcp FILE", "zh/tools-and-approval"],
    ["How do I add a tool?", "defineTool", "en/tools-and-approval"],
    ["How do I limit the number of iterations?", "maxIterations", "en/agents"],
    ["tot 和 got 有什么区别？", "思维树", "zh/agents"],
    ["怎么添加我自己的文档？", "loom kb add", "zh/knowledge-base"],
    ["数据存在哪里？", "$LOOM_STORE", "zh/resume-and-durability"],
    ["How do I get metrics?", "MetricsCollector", "en/observe"],
    ["怎么看指标？", "MetricsCollector", "zh/observe"],
    ["How do I use a local model with Ollama?", "@ai-sdk/openai-compatible", "en/install-and-first-run"],
    ["怎么用 OpenAI 的模型？", "OPENAI_API_KEY", "zh/install-and-first-run"],
  ])("answers %s from the handbook, with a search and with given passages", async (question, words, source) => {
    for (const options of [{}, GIVEN()]) {
      const { records } = await play(question, options);
      const reply = eventsOf(records, "reply")[0]?.reply ?? "";
      expect(reply).toContain(words);
      const [found, ...others] = eventsOf(records, "retrieval_complete");
      const cited = /(?:From |来自)“[^”]*” ?\[(\d)\]/.exec(reply)?.[1];
      expect(found?.sources?.find(({ ref }) => String(ref) === cited)?.uri).toContain(source);
      expect(others).toEqual([]);
    }
  });

  it.each([
    "Why is the sky blue?",
    "Where is the nearest grocery store?",
    "What is a log in mathematics?",
    "What is your favourite tool?",
    "Look for my keys",
    "What?",
    "How?",
    "Really?",
    "Tell me more",
    "How old are you?",
    "When does the next train leave?",
    "红烧肉怎么做？",
    "天空为什么是蓝色的？",
  ])("claims nothing about %s", async (question) => {
    for (const options of [{}, GIVEN()]) {
      const { records } = await play(question, options);
      const reply = eventsOf(records, "reply")[0]?.reply ?? "";
      expect(reply).not.toMatch(/From “|来自“/);
    }
  });

  it("makes a list from passages that came with the question", async () => {
    const { records } = await play("Search the deployment docs and make a checklist", GIVEN());
    expect(eventsOf(records, "todo_list")[0]?.items).toHaveLength(8);
    expect(eventsOf(records, "reply")[0]?.reply).toMatch(/Source: “Deployment guide” \[1\]\.$/);
  });

  it.each([
    ["Search for quarks", async () => [], "The knowledge base has nothing about this."],
    ["What are quarks?", async () => [], "The knowledge base has nothing about this."],
    ["Search for quarks", () => Promise.reject(new Error("gone")), "Searching the knowledge base failed."],
    ["什么是夸克？", () => Promise.reject(new Error("gone")), "知识库搜索失败"],
    ["Search the quark docs and make a checklist", async () => [], "The knowledge base has nothing about this."],
  ])("reports the search that ran before the question: %s", async (question, retrieve, words) => {
    const { records } = await play(question, { ...GIVEN(), retriever: { retrieve }, onError: () => undefined });
    expect(eventsOf(records, "reply")[0]?.reply).toContain(words);
    expect(eventsOf(records, "todo_list")).toEqual([]);
  });

  it.each([
    "帮我搜索部署文档然后创建部署清单",
    "请搜索部署文档，并根据它生成一份检查清单",
    "查一下部署文档，整理成待办清单",
    "根据部署文档创建一个清单",
    "根据文档创建一个部署清单",
    "Find the deployment docs and create a to-do list",
    "Make a checklist from the deployment guide",
    "Create a deployment checklist from the docs",
  ])("makes a list from what it finds: %s", async (question) => {
    const { records } = await play(question);
    expect(eventsOf(records, "todo_list").map(({ items }) => items.length)).toEqual([8]);
    // A search for the whole message may find less; the reply then says so.
    const { records: given } = await play(question, GIVEN());
    const made = eventsOf(given, "todo_list").map(({ items }) => items.length);
    expect([made, eventsOf(given, "reply")[0]?.reply]).toEqual(
      made.length > 0 ? [[8], expect.stringMatching(/(?:Source: |来源：)“/)] : [[], expect.stringContaining("合适")],
    );
  });

  it.each([
    ["Search the deployment docs, make a checklist and email it to Bob", "Not done: “email it to Bob”."],
    ["搜索部署文档，创建一个部署清单，然后发邮件给小王", "未处理：“发邮件给小王”。"],
  ])("names what it skips: %s", async (question, words) => {
    const { records } = await play(question);
    expect(eventsOf(records, "todo_list")).toHaveLength(1);
    expect(eventsOf(records, "reply")[0]?.reply).toContain(words);
  });

  it.each([
    "Search the deployment docs and make a checklist, and what is 6*7?",
    "搜索部署文档，创建一个部署清单，再算一下 6*7 等于多少",
  ])("does not report finished work as skipped: %s", async (question) => {
    const { records } = await play(question);
    const reply = eventsOf(records, "reply")[0]?.reply ?? "";
    expect(reply).toContain("42");
    expect(reply).not.toMatch(/Not done|未处理/);
  });

  it("keeps numbered lines as tot", async () => {
    const { records } = await play("How do I deploy it?", { kind: "tot" });
    expect(eventsOf(records, "reply")[0]?.reply).toMatch(/From “Deployment guide” \[1\]:.*\n1\. Install.*\n8\. /s);
  });

  it.each(["tot", "got"] as const)("searches as %s, too", async (kind) => {
    const { records } = await play("What is Loom?", { kind });
    expect(eventsOf(records, "run_end")[0]?.status).toBe("completed");
    expect(eventsOf(records, "reply")[0]?.reply).toContain("Loom runs agents");
  });
});
