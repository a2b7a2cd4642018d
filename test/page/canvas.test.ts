// The canvas of trees and graphs: full screen, zoom and pan, search, minimap, keyboard; and the box while a search runs.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findFaults } from "./find-faults.ts";
import { openPage, PHONE, sendMessage, waitForEnd } from "./journey.ts";
import { writeLargeTree } from "./large-tree.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";
import { PausableModel } from "./pausable-model.ts";
import { LONG, sampleCases } from "../sampling.ts";

/** What the reader saw in each frame of a run. */
interface Watched {
  readonly samples: number;
  /** Samples in which two cards overlap. */
  readonly overlaps: readonly string[];
  readonly heights: readonly number[];
}

/** Compares the cards of the drawing in each animation frame. */
async function watchCards(page: Page): Promise<() => Promise<Watched>> {
  await page.evaluate(() => {
    const seen = { samples: 0, overlaps: [] as string[], heights: [] as number[] };
    Object.assign(globalThis, { seen });
    const sample = (): void => {
      requestAnimationFrame(sample);
      const box = document.querySelector(".loom-drawing-box");
      if (box === null) return;
      const cards = [...box.querySelectorAll("[data-box]")].map((card) => ({ card, at: card.getBoundingClientRect() }));
      if (cards.length < 2) return;
      seen.samples++;
      const height = Math.round(box.getBoundingClientRect().height);
      if (seen.heights.at(-1) !== height) seen.heights.push(height);
      for (const [index, { card, at: a }] of cards.entries())
        for (const { card: other, at: b } of cards.slice(index + 1))
          if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) {
            seen.overlaps.push(`${seen.samples}: ${card.textContent} / ${other.textContent}`);
            return;
          }
    };
    requestAnimationFrame(sample);
  });
  return () => page.evaluate(() => (globalThis as unknown as { readonly seen: Watched }).seen);
}

interface Shown {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
}

/** Reads the camera when it has stopped. */
async function readCamera(canvas: Locator): Promise<Shown> {
  const read = (): Promise<Shown> =>
    canvas.locator(".loom-drawing-sheet").evaluate((sheet) => {
      const { a, e, f } = new DOMMatrix(getComputedStyle(sheet).transform);
      return { zoom: Math.round(a * 1000) / 1000, x: Math.round(e), y: Math.round(f) };
    });
  await canvas.page().waitForFunction(() => document.getAnimations().every(({ playState }) => playState !== "running"));
  return read();
}

/** Whether a box is in the part of the drawing that is shown. */
async function isInView(canvas: Locator, box: Locator): Promise<boolean> {
  await readCamera(canvas);
  const stage = await canvas.locator(".loom-canvas-stage, .loom-drawing-box").boundingBox();
  const at = await box.boundingBox();
  if (stage === null || at === null) return false;
  return (
    at.x >= stage.x - 1 &&
    at.y >= stage.y - 1 &&
    at.x + at.width <= stage.x + stage.width + 1 &&
    at.y + at.height <= stage.y + stage.height + 1
  );
}

