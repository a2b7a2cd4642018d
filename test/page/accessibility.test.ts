/**
 * The page for those who do not see it, do not point, or do not want things to move: axe-core finds nothing serious in
 * any main state, those who listen are not read every token, the keyboard is never lost, and nothing moves unasked.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { type Look, type LookOptions, type PageStage, setPageStage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
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

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

interface Axe {
  run(
    where: string,
    options: object,
  ): Promise<{ readonly violations: readonly Violation[]; readonly passes: readonly object[] }>;
}

type Tested = typeof globalThis & { readonly axe: Axe };

describe.skipIf(!hasChromium)("a page for everybody (skipped where there is no Chromium)", () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage({ delayMs: 1 });
    for (const [session, agent, message] of RUNS) {
      const accept = session === "asking" ? "application/json" : "application/x-ndjson";
      const response = await fetch(`${stage.url}/v1/sessions/${session}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", accept },
        body: JSON.stringify({ message, agent }),
      });
      await response.text();
    }
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

  /** What is serious, in words that say where it is. */
  async function findFaults(page: Page, where = "html"): Promise<readonly string[]> {
    // Not by a script of the page: its policy would not have it.
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
    const { violations, passes } = await page.evaluate(
      (place) => (globalThis as Tested).axe.run(place, { resultTypes: ["violations"] }),
      where,
    );
    expect(passes.length).toBeGreaterThan(10);
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      );
  }

  /** With all that can be opened open. */
  async function openAll(page: Page): Promise<void> {
    await page.waitForFunction(() => document.querySelector(".loom-chart-drawing .loom-spinner") === null);
    await page.evaluate(() => {
      for (const closed of document.querySelectorAll<HTMLElement>('[data-turn] [aria-expanded="false"]'))
        closed.click();
    });
  }

  describe.each([
    { language: "en", theme: "light" },
    { language: "zh", theme: "dark" },
  ] as const)("in $language, $theme", (options) => {
    it("has nothing serious wrong on a desk", async () => {
      const { page, context, complaints } = await look({ ...options, height: 6000 });
      await page.locator(".page-prompt").first().waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.locator('a[href="#/s/asking"]').click();
      await page.locator(".loom-approval button").first().waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.locator('a[href="#/s/talk"]').click();
      await page.waitForFunction((count) => document.querySelectorAll(".loom-run-footer").length === count, TURNS);
      await openAll(page);
      expect(await findFaults(page)).toEqual([]);
      await page.locator(".page-header button[aria-pressed]").click();
      const tabs = page.locator(".page-inspector [role=tab]");
      await tabs.first().waitFor();
      expect(await tabs.count()).toBe(5);
      for (const tab of await tabs.all()) {
        await tab.click();
        expect(await findFaults(page, ".page-inspector")).toEqual([]);
      }
      expect(complaints).toEqual([]);
      await context.close();
    });

    it("has nothing serious wrong on a phone", async () => {
      const { page, context, complaints } = await look({ ...options, width: 390, height: 844, path: "#/s/talk" });
      await page.locator(".loom-run-footer").first().waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.locator(".page-header button").first().click();
      await page.locator(".page-session").first().waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page
        .locator(".page-sidebar button")
        .filter({ hasText: /Knowledge base|知识库/ })
        .click();
      await page.locator(".page-documents").waitFor();
      expect(await findFaults(page, "dialog")).toEqual([]);
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
    const expectFocus = async (name: string | RegExp): Promise<void> => {
      await page.waitForFunction(() => document.querySelector("dialog[open], :popover-open") === null);
      await page.waitForFunction(() => document.activeElement !== document.body);
      const focused = page.locator(":focus");
      expect(await focused.getAttribute("aria-label").then((label) => label ?? focused.innerText())).toMatch(name);
    };
    const press = async (name: string | RegExp): Promise<void> => {
      await page.getByRole("button", { name }).first().focus();
      await page.keyboard.press("Enter");
    };
    await press("Knowledge base");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await expectFocus(/Knowledge base/);
    await press("Keyboard shortcuts");
    await page.getByRole("dialog").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).press("Enter");
    await expectFocus("Keyboard shortcuts");
    await press(/Language/);
    await page.getByRole("menu").waitFor();
    await page.keyboard.press("Escape");
    await expectFocus(/Language/);
    await press("Inspect the run");
    await page.getByRole("tab").first().waitFor();
    await page.getByRole("button", { name: "Close the inspector" }).last().press("Enter");
    await expectFocus(/./);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("moves nothing where that is not wanted", async () => {
    const moving = async (reducedMotion: boolean): Promise<number> => {
      const { page, context, complaints } = await look({ path: "#/s/asking", reducedMotion });
      await page.locator(".loom-approval").waitFor();
      await page.locator(".page-session-live").waitFor();
      const count = await page.evaluate(
        () => document.getAnimations().filter(({ playState }) => playState === "running").length,
      );
      expect(complaints).toEqual([]);
      await context.close();
      return count;
    };
    expect(await moving(false)).toBeGreaterThan(0);
    expect(await moving(true)).toBe(0);
  });
});
