// The run inspector: timeline, frames, tokens and replay.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DIALECT_NAMES } from "../../src/dialects/index.ts";
import { detectDecoder } from "../../src/dialects/decoders.ts";
import { hasChromium } from "../browser/launch.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { SUGGESTED_PROMPTS } from "../agents/suggested-prompts.ts";
import { findAnswer, openPage, PHONE, readSessionId, sendMessage, waitForEnd, showFrames } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";

describe.skipIf(!hasChromium)("the inspector on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
  });
  afterAll(() => fixture.close());

  it.runIf(LONG)("shows times, frames, tokens and any position of a run, and links to the conversation", async () => {
    const { page, context, complaints } = await openPage(fixture, { width: 1440, height: 900 });
    await sendMessage(page, SUGGESTED_PROMPTS.plan.en);
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    const show = (name: string): Promise<void> => inspector.getByRole("tab", { name }).click();
    for (const name of ["calculator", "show_chart"])
      await inspector.getByRole("option", { name: new RegExp(`Tool ${name} , done, started at`) }).waitFor();

    // The exact prompt and the response of a model call, and its cost.
    await inspector
      .getByRole("option", { name: /^Model offline , done/ })
      .first()
      .click();
    await inspector.getByRole("button", { name: "Prompt and response" }).click();
    await inspector.getByRole("tab", { name: "Models", selected: true }).waitFor();
    await inspector.locator("pre", { hasText: SUGGESTED_PROMPTS.plan.en }).waitFor();
    await inspector.getByText("tool-call · calculator").waitFor();
    await inspector.getByRole("button", { name: "Parameters" }).click();
    await inspector.getByRole("region", { name: "Parameters" }).getByText('"offline"').first().waitFor();
    expect(await inspector.getByText("No price").count()).toBeGreaterThan(1);
    await inspector.getByRole("button", { name: "Prices" }).click();
    for (const kind of ["Input", "Cached input", "Output"])
      await inspector.getByRole("textbox", { name: `${kind} price of offline/offline`, exact: true }).fill("2,5");
    await page.keyboard.press("Enter");
    await inspector
      .getByRole("cell", { name: /^\$0\.0\d+$/ })
      .first()
      .waitFor();
    expect(await inspector.getByText("No price").count()).toBe(0);

    await inspector
      .getByText(/^\d{3}$/)
      .first()
      .waitFor();

    // From the conversation to the frame, and back.
    const calculator = findAnswer(page)
      .locator("[data-part]")
      .filter({ has: page.getByRole("group", { name: "Calculated 8+20+12: 40" }) });
    await showFrames(calculator);
    const frame = inspector.getByRole("region", { name: "Frames" });
    await frame.getByText("calculator").first().waitFor();
    await inspector.getByRole("tab", { name: "Frames", selected: true }).waitFor();
    await frame.getByRole("button", { name: "Filter by element" }).click();
    await inspector.getByText(/^\d+ of \d+ frames$/).waitFor();
    await frame.getByRole("button", { name: "Show in conversation" }).click();
    await expect.poll(() => calculator.getAttribute("data-marked")).toBe("");
    await inspector.getByRole("button", { name: "Clear filters" }).click();

    const listed = inspector.getByRole("listbox", { name: "Frames" });
    const dialects = inspector.getByRole("combobox", { name: "Dialect" });
    expect((await dialects.getByRole("option").allInnerTexts()).toSorted()).toEqual(DIALECT_NAMES.toSorted());
    for (const name of sampleCases(DIALECT_NAMES, { perKind: 3 })) {
      await dialects.selectOption(name);
      await inspector.getByRole("button", { name: `Download NDJSON (${name})`, disabled: false }).waitFor();
      await expect.poll(async () => detectDecoder([await frame.locator("pre").innerText()])).toBe(name);
      // The size is shown in the list and in the detail.
      const chosen = await listed.getByRole("option", { selected: true }).innerText();
      expect(await frame.locator("header").innerText()).toContain(/[\d.]+ k?B$/.exec(chosen)?.[0]);
    }
    await dialects.selectOption("loom");

    // The run at that frame. At the start it is empty.
    await show("Replay");
    const replay = inspector.getByRole("region", { name: "Replay" });
    await replay.getByRole("group", { name: /^Calculat/ }).waitFor();
    expect(await replay.locator(".loom-part-text").getByText("8+20+12 = 40").count()).toBe(0);
    const slider = inspector.getByRole("slider", { name: "Position in run" });
    const count = Number(await slider.getAttribute("max"));
    await slider.fill("0");
    await replay.getByText("Before first frame").waitFor();
    await inspector.getByRole("button", { name: "Next frame" }).click();
    await replay.getByRole("group", { name: "You", exact: true }).waitFor();
    await inspector.getByRole("button", { name: "Latest frame" }).click();
    await replay.getByText("8+20+12 = 40").waitFor();
    await findAnswer(page).getByText("8+20+12 = 40").waitFor();

    const download = page.waitForEvent("download");
    await inspector.getByRole("button", { name: "Download NDJSON (loom)" }).click();
    const file = readFileSync(await (await download).path(), "utf8");
    const frames = file
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string });
    expect(frames).toHaveLength(count);
    expect(frames[0]).toMatchObject({ type: "run_start" });

    await inspector.getByRole("button", { name: "Close inspector" }).click();
    await inspector.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("finds frames, links to them, and forks from a checkpoint", async () => {
    const { page, context, complaints, copies } = await openPage(fixture, { width: 1440, height: 900 });
    await sendMessage(page, "What is 12*12?");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    await inspector.getByRole("tab", { name: "Frames" }).click();
    const listed = inspector.getByRole("listbox", { name: "Frames" });
    const frame = inspector.getByRole("region", { name: "Frames" });

    // Search: from match to match, and a link to the frame.
    const search = inspector.getByRole("searchbox", { name: "Search frames" });
    await search.fill("calculator");
    await inspector.getByText(/^\d+ of \d+ frames$/).waitFor();
    const selected = listed.getByRole("option", { selected: true });
    await search.press("Enter");
    const firstMatch = await selected.innerText();
    await inspector.getByRole("button", { name: "Next match" }).click();
    await expect.poll(() => selected.innerText()).not.toBe(firstMatch);
    await search.press("Shift+Enter");
    await expect.poll(() => selected.innerText()).toBe(firstMatch);
    await frame.getByRole("button", { name: "Copy link to frame" }).click();
    await inspector.getByRole("button", { name: "Copy as curl" }).click();
    await expect.poll(() => copies.length).toBe(2);
    const [link = "", curl = ""] = copies;
    expect(curl).toMatch(/^curl --no-buffer 'http.*\/events\?run=.*\$LOOM_TOKEN"$/s);
    await inspector.getByRole("button", { name: "Clear filters" }).click();
    const shown = await frame.innerText();
    const linked = await openPage(fixture, { width: 1440, height: 900, path: new URL(link).hash });
    const linkedFrame = linked.page
      .getByRole("region", { name: "Run inspector" })
      .getByRole("region", { name: "Frames" });
    await expect.poll(() => linkedFrame.innerText()).toBe(shown);
    expect(new URL(linked.page.url()).hash).toBe(new URL(page.url()).hash);
    await linked.context.close();

    // A fork from a checkpoint, with an edited state.
    await inspector.getByRole("tab", { name: "State" }).click();
    await inspector.getByRole("button", { name: "Edit and fork from step 0" }).click();
    const state = inspector.getByRole("textbox", { name: "State at the checkpoint (JSON)" });
    const before = readSessionId(page);
    const text = await state.inputValue();
    await state.fill(`${text},`);
    await inspector.getByRole("button", { name: "Fork and run" }).click();
    await inspector
      .getByRole("alert")
      .getByText(/^Not valid JSON: /)
      .waitFor();
    await state.fill(text.replace("12*12", "6*7"));
    await inspector.getByRole("button", { name: "Fork and run" }).click();
    await inspector.waitFor({ state: "detached" });
    await expect.poll(() => readSessionId(page)).not.toBe(before);
    await findAnswer(page).getByText("6*7 = 42").waitFor();
    await waitForEnd(page);
    expect([...complaints, ...linked.complaints]).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("covers the conversation on a phone", async () => {
    const response = await fetch(`${fixture.url}/v1/sessions/small/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/x-ndjson" },
      body: JSON.stringify({ message: "What is 6*7?" }),
    });
    await response.text();
    const { page, context, complaints } = await openPage(fixture, {
      language: "zh",
      theme: "dark",
      ...PHONE,
      path: "#/s/small",
    });
    await waitForEnd(page, "zh");
    await page.getByRole("button", { name: "检查器" }).click();
    const inspector = page.getByRole("region", { name: "运行检查器" });
    await inspector
      .getByRole("option", { name: /^模型 offline , / })
      .first()
      .waitFor();
    // Nothing overflows the edge.
    const { x: left = 0, width = 0 } = (await inspector.boundingBox()) ?? {};
    const ticks = inspector.locator(".page-inspector-timeline-tick");
    const ends = await ticks.evaluateAll((all) => all.map((tick) => tick.getBoundingClientRect().right));
    expect(ends.length).toBeGreaterThan(1);
    expect(Math.max(...ends)).toBeLessThanOrEqual(left + width);
    await inspector.getByRole("tab", { name: "模型" }).click();
    const table = inspector.getByRole("region", { name: "模型" });
    // A long model name must fit.
    await table.getByRole("button", { name: "1 · offline", exact: true }).evaluate((name) => {
      name.textContent = "1 · anthropic/claude-sonnet-4-20250514";
    });
    expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    await inspector.getByRole("tab", { name: "时间线" }).click();
    await inspector.getByRole("option", { name: /^工具 calculator/ }).click();
    await inspector.getByRole("tab", { name: "数据帧" }).click();
    const frame = inspector.getByRole("region", { name: "数据帧" });
    await frame.getByText("calculator").first().waitFor();
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
    await frame.getByRole("button", { name: "在对话中显示" }).click();
    await inspector.waitFor({ state: "detached" });
    await context.close();
    expect(complaints).toEqual([]);
  });
});
