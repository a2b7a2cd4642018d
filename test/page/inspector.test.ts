// A run looked into: when everything happened, the frames it was made of, what it used, and how it stood at any of them.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { detectDecoder, DIALECT_NAMES } from "../../src/dialects/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { SUGGESTED_PROMPTS } from "../agents/suggested-prompts.ts";
import { findAnswer, lookAt, PHONE, readSession, say, waitForEnd } from "./journey.ts";
import { type PageStage, setPageStage } from "./stage.ts";

describe.skipIf(!hasChromium)("the inspector on the page (skipped where there is no Chromium)", () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage();
  });
  afterAll(() => stage.close());

  it("shows times, frames, tokens and any moment of a run, and leads from them to the page", async () => {
    const { page, context, complaints } = await lookAt(stage, { width: 1440, height: 900 });
    await say(page, SUGGESTED_PROMPTS.plan.en);
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    const show = (name: string): Promise<void> => inspector.getByRole("tab", { name }).click();
    for (const name of ["calculator", "show_chart"])
      await inspector.getByRole("option", { name: new RegExp(`Tool ${name} , done, began at`) }).waitFor();

    await show("Tokens");
    await inspector.getByText("601").first().waitFor();

    // From the page to the frame, and back.
    const calculator = findAnswer(page)
      .locator("[data-part]")
      .filter({ has: page.getByRole("group", { name: "calculator" }) });
    await calculator.hover();
    await calculator.getByRole("button", { name: "Show its frames" }).click();
    const frame = inspector.getByRole("region", { name: "Frames" });
    await frame.getByText("calculator").first().waitFor();
    await inspector.getByRole("tab", { name: "Frames", selected: true }).waitFor();
    await frame.getByRole("button", { name: "Only frames of this" }).click();
    await inspector.getByText(/^\d+ of \d+ frames$/).waitFor();
    await frame.getByRole("button", { name: "Show on the page" }).click();
    await expect.poll(() => calculator.getAttribute("data-marked")).toBe("");
    await inspector.getByRole("button", { name: "Show all" }).click();

    const listed = inspector.getByRole("listbox", { name: "Frames" });
    const dialects = inspector.getByRole("combobox", { name: "Dialect" });
    expect((await dialects.getByRole("option").allInnerTexts()).toSorted()).toEqual(DIALECT_NAMES.toSorted());
    for (const name of DIALECT_NAMES) {
      await dialects.selectOption(name);
      await inspector.getByRole("button", { name: `Download as NDJSON (${name})`, disabled: false }).waitFor();
      await expect.poll(async () => detectDecoder([await frame.locator("pre").innerText()])).toBe(name);
      // Its size is told in the list and beside it.
      const chosen = await listed.getByRole("option", { selected: true }).innerText();
      expect(await frame.locator("header").innerText()).toContain(/[\d.]+ k?B$/.exec(chosen)?.[0]);
    }
    await dialects.selectOption("loom");

    // As it stood at that frame; at its beginning nothing of it is there.
    await show("Replay");
    const replay = inspector.getByRole("region", { name: "Replay" });
    await replay.getByRole("group", { name: "calculator" }).waitFor();
    expect(await replay.getByText("8+20+12 = 40").count()).toBe(0);
    const slider = inspector.getByRole("slider", { name: "Place in the run" });
    const count = Number(await slider.getAttribute("max"));
    await slider.fill("0");
    await replay.getByText("Before the first frame").waitFor();
    await inspector.getByRole("button", { name: "One frame on" }).click();
    await replay.getByRole("group", { name: "You said" }).waitFor();
    await inspector.getByRole("button", { name: "To the latest frame" }).click();
    await replay.getByText("8+20+12 = 40").waitFor();
    await findAnswer(page).getByText("8+20+12 = 40").waitFor();

    const download = page.waitForEvent("download");
    await inspector.getByRole("button", { name: "Download as NDJSON (loom)" }).click();
    const file = readFileSync(await (await download).path(), "utf8");
    const frames = file
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string });
    expect(frames).toHaveLength(count);
    expect(frames[0]).toMatchObject({ type: "run_start" });
    await inspector.getByRole("button", { name: "Close the inspector" }).click();
    await inspector.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("lies over the conversation on a telephone", async () => {
    const first = await lookAt(stage);
    await say(first.page, "What is 6*7?");
    await waitForEnd(first.page);
    const { page, context, complaints } = await lookAt(stage, {
      language: "zh",
      theme: "dark",
      ...PHONE,
      path: `#/s/${readSession(first.page)}`,
    });
    await waitForEnd(page, "zh");
    await page.getByRole("button", { name: "检查器" }).click();
    const inspector = page.getByRole("region", { name: "运行检查器" });
    await inspector
      .getByRole("option", { name: /^模型 offline , / })
      .first()
      .waitFor();
    // Nothing of it lies beyond the edge.
    const { x: left = 0, width = 0 } = (await inspector.boundingBox()) ?? {};
    const ticks = inspector.locator(".page-inspector-timeline-tick");
    const ends = await ticks.evaluateAll((all) => all.map((tick) => tick.getBoundingClientRect().right));
    expect(ends.length).toBeGreaterThan(1);
    expect(Math.max(...ends)).toBeLessThanOrEqual(left + width);
    await inspector.getByRole("tab", { name: "词元" }).click();
    const table = inspector.getByRole("region", { name: "词元" });
    // So may models be called whose names are longer.
    await table.getByRole("button", { name: "1 · offline", exact: true }).evaluate((name) => {
      name.textContent = "1 · anthropic/claude-sonnet-4-20250514";
    });
    expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    await inspector.getByRole("tab", { name: "时间线" }).click();
    await inspector.getByRole("option", { name: /^工具 calculator/ }).click();
    await inspector.getByRole("tab", { name: "帧" }).click();
    const frame = inspector.getByRole("region", { name: "帧" });
    await frame.getByText("calculator").first().waitFor();
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
    await frame.getByRole("button", { name: "在页面中显示" }).click();
    await inspector.waitFor({ state: "detached" });
    for (const look of [first.context, context]) await look.close();
    expect([...first.complaints, ...complaints]).toEqual([]);
  });
});
