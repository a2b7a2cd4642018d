// The offline model answers the messages of its table, and every message of README, docs and the page is in the table.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import type { Retriever } from "../../src/context/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { OfflineModel } from "../../src/models/index.ts";
import { createBuiltinTools, createKnowledgeTool, defineTool, describeInput } from "../../src/tools/index.ts";
import { eventsOf } from "../agents/agent-fixture.ts";
import { readRecords } from "../contracts/sender.ts";
import { packageRoot } from "../source-files.ts";
import { DEMO_PROMPTS, type DemoPrompt } from "./demo-prompts.ts";

/** Begins the sentence that the offline model says about itself. */
const DEMO = /This is a demo without a language model: |这是没有语言模型的演示，/;

const PASSAGES = [
  {
    title: "Deployment",
    content: "# Deployment\n\n1. Install Node\n2. Start the server",
    uri: "deploy.md",
    score: 0.8,
  },
  { title: "部署指南", content: "# 部署指南\n\n1. 安装 Node\n2. 启动服务器", uri: "deploy.zh.md", score: 0.8 },
];
const DOCUMENTS: { readonly [word: string]: (typeof PASSAGES)[number] } = {
  bread: { title: "Bread", content: "# Bread\n\nRye bread needs sourdough.", uri: "bread.md", score: 0.7 },
  面包: { title: "面包", content: "# 面包\n\n黑麦面包要二十小时。", uri: "面包.md", score: 0.7 },
  tides: { title: "Tides", content: "# Tides\n\nThe moon pulls the sea.", uri: "tides.md", score: 0.7 },
};

async function play({ says, agent: kind = {}, retrieves = false }: DemoPrompt) {
  const workspace = mkdtempSync(join(tmpdir(), "loom-demo-"));
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  writeFileSync(join(workspace, "old.txt"), "hello spec\n");
  const search: Retriever = { retrieve: async () => PASSAGES };
  const find: Retriever = {
    retrieve: async (query) => Object.entries(DOCUMENTS).flatMap(([word, one]) => (query.includes(word) ? [one] : [])),
  };
  const echo = (name: string) =>
    defineTool({
      name,
      description: "Repeats its argument.",
      input: describeInput<{ given: string }>({ type: "object", properties: { given: { type: "string" } } }),
      execute: ({ given }) => given,
    });
  const log = new MemoryLog();
  await using one = agent({
    ...kind,
    model: new OfflineModel(),
    log,
    approve: () => true,
    ...(retrieves ? { retriever: find } : {}),
    tools: [
      ...createBuiltinTools({ workspace }),
      ...(retrieves ? [] : [createKnowledgeTool(search)]),
      echo("roll_dice"),
      echo("remove_file"),
    ],
  });
  const status = await one.run(says, { sessionId: "s" }).then(
    () => "completed",
    () => "error",
  );
  const records = await readRecords(log, "s");
  const tools = eventsOf(records, "tool_start").map(({ name }) => name);
  const text = eventsOf(records, "message_chunk").map(({ content }) => content);
  return { status, tools, text: text.join("") };
}

describe("the offline model", () => {
  it.each(DEMO_PROMPTS.map((prompt) => [`${prompt.agent?.kind ?? "react"}: ${prompt.says}`, prompt] as const))(
    "answers %s",
    async (_, prompt) => {
      const { status, tools, text } = await play(prompt);
      expect(text).toMatch(prompt.answer);
      expect(text).not.toMatch(DEMO);
      expect(tools).toEqual(prompt.tools ?? []);
      expect(status).toBe(prompt.fails === true ? "error" : "completed");
    },
  );

  it.each(["Write a sonnet about the sea", "How do I delete old.txt", "Do not delete old.txt", "写一首关于大海的诗"])(
    "says that it is a demo: %s",
    async (says) => {
      const log = new MemoryLog();
      await using one = agent({ model: new OfflineModel(), log, tools: createBuiltinTools() });
      const { reply, toolCalls } = await one.run(says);
      expect(reply).toMatch(DEMO);
      expect(reply).toMatch(/^(?:Offline model: |离线模型：)/);
      expect(toolCalls).toBe(0);
    },
  );
});

