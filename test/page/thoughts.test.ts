// Trees and graphs of thoughts: growth, backtracking, step states and expansion.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
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
    const facts = region.getByRole("button", { name: /^Tree of thoughts / });
    await tree.getByRole("treeitem").first().waitFor();
    await findRun(page).getByRole("status").getByText("Exploring thoughts").waitFor();
    // Later messages use the same agent.
    await page.getByRole("button", { name: "Agent: Tree of thoughts" }).waitFor();
    // All thoughts share one line.
    await findAnswer(page).getByRole("button", { name: "Exploring thoughts…" }).waitFor();
    const early = await tree.getByRole("treeitem").count();

    model.resume();
    await waitForEnd(page);
    await findRun(page).getByText("5 * (5 - 1 / 5) = 24").waitFor();
    await region
      .getByRole("button", { name: "Tree of thoughts 68 thoughts · depth 3 · best 1 · 5 backtracks" })
      .waitFor();
    expect(await tree.getByRole("treeitem").count()).toBeGreaterThan(early);

    const path = await tree.getByRole("treeitem", { name: /, (?:On chosen path|Chosen), Score/ }).allInnerTexts();
    expect(path.map((text) => text.split(" (left")[0])).toEqual(["1 / 5 = 1/5", "5 - 1/5 = 24/5", "5 * 24/5 = 24"]);

    const ideas = findAnswer(page).getByRole("button", { name: /^Explored \d+ thoughts in/ });
    expect(
      await findAnswer(page)
        .getByRole("button", { name: /^Thought|^Explored/ })
        .count(),
    ).toBe(1);
    await ideas.click();
    await findAnswer(page)
      .getByRole("button", { name: /^Explored a thought for/ })
      .first()
      .click();
    await findAnswer(page)
      .getByRole("group", { name: "Thoughts" })
      .getByText(/"score":/)
      .waitFor();
    // From the frames back to a collapsed thought, which is opened.
    const row = findAnswer(page).locator(".loom-part-row").nth(3);
    await showFrames(row);
    await ideas.click();
    await page.getByRole("button", { name: "Show in conversation" }).click();
    await findAnswer(page).locator(".loom-part-row[data-marked]").getByRole("group", { name: "Thoughts" }).waitFor();
    await page.keyboard.press("Alt+i");
    await ideas.click();

    await region.getByRole("button", { name: "Fit to view" }).click();
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
    await findAnswer(page)
      .getByRole("button", { name: /^Explored a thought for|^Thought for/ })
      .first()
      .waitFor();
    await inspector.getByRole("button", { name: "Close inspector" }).click();

    await facts.click();
    await tree.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("runs a graph, in Chinese and on a phone", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", ...PHONE });
    model.pauseAt("stream-start", 3);
    await page.getByRole("button", { name: "拆分与汇总" }).click();
    const region = page.getByRole("region", { name: "思维图" });
    const steps = region.getByRole("listbox", { name: "思维图" }).getByRole("option");
    await steps.filter({ hasText: "进行中" }).first().waitFor();
    await steps.filter({ hasText: "待执行" }).first().waitFor();
    await findRun(page).getByRole("status").getByText("正在执行步骤").waitFor();

    model.resume();
    await waitForEnd(page, "zh");
    await region.getByRole("button", { name: "思维图 5 个步骤 · 已完成 5/5" }).waitFor();
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

  it("expands a hard step", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    await page.getByRole("menuitemradio", { name: /^Adaptive graph/ }).click();
    await page.getByRole("button", { name: "Agent: Adaptive graph" }).waitFor();
    await sendMessage(page, "Write a report on electric cars");
    await waitForEnd(page);
    const region = page.getByRole("region", { name: "Graph of thoughts" });
    // The drawing is folded if the run ended before the page showed it.
    const header = region.getByRole("button", { name: "Graph of thoughts 12 steps · 12 of 12 done · 1 expansion" });
    if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
    const added = region.getByRole("option", { name: /added by arguments$/ });
    await added.nth(2).waitFor();
    expect(await added.count()).toBe(3);
    await region.getByRole("option", { name: /expanded into 3$/ }).click();
    const detail = region.getByRole("region", { name: "Step details" });
    await detail.getByText("Expanded into").waitFor();
    await detail.getByRole("button", { name: "arguments.for", exact: true }).first().click();
    await detail.getByText("What it makes possible, easier or cheaper").waitFor();
    await detail.getByText("Added by").waitFor();

    // After a reload the drawing starts at its beginning, even if only a part fits.
    await page.setViewportSize(PHONE);
    await page.reload();
    await header.waitFor();
    if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
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
