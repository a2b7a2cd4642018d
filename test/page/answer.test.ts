// Suggested prompts, and all parts of an answer while it streams and afterwards.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ScriptedModel } from "../../src/models/testing.ts";
import { SUGGESTED_PROMPTS } from "../agents/suggested-prompts.ts";
import { hasChromium } from "../browser/launch.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { PausableModel } from "./pausable-model.ts";
import { findAnswer, findRun, openPage, PHONE, readEvents, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { LogWriter } from "./log-writer.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";

/** One transparent pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

type Recording = typeof globalThis & { bubbles?: readonly string[] };

/** Runs in the page: records the different boxes of the user's message over all frames, with their progress sign. */
function recordBubbles(): void {
  const seen = new Set<string>();
  const record = (): void => {
    const box = document.querySelector(".loom-message-user")?.getBoundingClientRect();
    const isBusy = document.querySelector(".loom-stage .loom-spinner") !== null;
    if (box !== undefined)
      seen.add([box.x, box.y, box.width, box.height].map(Math.round).join(" ") + (isBusy ? " busy" : ""));
    (globalThis as Recording).bubbles = [...seen];
    requestAnimationFrame(record);
  };
  record();
}

describe.skipIf(!hasChromium)("an answer on the page (skipped without Chromium)", () => {
  const model = new PausableModel();
  const other = new ScriptedModel(() => ({ text: "Of another model." }), { provider: "openai", modelId: "gpt-test" });
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model, furtherModels: { "openai/gpt-test": other } });
  });
  afterAll(() => fixture.close());
  afterEach(() => model.resume());

  it.each(
    sampleCases([
      ["en", "Suggestions"],
      ["zh", "试试这些"],
    ] as const),
  )("suggests tested prompts in the browser's language: %s", async (language, title) => {
    const { page, context, complaints } = await openPage(fixture, { language, ...PHONE });
    const offers = page.getByRole("list", { name: title }).getByRole("button");
    await offers.first().waitFor();
    const texts = await offers.allInnerTexts();
    const known = Object.values(SUGGESTED_PROMPTS).map((prompt) => prompt[language]);
    expect(texts.map((text, index) => text.includes(known[index] ?? "?"))).toEqual(known.map(() => true));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG).each(
    sampleCases([
      ["en", "Model: ", "Offline model", "Choose a language model above"],
      ["zh", "模型：", "离线模型", "可在上方选择语言模型"],
    ] as const),
  )("runs with another chosen model: %s", async (language, label, offline, hint) => {
    const { page, context, complaints } = await openPage(fixture, { language, theme: "dark" });
    await page.getByRole("button", { name: `${label}${offline}` }).click();
    await page.getByText(hint).waitFor();
    expect(await page.getByText("OPENAI_API_KEY").count()).toBe(0);
    await page.getByRole("menuitemradio", { name: "openai/gpt-test" }).click();
    await sendMessage(page, "Who are you?", language);
    await waitForEnd(page, language);
    await findAnswer(page, language).getByText("Of another model.").waitFor();
    const calls = (await readEvents(fixture, readSessionId(page))).filter(({ type }) => type === "llm_start");
    expect(calls).toMatchObject([{ model: "openai/gpt-test" }]);
    // A language model can reason; the offline model has no such setting.
    const [reasoning, auto, high] = language === "en" ? ["Reasoning: ", "Auto", "High"] : ["推理：", "自动", "高"];
    await page.getByRole("button", { name: `${reasoning}${auto}` }).click();
    await page.getByRole("menuitemradio", { name: high, exact: true }).click();
    await page.getByRole("button", { name: `${reasoning}${high}` }).waitFor();
    await sendMessage(page, "And now?", language);
    await page.getByText("Of another model.").nth(1).waitFor();
    const starts = (await readEvents(fixture, readSessionId(page))).filter(({ type }) => type === "run_start");
    expect(starts.map((start) => (start as { readonly reasoning?: string }).reasoning)).toEqual([undefined, "high"]);
    expect(other.requests.at(-1)).toMatchObject({ reasoning: "high" });
    // The choice is kept, and the model has no note.
    await page.getByRole("button", { name: `${label}openai/gpt-test` }).click();
    await page.getByRole("menuitemradio", { name: offline, checked: false }).waitFor();
    expect(await page.getByText(hint).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG).each(
    sampleCases([
      ["en", "Agent: ReAct", "Tree of thoughts", "Search settings", "Search", "Beam", "Close"],
      ["zh", "智能体：ReAct", "思维树", "搜索设置", "搜索方式", "束宽", "关闭"],
    ] as const),
  )(
    "searches with the chosen settings, within their caps: %s",
    async (...[language, agent, tot, button, search, beam, close]) => {
      const { page, context, complaints } = await openPage(fixture, { language });
      await page.getByRole("button", { name: agent }).waitFor();
      expect(await page.getByRole("button", { name: button }).count()).toBe(0);
      await page.getByRole("button", { name: agent }).click();
      await page.getByRole("menuitemradio", { name: tot }).click();
      await page.getByRole("button", { name: button }).click();
      await page.getByLabel(search, { exact: true }).selectOption("breadth");
      const field = page.getByLabel(beam, { exact: true });
      await field.fill("2");
      // Not applied: it is above the cap.
      await field.fill("99");
      expect(await field.getAttribute("aria-invalid")).toBe("true");
      await page.getByRole("button", { name: close }).click();
      await page.getByRole("button", { name: button }).getByText("2", { exact: true }).waitFor();
      await sendMessage(page, "Game of 24: 1 5 5 5", language);
      await waitForEnd(page, language);
      const [start] = await readEvents(fixture, readSessionId(page));
      expect(start).toMatchObject({ type: "run_start", strategy: { search: "breadth", beam: 2 } });
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  it("shows thinking, tools and a to-do list while they stream, and draws a chart with its data", async () => {
    const { page, context, complaints } = await openPage(fixture, {
      theme: "dark",
      // The run starts some frames after the message was sent.
      prepare: (opened) =>
        opened.routeWebSocket(/./, (socket) => {
          const server = socket.connectToServer();
          socket.onMessage((message) => void delay(300).then(() => server.send(message)));
        }),
    });
    model.pauseAt("reasoning-delta", 6);
    await page.evaluate(recordBubbles);
    await page.getByRole("button", { name: "Plan a launch" }).click();
    await page.getByText("Sending…").waitFor();
    const answer = findAnswer(page);
    const stageLine = findRun(page).getByRole("status");

    // Collapsed, with its latest text in one line.
    const thinking = answer.getByRole("button", { name: "Thinking…" });
    await thinking.waitFor();
    expect(await thinking.getAttribute("aria-expanded")).toBe("false");
    await thinking.getByText("To do: a to-do list").waitFor();
    await stageLine.getByText("Thinking", { exact: true }).waitFor();
    // The message never moved, and a sign of progress was there from its first frame.
    expect(await page.evaluate(() => (globalThis as Recording).bubbles)).toEqual([expect.stringMatching(/ busy$/)]);
    const status = page.getByRole("button", { name: "Running", exact: true });
    await status.waitFor();
    // One progress indicator: the stage line.
    expect(await page.locator(".loom-spinner").count()).toBe(1);

    model.pauseAt("tool-input-delta", 6);
    const todoTool = answer.getByRole("group", { name: "Write todo list" });
    await todoTool.getByText("Writing arguments").waitFor();
    await todoTool.getByText("Product launch").waitFor();
    await stageLine.getByText("Preparing: Write todo list").waitFor();

    model.pauseAt("text-delta", 10);
    await answer.getByText("Offline model: Here is the list “Product launch”").waitFor();
    await stageLine.getByText("Answering").waitFor();
    const text = answer.locator(".loom-part-text");
    expect(await text.getByText("8+20+12 = 40").count()).toBe(0);

    model.resume();
    await waitForEnd(page);
    await text.getByText("8+20+12 = 40").waitFor();
    await stageLine.waitFor({ state: "detached" });
    await status.waitFor({ state: "detached" });
    await findRun(page)
      .getByText(/^\d{3} tokens \(\d{3} in, \d{3} out\)$/)
      .waitFor();
    await findRun(page)
      .getByText(/^(?:\d+\.\d|under 0\.1) s$/)
      .last()
      .waitFor();

    const thought = answer.getByRole("button", { name: /^Thought for .*\d s$/ }).first();
    expect(await thought.getAttribute("aria-expanded")).toBe("false");
    await thought.click();
    await answer.getByRole("group", { name: "Thoughts" }).getByText("8+20+12 (calculator)").waitFor();

    await answer.getByRole("group", { name: /^Made a to-do list \(\d items\): Product launch$/ }).waitFor();
    const calculator = answer.getByRole("group", { name: "Calculated 8+20+12: 40" });
    await calculator.getByRole("button", { name: /Done .*\d s$/ }).click();
    await calculator.getByText("40", { exact: true }).waitFor();

    const chart = page.getByRole("figure", { name: "budget" });
    const drawing = chart.getByRole("img", { name: "budget. Bar chart. 3 points. value: 8 to 20" });
    await drawing.getByText("marketing").waitFor();
    const bars = await drawing
      .locator("svg [data-said]")
      .evaluateAll((marks) =>
        marks.map((mark) => [mark.getAttribute("data-said"), mark.getBoundingClientRect().height]),
      );
    expect(bars.map(([said]) => said)).toEqual(["design; value: 8", "build; value: 20", "marketing; value: 12"]);
    const unit = Number(bars[1]?.[1]) / 20;
    expect(bars.map(([, height]) => Math.round(Number(height) / unit))).toEqual([8, 20, 12]);

    await chart.getByRole("button", { name: "Show data" }).click();
    const rows = chart.getByRole("table").getByRole("row");
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringContaining("value"),
      "design\t8",
      "build\t20",
      "marketing\t12",
    ]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps a to-do list in sync across tabs and the server", async () => {
    const first = await openPage(fixture, { language: "zh", theme: "dark", ...PHONE });
    await first.page.getByRole("button", { name: "策划产品发布" }).click();
    await waitForEnd(first.page, "zh");
    const session = readSessionId(first.page);
    const second = await openPage(fixture, { path: `#/s/${session}` });
    await waitForEnd(second.page);

    const [here, there] = [first.page, second.page].map((page) => page.getByRole("group", { name: "产品发布" }));
    await here!.getByRole("checkbox", { name: "确定范围" }).check();
    await there!.getByRole("checkbox", { name: "确定范围", checked: true }).waitFor();
    await there!.getByText("1 of 6").waitFor();
    await there!.getByRole("checkbox", { name: "检查结果" }).check();
    await here!.getByRole("checkbox", { name: "检查结果", checked: true }).waitFor();
    await there!.getByRole("checkbox", { name: "确定范围" }).uncheck();
    await here!.getByRole("checkbox", { name: "确定范围", checked: false }).waitFor();
    await here!.getByText("1 / 6").waitFor();

    await first.page.reload();
    await here!.getByRole("checkbox", { name: "检查结果", checked: true }).waitFor();
    const changes = (await readEvents(fixture, session)).filter(({ type }) => type === "todo_update");
    expect(changes.map((event) => ("completed" in event ? event.completed : undefined))).toEqual([true, true, false]);
    for (const { complaints, context } of [first, second]) {
      expect(complaints).toEqual([]);
      await context.close();
    }
  });

  it("loads images through the server", async () => {
    const writer = await new LogWriter(fixture.log, "pictures").open();
    writer.begin("run-1", { message: "Pictures" });
    writer.put(
      { type: "image", url: "https://example.com/a b.png", alt: "A hill" },
      { type: "data", data_type: "image", data: { url: "https://example.com/sales-q3.png", alt: "Sales" } },
    );
    writer.end();
    await writer.flush();
    const asked: string[] = [];
    const { page, context, complaints } = await openPage(fixture, {
      path: "#/s/pictures",
      // Replaces the image proxy, which would fetch them.
      prepare: (opened) =>
        opened.route(/\/v1\/images/, (route) => {
          asked.push(route.request().url().slice(fixture.url.length));
          return route.fulfill({ contentType: "image/png", body: PIXEL });
        }),
    });
    for (const name of ["A hill", "Sales"]) {
      const image = findAnswer(page).getByRole("button", { name: `View image: ${name}` });
      const measure = (): Promise<number> =>
        image.locator("img").evaluate((one) => (one as HTMLImageElement).naturalWidth);
      await expect.poll(measure, { timeout: 10_000 }).toBe(1);
    }
    expect(asked.toSorted()).toEqual([
      "/v1/images?url=https%3A%2F%2Fexample.com%2Fa%2520b.png",
      "/v1/images?url=https%3A%2F%2Fexample.com%2Fsales-q3.png",
    ]);
    await page.getByRole("button", { name: "View image: Sales" }).click();
    await page.getByRole("dialog", { name: "Sales" }).locator("img").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