describe.skipIf(!hasChromium)("thoughts on a canvas (skipped without Chromium)", () => {
  const model = new PausableModel({ delayMs: 4 });
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model });
    await writeLargeTree(fixture.log, "large");
  });
  afterAll(() => fixture.close());

  it.runIf(LONG).each([
    ["tot", "Game of 24: 4 9 10 13", /^Tree of thoughts/],
    ["agot", "Write a report on electric cars", /^Adaptive graph/],
  ])("keeps the cards of %s apart and the box at one height while it runs", async (_, message, agent) => {
    const { page, context, complaints } = await openPage(fixture, { reducedMotion: false });
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    await page.getByRole("menuitemradio", { name: agent }).click();
    const finish = await watchCards(page);
    await sendMessage(page, message);
    await waitForEnd(page);
    const { samples, overlaps, heights } = await finish();
    expect(samples).toBeGreaterThan(10);
    expect(overlaps).toEqual([]);
    expect(heights).toHaveLength(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("opens a running search, follows it, and leaves a picture when it ends", async () => {
    const { page, context, complaints } = await openPage(fixture, { theme: "dark", width: 1440, height: 900 });
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    await page.getByRole("menuitemradio", { name: /^Tree of thoughts/ }).click();
    model.pauseAt("stream-start", 12);
    await sendMessage(page, "Game of 24: 4 9 10 13");
    const region = page.getByRole("region", { name: "Tree of thoughts" });
    await region.getByRole("treeitem").first().waitFor();
    await region.getByRole("button", { name: "Open canvas" }).click();
    const canvas = page.getByRole("dialog", { name: "Tree of thoughts" });
    const items = canvas.getByRole("tree", { name: "Tree of thoughts" }).getByRole("treeitem");
    await items.first().waitFor();
    expect(await canvas.boundingBox()).toEqual({ x: 0, y: 0, width: 1440, height: 900 });
    // The user looks elsewhere and comes back.
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, -300);
    const follow = canvas.getByRole("button", { name: "Follow latest" });
    await follow.click();
    await follow.waitFor({ state: "detached" });
    model.resume();
    await expect.poll(() => items.count(), { timeout: 15_000 }).toBe(102);
    await canvas.getByText("102 thoughts · depth 3").waitFor();
    await canvas.getByRole("button", { name: "Close" }).click();
    await canvas.waitFor({ state: "detached" });
    await waitForEnd(page);
    const picture = region.getByRole("button", { name: "Open canvas" });
    await expect.poll(() => picture.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await region.getByRole("tree").count()).toBe(0);
    const size = await picture.boundingBox();
    expect(size?.height).toBeGreaterThan(40);
    expect(size?.height).toBeLessThan(130);
    await picture.press("Enter");
    await items.first().waitFor();
    expect(await items.count()).toBe(102);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("zooms and pans with wheel, mouse and keys, opens thoughts and closes with Escape", async () => {
    const { page, context, complaints } = await openPage(fixture, { width: 1440, height: 900, path: "#/s/large" });
    const picture = page.getByRole("button", { name: "Open canvas" });
    await picture.press("Enter");
    const canvas = page.getByRole("dialog", { name: "Tree of thoughts" });
    const items = canvas.getByRole("treeitem");
    await items.first().waitFor();
    expect(await items.count()).toBe(275);
    const chosen = items.filter({ hasText: "Idea 5.6.1:" });
    await expect.poll(() => chosen.evaluate((one) => one === document.activeElement)).toBe(true);
    const home = await readCamera(canvas);
    expect(home.zoom).toBe(0.75);
    expect(await isInView(canvas, chosen)).toBe(true);

    // The point below the pointer stays where it is.
    const before = await chosen.boundingBox();
    const at = { x: (before?.x ?? 0) + 10, y: (before?.y ?? 0) + 10 };
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, -200);
    await expect.poll(async () => (await readCamera(canvas)).zoom).toBeGreaterThan(0.9);
    const { zoom } = await readCamera(canvas);
    const after = await chosen.boundingBox();
    expect(Math.abs(at.x - (after?.x ?? 0) - (10 * zoom) / 0.75)).toBeLessThan(1.5);
    // Dragging from a box pans and does not select it.
    const start = await readCamera(canvas);
    await page.mouse.down();
    await page.mouse.move(at.x - 60, at.y - 40, { steps: 4 });
    await page.mouse.up();
    expect(await readCamera(canvas)).toEqual({ ...start, x: start.x - 60, y: start.y - 40 });
    expect(await canvas.locator('[aria-selected="true"]').count()).toBe(0);

    for (const [key, change] of [
      ["+", (camera: Shown) => camera.zoom * 1.25],
      ["-", (camera: Shown) => camera.zoom / 1.25],
    ] as const) {
      const last = await readCamera(canvas);
      await page.keyboard.press(key);
      expect((await readCamera(canvas)).zoom).toBeCloseTo(change(last), 2);
    }
    await page.keyboard.press("0");
    const fitted = await readCamera(canvas);
    expect(await isInView(canvas, items.first())).toBe(true);
    expect(await isInView(canvas, items.last())).toBe(true);
    await page.keyboard.press("Shift+ArrowDown");
    expect(await readCamera(canvas)).toEqual({ ...fitted, y: fitted.y - 80 });
    await page.keyboard.press("f");
    expect(await readCamera(canvas)).toEqual(fitted);

    // The focus moves from thought to thought, and the view with it.
    for (const key of ["+", "+", "+", "+", "+", "+", "+", "+", "+", "Home", "ArrowRight", "ArrowDown"])
      await page.keyboard.press(key);
    const focused = canvas.locator("[data-box]:focus");
    await expect.poll(() => focused.innerText()).toContain("Idea 1.4:");
    expect(await isInView(canvas, focused)).toBe(true);
    await page.keyboard.press("Enter");
    const detail = canvas.getByRole("region", { name: "Thought details" });
    await expect.poll(() => detail.evaluate((one) => one === document.activeElement)).toBe(true);
    await detail.getByText("Idea 1.4: a bridge over the river, wide enough for trams and trees").waitFor();
    expect(await isInView(canvas, items.filter({ hasText: "Idea 1.4:" }))).toBe(true);
    await page.keyboard.press("Escape");
    await detail.waitFor({ state: "detached" });
    await expect.poll(() => focused.innerText()).toContain("Idea 1.4:");
    // A branch folds below its thought, which stays in place.
    const fixed = await focused.boundingBox();
    await page.keyboard.press("Space");
    await canvas.getByText("8 hidden below").waitFor({ state: "attached" });
    const folded = await focused.boundingBox();
    expect(Math.abs((folded?.y ?? 0) - (fixed?.y ?? 0))).toBeLessThan(1.5);
    await page.keyboard.press("Escape");
    await canvas.waitFor({ state: "detached" });
    expect(await picture.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG).each(
    sampleCases([
      { language: "en", theme: "light" },
      { language: "zh", theme: "dark" },
    ] as const),
  )("finds thoughts and has an outline and a map ($language)", async (options) => {
    const { page, context, complaints } = await openPage(fixture, { ...options, path: "#/s/large" });
    const words =
      options.language === "en"
        ? { open: "Open canvas", search: "Search thoughts", next: "Next match", outline: "Outline", tree: "Tree" }
        : { open: "打开画布", search: "搜索想法", next: "下一个匹配", outline: "大纲", tree: "树状图" };
    await page.getByRole("button", { name: words.open }).click();
    const canvas = page.getByRole("dialog");
    await canvas.getByRole("treeitem").first().waitFor();
    expect(await findFaults(page, "dialog")).toEqual([]);
    await page.keyboard.press("f");
    await page.keyboard.press("/");
    const field = canvas.getByRole("searchbox", { name: words.search });
    await field.pressSequentially("3.2: trams");
    const matches = canvas.getByRole("status");
    const selected = canvas.locator('[aria-selected="true"]');
    const expectMatch = async (at: number, text: string): Promise<void> => {
      expect(await matches.innerText()).toBe(options.language === "en" ? `${at} of 6` : `${at}/6`);
      expect(await selected.innerText()).toContain(text);
      expect(await isInView(canvas, selected)).toBe(true);
    };
    // Large enough to be read.
    await expectMatch(1, "Idea 1.3.2:");
    expect((await readCamera(canvas)).zoom).toBeCloseTo(0.75, 2);
    await page.keyboard.press("Enter");
    await expectMatch(2, "Idea 2.3.2:");
    await canvas.getByRole("button", { name: words.next }).click();
    await expectMatch(3, "Idea 3.2:");
    await field.press("Shift+Enter");
    await field.press("Shift+Enter");
    await field.press("Shift+Enter");
    await expectMatch(6, "Idea 5.3.2:");

    // The map moves the view.
    const map = canvas.locator(".loom-canvas-map > div");
    await map.click({ position: { x: 30, y: 2 } });
    expect(await isInView(canvas, canvas.getByRole("treeitem").filter({ hasText: "Idea 1.1.1:" }))).toBe(true);

    const toOutline = canvas.getByRole("button", { name: words.outline, exact: true });
    await toOutline.click();
    expect(await toOutline.getAttribute("aria-pressed")).toBe("true");
    await field.press("Enter");
    await expectMatch(1, "Idea 1.3.2:");
    const lefts = await canvas
      .getByRole("treeitem")
      .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect()).map(({ left, width }) => [left, width]));
    expect(new Set(lefts.map(([left]) => left)).size).toBe(3);
    expect(Math.min(...lefts.map(([, width = 0]) => width))).toBeGreaterThan(600);
    expect(await findFaults(page, "dialog")).toEqual([]);
    await field.fill("no such thought");
    await canvas.getByText(options.language === "en" ? "No matches" : "无匹配").waitFor();
    // Escape clears the field, then closes the details and the canvas.
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Escape");
    await canvas.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("opens as an outline on a phone, and is pinched and dragged as a tree", async () => {
    const { page, context, complaints } = await openPage(fixture, { ...PHONE, hasTouch: true, path: "#/s/large" });
    await page.getByRole("button", { name: "Open canvas" }).tap();
    const canvas = page.getByRole("dialog", { name: "Tree of thoughts" });
    expect(await canvas.boundingBox()).toEqual({ x: 0, y: 0, ...PHONE });
    await canvas.getByRole("button", { name: "Outline", pressed: true }).waitFor();
    await canvas.getByRole("button", { name: "Tree", exact: true }).tap();
    await canvas.locator(".loom-canvas-map").waitFor();
    const client = await context.newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: { x: number; y: number }[]) =>
      client.send("Input.dispatchTouchEvent", { type, touchPoints });
    const before = await readCamera(canvas);
    await touch("touchStart", { x: 200, y: 300 });
    await touch("touchMove", { x: 190, y: 280 });
    await touch("touchMove", { x: 150, y: 200 });
    await touch("touchEnd");
    expect(await readCamera(canvas)).toEqual({ ...before, x: before.x - 50, y: before.y - 100 });
    await touch("touchStart", { x: 150, y: 300 }, { x: 250, y: 300 });
    await touch("touchMove", { x: 125, y: 300 }, { x: 275, y: 300 });
    await touch("touchMove", { x: 100, y: 300 }, { x: 300, y: 300 });
    await touch("touchEnd");
    expect((await readCamera(canvas)).zoom).toBeCloseTo(before.zoom * 2, 1);
    await canvas.getByRole("treeitem").first().waitFor();
    expect(await findFaults(page, "dialog")).toEqual([]);
    // The details are below the drawing.
    await canvas.getByRole("searchbox").fill("2.2.2");
    const detail = canvas.getByRole("region", { name: "Thought details" });
    await detail.getByText("Idea 2.2.2:").first().waitFor();
    expect(await isInView(canvas, canvas.locator('[aria-selected="true"]'))).toBe(true);
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("opens a graph, and moves without animations if the user wants less motion", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh" });
    await page.getByRole("button", { name: "拆分与汇总" }).click();
    await waitForEnd(page, "zh");
    // Without a connection, the canvas cannot be loaded, and the conversation stays.
    const chunk = "**/thought-canvas-*.js";
    await page.route(chunk, (route) => route.abort());
    await page.getByRole("button", { name: "打开画布" }).click();
    await page.getByRole("alert").getByText("无法加载画布，请重新加载页面。").waitFor();
    complaints.splice(0);
    await page.unroute(chunk);
    await page.reload();
    await page.getByRole("button", { name: "打开画布" }).click();
    const canvas = page.getByRole("dialog", { name: "思维图" });
    const steps = canvas.getByRole("listbox", { name: "思维图" }).getByRole("option");
    await steps.first().waitFor();
    expect(await steps.count()).toBe(5);
    expect(await canvas.locator(".loom-canvas-map").count()).toBe(0);
    // The outline names each step after its dependencies, and has the whole graph below each other.
    await canvas.getByRole("button", { name: "大纲", exact: true }).click();
    const rows = await steps.evaluateAll((all) =>
      all.map((row) => {
        const { left, top, bottom } = row.getBoundingClientRect();
        const name = row.querySelector(".loom-step-name")?.textContent ?? "";
        const needs = row.querySelector(".loom-step-needs")?.lastChild?.textContent ?? "";
        return {
          left,
          top,
          bottom,
          name,
          needs: needs
            .replace("依赖：", "")
            .split("，")
            .filter((one) => one !== ""),
        };
      }),
    );
    expect(rows.filter(({ needs }) => needs.length > 0).length).toBeGreaterThan(1);
    for (const [at, { left, top, needs }] of rows.entries()) {
      const above = rows[at - 1];
      if (above !== undefined) expect([left, top > above.bottom]).toEqual([above.left, true]);
      expect(rows.slice(0, at).map(({ name }) => name)).toEqual(expect.arrayContaining(needs));
    }
    await steps.first().focus();
    for (let presses = 1; presses < rows.length; presses++) await page.keyboard.press("ArrowDown");
    expect(await steps.last().evaluate((row) => row === document.activeElement)).toBe(true);
    expect(await findFaults(page, "dialog")).toEqual([]);
    await canvas.getByRole("button", { name: "关系图", exact: true }).click();
    await canvas.getByRole("searchbox", { name: "搜索步骤" }).fill("猫");
    await canvas.getByRole("region", { name: "步骤详情" }).getByText("猫").first().waitFor();
    const durations = await canvas
      .locator(".loom-drawing-sheet, .loom-step")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).transitionDuration));
    expect(new Set(durations)).toEqual(new Set(["0s"]));
    expect(await findFaults(page, "dialog")).toEqual([]);
    // The frames are beside the conversation.
    await canvas.getByRole("button", { name: "查看数据帧" }).click();
    await canvas.waitFor({ state: "detached" });
    await page.getByRole("region", { name: "运行检查器" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
