// Trees and graphs of thoughts: growth, backtracking, step states and expansion.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { LONG } from "../sampling.ts";
import { PausableModel } from "./pausable-model.ts";
import { findAnswer, findRun, openPage, PHONE, sendMessage, showFrames, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";

describe.skipIf(!hasChromium)("thoughts on the page (skipped without Chromium)", () => {
  const model = new PausableModel();
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model });
  });
  afterAll(() => fixture.close());
  afterEach(() => model.resume());

  it("grows a tree, backtracks from dead ends and shows the reason", async () => {
    const { page, context, complaints } = await openPage(fixture, {
      theme: "dark",
      // The suggestion is clicked before the agents are loaded.
      prepare: (opened) =>
        opened.route("**/v1/agents", async (route) => {
          await delay(500);
          await route.continue();
        }),
    });
    model.pauseAt("stream-start", 25);
    await page.getByRole("button", { name: "Search with backtracking" }).click();
    const region = page.getByRole("region", { name: "Tree of thoughts" });
    const tree = region.getByRole("tree", { name: "Tree of thoughts" });
    await tree.getByRole("treeitem").first().waitFor();
    await findRun(page).getByRole("status").getByText("Exploring thoughts").waitFor();
    // Later messages use the same agent.
    await page.getByRole("button", { name: "Agent: Tree of thoughts" }).waitFor();
    // The drawing takes the place of the answer.
    expect(await findAnswer(page).count()).toBe(0);

    model.resume();
    await waitForEnd(page);
    await findRun(page).getByText("5 * (5 - 1 / 5) = 24").waitFor();
    // When the search has ended, the drawing is one line above the answer.
    const facts = region.getByRole("button", { name: /^Explored \d+ thoughts · depth 3 · 5 backtracks$/ });
    const explored = Number.parseInt(/\d+/.exec((await facts.textContent()) ?? "")?.[0] ?? "", 10);
    expect(await facts.getAttribute("aria-expanded")).toBe("false");
    expect(await tree.count()).toBe(0);
    const [line, answer] = [await facts.boundingBox(), await findAnswer(page).boundingBox()];
    expect((line?.y ?? 0) + (line?.height ?? 0)).toBeLessThanOrEqual(answer?.y ?? 0);
    await facts.click();
    await tree.getByRole("treeitem").first().waitFor();

    const path = await tree.getByRole("treeitem", { name: /, (?:On chosen path|Chosen), Score/ }).allInnerTexts();
    expect(path.map((text) => text.split(" (left")[0])).toEqual(["1 / 5 = 1/5", "5 - 1/5 = 24/5", "5 * 24/5 = 24"]);
    // All thoughts are drawn or counted, and the drawing fits.
    const counts = await tree.getByRole("treeitem", { name: / pruned$/ }).allInnerTexts();
    const drawn = (await tree.getByRole("treeitem").count()) - counts.length;
    expect(drawn + counts.reduce((sum, text) => sum + Number.parseInt(text, 10), 0)).toBe(explored);
    const fit = await region.locator(".loom-drawing-box").evaluate((box) => ({
      isWhole: box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight,
      zoom: new DOMMatrix(getComputedStyle(box.querySelector(".loom-drawing-sheet") as Element).transform).a,
    }));
    expect(fit).toEqual({ isWhole: true, zoom: 1 });
    await tree.getByRole("treeitem", { name: "8 pruned" }).click();
    await tree
      .getByRole("treeitem", { name: /, Pruned, Score 0$/ })
      .nth(7)
      .waitFor();

    const ideas = region.getByRole("button", { name: /^Model output \(\d+\)/ });
    await ideas.click();
    await region
      .getByRole("button", { name: /^Thought for/ })
      .first()
      .click();
    await region
      .getByRole("group", { name: "Thoughts" })
      .getByText(/Left: |score 0/)
      .first()
      .waitFor();
    // From the frames back to a collapsed thought, which is opened, although the drawing is closed.
    const row = region.locator(".loom-part-row").nth(3);
    await showFrames(row);
    await ideas.click();
    await facts.click();
    await ideas.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Show in conversation" }).click();
    await region.locator(".loom-part-row[data-marked]").getByRole("group", { name: "Thoughts" }).waitFor();
    await page.keyboard.press("Alt+i");
    await ideas.click();
    await facts.click();

    await tree.getByRole("treeitem", { name: /^5 \* 5 = 25 \(left: 1 5 25\)/ }).click();
    const detail = region.getByRole("region", { name: "Thought details" });
    await detail.getByText("Abandoned", { exact: true }).waitFor();
    await detail.getByText("5 * 5 = 25 (left: 1 5 25)").waitFor();
    await detail.getByText("Abandoned: every next step is a dead end").waitFor();
    await tree.getByRole("treeitem", { name: /^5 \* 24\/5 = 24/ }).click();
    await detail.getByText("Chosen", { exact: true }).waitFor();
    await detail.getByRole("navigation", { name: "Path" }).getByText("5 - 1/5 = 24/5").waitFor();

    // From a frame to its content, even if it is collapsed.
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    await inspector.getByRole("tab", { name: "Frames" }).click();
    await inspector.getByRole("searchbox", { name: "Search frames" }).fill("reasoning_chunk");
    await inspector.getByRole("listbox", { name: "Frames" }).getByRole("option").nth(3).click();
    await inspector.getByRole("button", { name: "Show in conversation" }).click();
    await region
      .getByRole("button", { name: /^Explored a thought for|^Thought for/ })
      .first()
      .waitFor();
    await inspector.getByRole("button", { name: "Close inspector" }).click();

    await facts.click();
    await tree.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("runs a graph, in Chinese and on a phone", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", ...PHONE, height: 440 });
    model.pauseAt("stream-start", 3);
    await page.getByRole("button", { name: "拆分与汇总" }).click();
    const region = page.getByRole("region", { name: "思维图" });
    const steps = region.getByRole("listbox", { name: "思维图" }).getByRole("option");
    await steps.filter({ hasText: "进行中" }).first().waitFor();
    await steps.filter({ hasText: "待执行" }).first().waitFor();
    await findRun(page).getByRole("status").getByText("正在执行步骤").waitFor();

    model.resume();
    await waitForEnd(page, "zh");
    // The page shows the beginning of the answer.
    const facts = region.getByRole("button", { name: "执行了 5 个步骤" });
    const scroller = await page.getByRole("region", { name: "对话" }).boundingBox();
    await expect
      .poll(async () => (await facts.boundingBox())?.y ?? -Infinity)
      .toBeGreaterThanOrEqual(scroller?.y ?? Infinity);
    expect((await findAnswer(page, "zh").boundingBox())?.height).toBeGreaterThan(scroller?.height ?? Infinity);
    await facts.click();
    expect(await steps.filter({ hasText: "完成" }).count()).toBe(5);
    await steps.filter({ hasText: "汇总" }).click();
    const detail = region.getByRole("region", { name: "步骤详情" });
    await detail.getByText("依赖", { exact: true }).waitFor();
    expect(await detail.getByRole("group").first().innerText()).toContain("猫");
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("expands a hard step", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    await page.getByRole("menuitemradio", { name: /^Adaptive graph/ }).click();
    await page.getByRole("button", { name: "Agent: Adaptive graph" }).waitFor();
    await sendMessage(page, "Write a report on electric cars");
    await waitForEnd(page);
    const region = page.getByRole("region", { name: "Graph of thoughts" });
    const header = region.getByRole("button", { name: "Ran 8 steps · 1 expansion" });
    await header.click();
    const added = region.getByRole("option", { name: /added by arguments$/ });
    await added.nth(2).waitFor();
    expect(await added.count()).toBe(3);
    await region.getByRole("option", { name: /expanded into 3$/ }).click();
    const detail = region.getByRole("region", { name: "Step details" });
    await detail.getByText("Expanded into").waitFor();
    await detail
      .getByRole("button", { name: /^Benefits/ })
      .first()
      .click();
    await detail.getByText(/^Example: /).waitFor();
    await detail.getByText("Added by").waitFor();

    // After a reload the drawing starts at its beginning, even if only a part fits.
    await page.setViewportSize(PHONE);
    await page.reload();
    await header.click();
    await added.first().waitFor();
    const place = await region.locator(".loom-drawing-box").evaluate(async (box) => {
      for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
      return { left: box.scrollLeft, isWider: box.scrollWidth > box.clientWidth };
    });
    expect(place).toEqual({ left: 0, isWider: true });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
