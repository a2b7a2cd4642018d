/**
 * The page for those who do not see it, do not point, or do not want things to move: axe-core finds nothing serious in
 * any main state, those who listen are not read every token, the keyboard is never lost, and nothing moves unasked.
 */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OfflineModel } from "../../src/models/offline-model.ts";
import { hasChromium } from "../browser/launch.ts";
import { PAGE_SAMPLES } from "../sampling.ts";
import { type Look, type LookOptions, type PageStage, setPageStage } from "./stage.ts";

const PLAN =
  "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12";

/** One of each kind of run, and one that waits. */
const RUNS = [
  ["talk", "react", PLAN],
  ["talk", "react", "Make a table: name, age; Ann, 31; Bob, 29"],
  ["talk", "tot", "Game of 24: 1 5 5 5"],
  ["talk", "got", "Compare cats and dogs as pets"],
  ["talk", "react", "Cause an error"],
  ["asking", "react", "Ask me for approval, then calculate 1234 * 5678"],
] as const;
const TURNS = 5;

type Tested = typeof globalThis & { readonly axe: typeof axe };

describe.skipIf(!hasChromium)("a page for everybody (skipped where there is no Chromium)", () => {
  let stage: PageStage;
  /** What is only looked at is said at once, what is listened to word by word. */
  let model = new OfflineModel();
  beforeAll(async () => {
    const { specificationVersion, provider, modelId } = model;
    const doStream: OfflineModel["doStream"] = (request) => model.doStream(request);
    stage = await setPageStage({ model: { specificationVersion, provider, modelId, doStream } });
    for (const [session, agent, message] of RUNS) {
      const accept = session === "asking" ? "application/json" : "application/x-ndjson";
      const response = await fetch(`${stage.url}/v1/sessions/${session}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", accept },
        body: JSON.stringify({ message, agent }),
      });
      await response.text();
    }
    model = new OfflineModel({ delayMs: 1 });
    await stage.knowledge.addText({ uri: "tides.md", text: "# Tides\n\nThe moon pulls the sea twice a day." });
  });
  afterAll(async () => {
    await stage.close();
  });

  async function look(options: LookOptions): Promise<Look> {
    const made = await stage.look(options);
    made.page.setDefaultTimeout(10_000);
    return made;
  }

  /** What is serious, in words that say where it is; by all rules unless some are named. */
  async function findFaults(page: Page, rules: readonly string[], where = "html"): Promise<readonly string[]> {
    // Not by a script of the page: its policy would not have it.
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
    const { violations, passes } = await page.evaluate(
      ([place, only]) =>
        (globalThis as Tested).axe.run(place, {
          resultTypes: ["violations"],
          ...(only.length === 0 ? {} : { runOnly: { type: "rule", values: [...only] } }),
        }),
      [where, rules] as const,
    );
    expect(passes.length).toBeGreaterThan(1);
    return violations
      .filter(({ impact }) => impact !== "minor")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      );
  }

  /** With what can be opened open; of thoughts that are all alike, some. */
  async function openMost(page: Page): Promise<void> {
    await page.waitForFunction(() => document.querySelector(".loom-chart-drawing .loom-spinner") === null);
    await page.evaluate(() => {
      const isWanted = (closed: Element): boolean => closed.closest(".loom-part-thinking") === null;
      const closed = [...document.querySelectorAll<HTMLElement>('[data-turn] [aria-expanded="false"]')];
      const thoughts = closed.filter((one) => !isWanted(one)).slice(0, 3);
      for (const one of [...closed.filter(isWanted), ...thoughts]) one.click();
    });
  }

  describe.each([
    { language: "en", theme: "light", rules: [] },
    { language: "zh", theme: "dark", rules: [] },
  ] as const)("in $language, $theme", ({ rules, ...options }) => {
    // In the quick suite one language on each: axe takes seconds for a page.
    const isDesk = PAGE_SAMPLES.isPatient || options.language === "en";
    const isPhone = PAGE_SAMPLES.isPatient || options.language === "zh";
    it.runIf(isDesk)("has nothing serious wrong on a desk", { timeout: 60_000 }, async () => {
      const { page, context, complaints } = await look({ ...options, height: 6000 });
      await page.locator(".page-prompt").first().waitFor();
      expect(await findFaults(page, rules)).toEqual([]);
      await page.locator('a[href="#/s/asking"]').click();
      await page.locator(".loom-approval button").first().waitFor();
      expect(await findFaults(page, rules)).toEqual([]);
      await page.locator('a[href="#/s/talk"]').click();
      await page.waitForFunction((count) => document.querySelectorAll(".loom-run-footer").length === count, TURNS);
      await openMost(page);
      expect(await findFaults(page, rules)).toEqual([]);
      await page.locator(".page-header button[aria-pressed]").click();
      const tabs = page.locator(".page-inspector [role=tab]");
      await tabs.first().waitFor();
      expect(await tabs.count()).toBe(5);
      for (const tab of await tabs.all()) {
        await tab.click();
        expect(await findFaults(page, rules, ".page-inspector")).toEqual([]);
      }
      expect(complaints).toEqual([]);
      await context.close();
    });

    it.runIf(isPhone)("has nothing serious wrong on a phone", async () => {
      const { page, context, complaints } = await look({ ...options, width: 390, height: 844, path: "#/s/talk" });
      await page.locator(".loom-run-footer").first().waitFor();
      expect(await findFaults(page, rules)).toEqual([]);
      await page.locator(".page-header button").first().click();
      await page.locator(".page-session").first().waitFor();
      expect(await findFaults(page, rules)).toEqual([]);
      await page
        .locator(".page-sidebar button")
        .filter({ hasText: /Knowledge base|知识库/ })
        .click();
      await page.locator(".page-documents").waitFor();
      expect(await findFaults(page, rules, "dialog")).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    });
  });

  it("does not read every token to those who listen", async () => {
    const { page, context, complaints } = await look({});
    await page.evaluate(() => {
      const heard: string[] = [];
      Object.assign(globalThis, { heard });
      const said = new Map<Element, string>();
      new MutationObserver(() => {
        for (const region of document.querySelectorAll('[aria-live], [role="status"], [role="alert"], [role="log"]')) {
          const text = region.textContent.trim();
          if (text !== "" && said.get(region) !== text) heard.push(text);
          said.set(region, text);
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const message = page.getByRole("textbox", { name: "Message" });
    await message.fill("What can you do?");
    await message.press("Enter");
    await page.locator(".loom-run-footer").waitFor();
    await page.getByText("The answer is complete.").waitFor();
    const heard = await page.evaluate(() => (globalThis as unknown as { readonly heard: readonly string[] }).heard);
    // A hundred words came; what is said is what happens, and none of them.
    expect(heard.length).toBeGreaterThan(2);
    expect(heard.length).toBeLessThan(15);
    expect(heard.filter((text) => text.includes("arithmetic") || text.length > 100)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("never loses the keyboard when something closes", async () => {
    const { page, context, complaints } = await look({ path: "#/s/talk" });
    await page.locator(".loom-run-footer").first().waitFor();
    // The last: rows of the conversation come and go above it.
    const button = (name: string | RegExp) => page.getByRole("button", { name }).last();
    const press = async (name: string | RegExp): Promise<void> => button(name).press("Enter");
    const expectFocus = async (name: string | RegExp): Promise<void> => {
      await page.waitForFunction(() => document.querySelector("dialog[open], :popover-open") === null);
      const element = await button(name).elementHandle();
      await page.waitForFunction((wanted) => document.activeElement === wanted, element);
    };
    for (const name of ["Knowledge base", "Shortcuts"]) {
      await press(name);
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await expectFocus(name);
      await press(name);
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).press("Enter");
      await expectFocus(name);
    }
    await press(/^Language/);
    await page.getByRole("menu").waitFor();
    await page.keyboard.press("Escape");
    await expectFocus(/^Language/);
    await press("Inspector");
    await page.getByRole("tab").first().waitFor();
    await press("Close the inspector");
    await expectFocus("Inspector");
    await press("Edit and send again");
    await page.getByRole("textbox", { name: "Message to send instead" }).waitFor();
    await page.keyboard.press("Escape");
    await expectFocus("Edit and send again");
    const choose = async (name: string): Promise<void> => {
      await press(/^Actions for Make/);
      await page.getByRole("menuitem", { name }).press("Enter");
    };
    await choose("Delete");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await expectFocus(/^Actions for Make/);
    for (const key of ["Escape", "Enter"]) {
      await choose("Rename");
      await page.getByRole("textbox", { name: "New title" }).press(key);
      await page.waitForFunction(() => document.activeElement?.getAttribute("href") === "#/s/talk");
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("goes into what covers a phone, and back", async () => {
    const { page, context, complaints } = await look({ width: 390, height: 844, path: "#/s/talk" });
    await page.locator(".loom-run-footer").first().waitFor();
    for (const [name, place] of [
      ["Show sessions", "#page-sidebar"],
      ["Inspector", ".page-inspector-panel"],
    ] as const) {
      const opener = page.getByRole("button", { name });
      await opener.press("Enter");
      await page.waitForFunction((within) => document.activeElement?.closest(within) != null, place);
      await page.keyboard.press("Escape");
      const element = await opener.elementHandle();
      await page.waitForFunction((wanted) => document.activeElement === wanted, element);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("moves nothing where that is not wanted", async () => {
    const { page, context, complaints } = await look({ path: "#/s/asking", reducedMotion: false });
    await page.locator(".loom-approval").waitFor();
    await page.locator(".page-session-live").waitFor();
    const countMoving = (): Promise<number> =>
      page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === "running").length);
    expect(await countMoving()).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expect.poll(countMoving).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
