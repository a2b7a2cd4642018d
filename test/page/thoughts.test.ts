// Searches as they are seen: a tree that grows and turns back, a graph with its states, one that expands.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { HeldModel } from "./held-model.ts";
import { findAnswer, findRun, lookAt, PHONE, say, waitForEnd } from "./journey.ts";
import { type PageStage, setPageStage } from "./stage.ts";

describe.skipIf(!hasChromium)("thoughts on the page (skipped where there is no Chromium)", () => {
  const model = new HeldModel();
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage({ model });
  });
  afterAll(() => stage.close());
  afterEach(() => model.goOn());

  it("grows a tree, turns back from dead ends and says why", async () => {
    const { page, context, complaints } = await lookAt(stage, { theme: "dark" });
    model.goUntil("stream-start", 25);
    await page.getByRole("button", { name: "Search, and turn back" }).click();
    const region = page.getByRole("region", { name: "Tree of thoughts" });
    const tree = region.getByRole("tree", { name: "Tree of thoughts" });
    const facts = region.getByRole("button", { name: /^Tree of thoughts / });
    await tree.getByRole("treeitem").first().waitFor();
    await findRun(page).getByRole("status").getByText("Searching the tree of thoughts").waitFor();
    // What is asked next is asked of the same.
    await page.getByRole("button", { name: "Agent: Tree of thoughts" }).waitFor();
    // A hundred thoughts are one line.
    await findAnswer(page).getByRole("button", { name: "Weighing ideas…" }).waitFor();
    const early = await tree.getByRole("treeitem").count();

    model.goOn();
    await waitForEnd(page);
    await findRun(page).getByText("5 * (5 - 1 / 5) = 24").waitFor();
    await region
      .getByRole("button", { name: "Tree of thoughts 68 thoughts · depth 3 · best 1 · 5 backtracks" })
      .waitFor();
    expect(await tree.getByRole("treeitem").count()).toBeGreaterThan(early);

    const path = await tree.getByRole("treeitem", { name: /, (?:On the chosen path|Chosen), Score/ }).allInnerTexts();
    expect(path.map((text) => text.split(" (left")[0])).toEqual(["1 / 5 = 1/5", "5 - 1/5 = 24/5", "5 * 24/5 = 24"]);

    const ideas = findAnswer(page).getByRole("button", { name: /^Weighed \d+ ideas in/ });
    expect(
      await findAnswer(page)
        .getByRole("button", { name: /^Thought|^Weighed/ })
        .count(),
    ).toBe(1);
    await ideas.click();
    await findAnswer(page)
      .getByRole("button", { name: /^Weighed an idea for/ })
      .first()
      .click();
    await findAnswer(page)
      .getByRole("group", { name: "Thoughts" })
      .getByText(/"score":/)
      .waitFor();
    // From its frames back to one of many that are closed by now: they are opened, and so is it.
    const row = findAnswer(page).locator(".loom-part-row").nth(3);
    await row.hover();
    await row.getByRole("button", { name: "Show its frames" }).click();
    await ideas.click();
    await page.getByRole("button", { name: "Show on the page" }).click();
    await findAnswer(page).locator(".loom-part-row[data-marked]").getByRole("group", { name: "Thoughts" }).waitFor();
    await page.keyboard.press("Alt+i");
    await ideas.click();

    await region.getByRole("button", { name: "Show the whole" }).click();
    await tree.getByRole("treeitem", { name: /^5 \* 5 = 25 \(left: 1 5 25\)/ }).click();
    const detail = region.getByRole("region", { name: "The thought" });
    await detail.getByText("Abandoned").waitFor();
    await detail.getByText("5 * 5 = 25 (left: 1 5 25)").waitFor();
    await detail.getByText("The search came back from it: every next step is a dead end").waitFor();
    await tree.getByRole("treeitem", { name: /^5 \* 24\/5 = 24/ }).click();
    await detail.getByText("Chosen", { exact: true }).waitFor();
    await detail.getByRole("navigation", { name: "The way to it" }).getByText("5 - 1/5 = 24/5").waitFor();

    // From a frame to what it has said, also where that is folded away.
    await page.getByRole("button", { name: "Inspector" }).click();
    const inspector = page.getByRole("region", { name: "Run inspector" });
    await inspector.getByRole("tab", { name: "Frames" }).click();
    await inspector.getByRole("searchbox", { name: "Find in frames" }).fill("reasoning_chunk");
    await inspector.getByRole("listbox", { name: "Frames" }).getByRole("option").nth(3).click();
    await inspector.getByRole("button", { name: "Show on the page" }).click();
    await findAnswer(page)
      .getByRole("button", { name: /^Weighed an idea for|^Thought for/ })
      .first()
      .waitFor();
    await inspector.getByRole("button", { name: "Close the inspector" }).click();

    await facts.click();
    await tree.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("works through a graph, in Chinese and on a telephone", async () => {
    const { page, context, complaints } = await lookAt(stage, { language: "zh", ...PHONE });
    model.goUntil("stream-start", 3);
    await page.getByRole("button", { name: "拆分与汇总" }).click();
    const region = page.getByRole("region", { name: "思维图" });
    const steps = region.getByRole("listbox", { name: "思维图" }).getByRole("option");
    await steps.filter({ hasText: "进行中" }).first().waitFor();
    await steps.filter({ hasText: "待执行" }).first().waitFor();
    await findRun(page).getByRole("status").getByText("正在执行思维图").waitFor();

    model.goOn();
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

  it("expands a step that turns out to be hard", async () => {
    const { page, context, complaints } = await lookAt(stage);
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    await page.getByRole("menuitemradio", { name: /^Adaptive graph/ }).click();
    await page.getByRole("button", { name: "Agent: Adaptive graph" }).waitFor();
    await say(page, "Write a report on electric cars");
    await waitForEnd(page);
    const region = page.getByRole("region", { name: "Graph of thoughts" });
    await region.getByRole("button", { name: "Graph of thoughts 12 steps · 12 of 12 done · 1 expansion" }).waitFor();
    const added = region.getByRole("option", { name: /added by arguments$/ });
    expect(await added.count()).toBe(3);
    await region.getByRole("option", { name: /expanded into 3$/ }).click();
    const detail = region.getByRole("region", { name: "The step" });
    await detail.getByText("Expanded into").waitFor();
    await detail.getByRole("button", { name: "arguments.for", exact: true }).first().click();
    await detail.getByText("What it makes possible, easier or cheaper").waitFor();
    await detail.getByText("Added by").waitFor();

    // Looked back at, it begins at its beginning, also where little of it has room.
    await page.setViewportSize(PHONE);
    await page.reload();
    await region.getByRole("button", { name: /^Graph of thoughts 12 steps/ }).click();
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
