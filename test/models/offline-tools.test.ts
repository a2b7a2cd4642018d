// The offline model with the tools that come with the package: what it reads of their words is what they say.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callModel, type ModelMessage, OfflineModel } from "../../src/models/index.ts";
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

async function ask(question: string, approve: Approve = agree): Promise<string> {
  const tools = createBuiltinTools({ workspace, time: { now: () => 0, timeZone: "UTC" } });
  const toolbox = createToolbox(tools);
  const host: ToolHost = {
    sessionId: "s",
    runId: "r",
    signal: new AbortController().signal,
    emit: () => undefined,
    ready: async () => undefined,
    requestApproval: async (request) => approve(request),
  };
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: question }] }];
  for (let round = 0; round < 8; round++) {
    const request = { messages, tools: toolbox.describe() };
    const { content, calls, text } = await callModel(new OfflineModel(), request, recordListener().listener);
    if (calls.length === 0) return text;
    messages.push({ role: "assistant", content });
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
});
