// The full example of specification 004, with a real agent, the offline model, the handbook as the knowledge base, and the
// lumine dialect.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase } from "../../src/context/index.ts";
import { openStream } from "../../src/log/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { isJsonObject } from "../../src/protocol/json.ts";
import { createBuiltinTools, createKnowledgeTool } from "../../src/tools/index.ts";
import { eventsOf } from "../agents/agent-fixture.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import { packageRoot } from "../source-files.ts";

const SEARCH = "search_knowledge_base";

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

async function play(question: string) {
  const log = await createLog();
  const helper = agent({
    provider: "offline",
    tools: [...createBuiltinTools(), createKnowledgeTool(base)],
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
});
