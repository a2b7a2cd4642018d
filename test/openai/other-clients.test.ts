// Other clients of the OpenAI APIs, as their users configure them.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createOpenaiFixture } from "./openai-fixture.ts";

setTracingDisabled(true);

describe("@openai/agents", () => {
  it.each([
    ["responses", OpenAIResponsesModel],
    ["chat completions", OpenAIChatCompletionsModel],
  ] as const)("uses an agent of Loom as its model, with %s, and runs its own tools", async (_name, Model) => {
    const { client, ran } = await createOpenaiFixture([
      { text: "I look.", calls: [{ name: "locate", input: {} }] },
      { calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "You are in Oslo." },
      { text: "Yes, in Oslo." },
    ]);
    const locate = tool({
      name: "locate",
      description: "Finds the user",
      parameters: z.object({}),
      execute: () => "Oslo",
    });
    const model = new Model(client, "main");
    const outer = new Agent({ name: "outer", instructions: "Be short.", model, tools: [locate] });
    const first = await run(outer, "Where am I?");
    expect(first.finalOutput).toBe("You are in Oslo.");
    expect(ran).toEqual([["add", { a: 1, b: 2 }]]);
    const second = await run(outer, [...first.history, { role: "user", content: "Really?" }], { stream: true });
    await second.completed;
    expect(second.finalOutput).toBe("Yes, in Oslo.");
  });
});

describe("providers of the AI SDK", () => {
  it("read both APIs", async () => {
    const { baseURL } = await createOpenaiFixture([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const compatible = createOpenAICompatible({ name: "loom", baseURL, apiKey: "any" });
    const openai = createOpenAI({ baseURL, apiKey: "any" });
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }];
    for (const [model, expected] of [
      [compatible.chatModel("main"), "One."],
      [openai.chat("main"), "Two."],
      [openai.responses("main"), "Three."],
    ] as const) {
      const { stream } = await model.doStream({ prompt });
      let text = "";
      const parts: string[] = [];
      for await (const part of stream) {
        parts.push(part.type);
        if (part.type === "text-delta") text += part.delta;
      }
      expect(text).toBe(expected);
      expect(parts.at(-1)).toBe("finish");
      expect(parts).not.toContain("error");
    }
  });
});

describe("keys", () => {
  it("of any kind are accepted by a server without authentication, and only valid ones by others", async () => {
    const open = await createOpenaiFixture([{ text: "Hello." }]);
    const any = new OpenAI({ baseURL: open.baseURL, apiKey: "sk-of-another-service" });
    expect((await any.models.list()).data).toHaveLength(1);
    const closed = await createOpenaiFixture([], { auth: { credentials: openCredentials(":memory:") } });
    const refused = new OpenAI({ baseURL: closed.baseURL, apiKey: "sk-of-another-service" });
    await expect(refused.models.list()).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
  });
});
