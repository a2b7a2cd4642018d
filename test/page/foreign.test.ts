// Agents of other frameworks on the page: an agent of the AI SDK with reasoning, a tool and an approval, and a graph.
import { simulateReadableStream, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { foreignAgent, fromAISDK, fromLangGraph } from "../../src/adapters/index.ts";
import { createScriptedAgent } from "../contracts/play-script.ts";
import { hasChromium } from "../browser/launch.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { findAnswer, openPage, PHONE, sendMessage, waitForEnd } from "./journey.ts";
import { createPageFixture, type PageFixture } from "./page-fixture.ts";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = Streamed["stream"] extends ReadableStream<infer T> ? T : never;

const COUNTS = {
  inputTokens: { total: 120, noCache: 120, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 40, text: 40, reasoning: 0 },
};

function playModel(hasResult: boolean): ModelPart[] {
  const unified = hasResult ? "stop" : "tool-calls";
  const text = hasResult ? "It is **−3 °C** in Oslo." : "I look it up.";
  return [
    { type: "stream-start", warnings: [] },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "The user asks about the weather." },
    { type: "reasoning-end", id: "r" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: text },
    { type: "text-end", id: "t" },
    ...(hasResult
      ? []
      : [{ type: "tool-call", toolCallId: "call-1", toolName: "weather", input: '{"city":"Oslo"}' } as const]),
    { type: "finish", finishReason: { unified, raw: unified }, usage: COUNTS },
  ];
}

const helper = foreignAgent(
  async (_message, { conversation }) => {
    const history = (await conversation()).toModelMessages();
    const model = new MockLanguageModelV4({
      modelId: "mock-1",
      doStream: ({ prompt }) =>
        Promise.resolve({
          stream: simulateReadableStream({
            chunks: playModel(prompt.at(-1)?.role === "tool"),
            chunkDelayInMs: null,
            initialDelayInMs: null,
          }),
        }),
    });
    const weather = tool({
      description: "Reports the weather",
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => ({ city, degrees: -3 }),
    });
    return fromAISDK(({ signal, messages }) =>
      streamText({
        model,
        tools: { weather },
        toolApproval: { weather: "user-approval" },
        abortSignal: signal,
        messages: [...history, ...messages],
        stopWhen: stepCountIs(5),
      }),
    );
  },
  { toolNames: ["weather"] },
);

const graph = foreignAgent((message) =>
  fromLangGraph(
    createScriptedAgent({ turns: [{ text: ["I look."], cities: ["Oslo", "Bergen"] }, { text: ["It is ", "cold."] }] }),
    { messages: [{ role: "user", content: message }] },
  ),
);

describe.skipIf(!hasChromium)("agents of other frameworks on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    const agents = {
      "Weather helper": { agent: helper, description: "Answers questions about the weather", model: "mock-1" },
      Graph: { agent: graph },
    };
    fixture = await createPageFixture({ agents });
  });
  afterAll(() => fixture.close());

  it.runIf(LONG).each(
    sampleCases([
      ["en", "light", 1280],
      ["zh", "dark", PHONE.width],
    ] as const),
  )("asks for approval and shows the steps: %s %s %i", async (language, theme, width) => {
    const { page, context, complaints } = await openPage(fixture, { language, theme, width, height: 844 });
    await sendMessage(page, "How cold is it in Oslo?", language);
    const allow = page.getByRole("button", { name: language === "zh" ? "允许" : "Allow", exact: true });
    await allow.waitFor();
    await allow.click();
    await waitForEnd(page, language);
    await findAnswer(page, language).getByText("−3 °C").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("suggests no prompts of other agents, and shows the nodes of a graph in the inspector", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();
    await page.getByRole("button", { name: /Weather helper/ }).click();
    expect(await page.getByRole("list", { name: "Suggestions" }).count()).toBe(0);
    await page.getByRole("menuitemradio", { name: "Graph" }).click();
    await sendMessage(page, "How cold is it?");
    await waitForEnd(page);
    await findAnswer(page).getByText("It is cold.").waitFor();
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    for (const name of ["agent", "tools"])
      await inspector
        .getByRole("option", { name: new RegExp(`${name} , done`) })
        .first()
        .waitFor();
    // The model of the calls is not known.
    await expect.poll(() => inspector.innerText()).not.toContain("run-");
    expect(await page.getByRole("main").innerText()).not.toContain("foreign");
    expect(complaints).toEqual([]);
    await context.close();
  });
});