/** Messages on these pages that a language model answers, a scripted one, or a server of the reader. */
const OTHERS = new Set([
  "MESSAGE",
  "消息",
  "…",
  "Write a poem to poem.txt",
  "写一首诗，存到 poem.txt",
  "Explain tides in two sentences",
  "用两句话解释潮汐",
  "Summarize these notes",
  "Rain",
  // The answer is the sentence about itself.
  "What can you do?",
  "你能做什么？",
  // A question about a file; see `files.test.ts`.
  "What is in this file?",
  "What is in these files?",
  // It explains fields of the request.
  "Which city is it?",
  "My name is Ann.",
  "Hello, Ann.",
  "Who am I?",
]);

const PAGES = [
  "README.md",
  "README.zh-CN.md",
  "spec/README.md",
  "web/src/start/start-words.ts",
  "docs/http.md",
  ...["quickstart", "concepts"].flatMap((name) => [`docs/${name}.md`, `docs/${name}.zh.md`]),
  ...["install-and-first-run", "what-is-loom", "observe", "agents", "tools-and-approval"].flatMap((name) =>
    ["en", "zh"].map((language) => `docs/handbook/${language}/${name}.md`),
  ),
  ...["build-an-agent", "command-line", "openai-clients", "run-a-server", "use-a-knowledge-base", "use-blobs"].map(
    (name) => `docs/guides/${name}.md`,
  ),
  ...["use-callbacks", "use-metrics", "use-models", "use-the-server", "use-traces-and-logs"].map(
    (name) => `docs/guides/${name}.md`,
  ),
  ...["react.ts", "one-line.ts", "openai/chat.sh", "starter/agents.mts"].map((name) => `examples/${name}`),
];

/** Where a message is written on a page. */
const WRITTEN: readonly RegExp[] = [
  /\bloom (?:--? )?run [^\n"|]*"([^"\n]+)"/g,
  /\brun (?:--\w+ [\w./-]+ )*"([^"\n$]+)"/g,
  /\.(?:run|stream|astream)\("([^"\n]+)"/g,
  /\.(?:answer|run)\(\w+, "([^"\n]+)"/g,
  /"(?:message|content)": ?"([^"\n]+)"/g,
  /\b(?:content|question)(?: =|:) "([^"\n]+)"/g,
  // The suggestions of the page.
  /\btext: "([^"\n]+)",\s+agent:/g,
];

/** The messages of a page to the offline model. Programs with a model that plays a script are left out. */
function listMessages(page: string): readonly string[] {
  const text = readFileSync(join(packageRoot, page), "utf8");
  const parts = page.endsWith(".md")
    ? [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = ""]) => block)
    : [text];
  return parts
    .filter((part) => !/ScriptedModel|foreignAgent|provider: "openai"|type: "run_start"/.test(part))
    .flatMap((part) => WRITTEN.flatMap((pattern) => [...part.matchAll(pattern)].map(([, message = ""]) => message)));
}

describe("the table of messages", () => {
  const known = new Set([...DEMO_PROMPTS.map(({ says }) => says), ...OTHERS]);

  it.each(PAGES)("has every message of %s", (page) => {
    expect(listMessages(page).filter((message) => !known.has(message))).toEqual([]);
  });

  it("has the examples of the guide about models", () => {
    const guide = readFileSync(join(packageRoot, "docs", "guides", "use-models.md"), "utf8");
    const [, section = ""] = /## The offline model\n(.*?)\n## /s.exec(guide) ?? [];
    const examples = [...section.matchAll(/^\| `([^`]+)` +\| `([^`]+)`/gm)].flatMap(([, en = "", zh = ""]) => [en, zh]);
    expect(examples.length).toBeGreaterThan(20);
    expect(examples.filter((example) => !known.has(example))).toEqual([]);
  });

  it("is read from the pages", () => {
    expect(PAGES.flatMap((page) => listMessages(page)).length).toBeGreaterThan(50);
  });
});
