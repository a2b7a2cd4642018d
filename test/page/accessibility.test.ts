/**
 * Accessibility of the page: axe-core finds nothing in the main states, nothing is cut off at 200 %, screen readers are not flooded with
 * tokens, focus is never lost, and reduced motion is respected.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OfflineModel } from "../../src/models/offline-model.ts";
import { hasChromium } from "../browser/launch.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { findCutContent, findFaults } from "./find-faults.ts";
import { type OpenedPage, type OpenPageOptions, type PageFixture, createPageFixture } from "./page-fixture.ts";

const PLAN =
  "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12";

/** One of each kind of run, and one that waits for approval. The short run has one with thoughts and one special one. */
const RUNS = sampleCases(
  [
    ["talk", "react", PLAN, "plan"],
    ["talk", "react", "Make a table: name, age; Ann, 31; Bob, 29", "special"],
    ["talk", "tot", "Game of 24: 1 5 5 5", "thoughts"],
    ["talk", "got", "Compare cats and dogs as pets", "thoughts"],
    ["talk", "react", "What pulls the sea?", "cited"],
    ["talk", "react", "Cause an error", "special"],
    ["asking", "react", "Ask me for approval, then calculate 1234 * 5678", "asking"],
  ] as const,
  { kindOf: ([, , , kind]) => kind },
);
const TURNS = RUNS.filter(([session]) => session === "talk").length;

/** What axe-core checks. It takes seconds per screen, so the short run checks one of each kind. */
const CHECKED = new Set(
  sampleCases(
    [
      ["desktop", "start"],
      ["desktop", "approval"],
      ["desktop", "conversation"],
      ["phone", "conversation"],
      ["phone", "sessions"],
      ["dialog", "activity"],
      ["dialog", "documents"],
      ["dialog", "document"],
      ["dialog", "palette"],
      ["dialog", "settings"],
    ] as const,
    { kindOf: ([kind]) => kind },
  ).map((place) => place.join(" ")),
);

describe.skipIf(!hasChromium)("accessibility (skipped without Chromium)", () => {
  let fixture: PageFixture;
  /** The fixture's runs stream at once; the screen reader test streams word by word. */
  let model = new OfflineModel();
  beforeAll(async () => {
    const { specificationVersion, provider, modelId } = model;
    const doStream: OfflineModel["doStream"] = (request) => model.doStream(request);
    fixture = await createPageFixture({ model: { specificationVersion, provider, modelId, doStream } });
    await fixture.knowledge.addText({ uri: "tides.md", text: "# Tides\n\nThe moon pulls the sea twice a day." });
    for (const [session, agent, message] of RUNS) {
      const accept = session === "asking" ? "application/json" : "application/x-ndjson";
      const response = await fetch(`${fixture.url}/v1/sessions/${session}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", accept },
        body: JSON.stringify({ message, agent }),
      });
      await response.text();
    }
    model = new OfflineModel({ delayMs: 1 });
    await fixture.log.updateSession("asking", { isPinned: true });
    await fixture.log.createSession("old", { title: "An archived session", isArchived: true });
  });
  afterAll(async () => {
    await fixture.close();
  });

  async function open(options: OpenPageOptions): Promise<OpenedPage> {
    const opened = await fixture.open(options);
    opened.page.setDefaultTimeout(10_000);
    return opened;
  }

  async function expectNoFaults(place: string, page: Page, where?: string): Promise<void> {
    if (CHECKED.has(place)) expect(await findFaults(page, where), place).toEqual([]);
  }

  /** Opens everything that can be opened, but only a few of the thoughts. */
  async function openMost(page: Page): Promise<void> {
    await page.waitForFunction(() => document.querySelector(".loom-chart-drawing .loom-spinner") === null);
    await page.evaluate(() => {
      const isWanted = (closed: Element): boolean => closed.closest(".loom-part-thinking") === null;
      const closed = [
        ...document.querySelectorAll<HTMLElement>('[data-turn] [aria-expanded="false"]:not([aria-haspopup])'),
      ];
      const thoughts = closed.filter((one) => !isWanted(one)).slice(0, 3);
      for (const one of [...closed.filter(isWanted), ...thoughts]) one.click();
    });
  }

  describe.each([
    { language: "en", theme: "light" },
    { language: "zh", theme: "dark" },
  ] as const)("in $language, $theme", (options) => {
    // The quick suite runs one language on a desktop, because axe takes seconds per page.
    it.runIf(LONG || options.language === "en")("has no violations on a desktop", { timeout: 60_000 }, async () => {
      const { page, context, complaints } = await open({ ...options, height: 6000 });
      await page.locator(".page-prompt").first().waitFor();
      await expectNoFaults("desktop start", page);
      await page.locator('a[href="#/s/asking"]').click();
      await page.locator(".loom-approval button").first().waitFor();
      await expectNoFaults("desktop approval", page);
      await page.locator('a[href="#/s/talk"]').click();
      await page.waitForFunction((count) => document.querySelectorAll(".loom-run-footer").length === count, TURNS);
      if (CHECKED.has("desktop conversation")) {
        await openMost(page);
        await page.locator(".loom-cited").waitFor();
        await expectNoFaults("desktop conversation", page);
      }
      await page.locator(".page-header button[aria-pressed]").click();
      const tabs = page.locator(".page-inspector [role=tab]");
      await tabs.first().waitFor();
      expect(await tabs.count()).toBe(5);
      for (const tab of sampleCases(await tabs.all())) {
        await tab.click();
        expect(await findFaults(page, ".page-inspector")).toEqual([]);
      }
      expect(complaints).toEqual([]);
      await context.close();
    });

    it.runIf(LONG)("has no violations on a phone", async () => {
      const { page, context, complaints } = await open({ ...options, width: 390, height: 844, path: "#/s/talk" });
      await page.locator(".loom-run-footer").first().waitFor();
      await expectNoFaults("phone conversation", page);
      await page.locator(".page-header button").first().click();
      await page.locator(".page-archive button").click();
      await page.locator(".page-archive .page-session").waitFor();
      await expectNoFaults("phone sessions", page);
      await page.locator(".page-activity-button").click();
      await page.locator("dialog .loom-approval button").first().waitFor();
      await expectNoFaults("dialog activity", page, "dialog");
      await page.keyboard.press("Escape");
      await page
        .locator(".page-sidebar button")
        .filter({ hasText: /Knowledge base|知识库/ })
        .click();
      await page.locator(".page-documents").waitFor();
      await expectNoFaults("dialog documents", page, "dialog");
      await page.locator(".page-document-open").first().click();
      await page.locator(".page-document .loom-text").waitFor();
      await expectNoFaults("dialog document", page, "dialog:has(.page-document)");
      for (const open of [".page-document", ".page-documents"]) {
        await page.keyboard.press("Escape");
        await page.locator(open).waitFor({ state: "detached" });
      }
      for (const [key, name] of [
        ["Control+k", "palette"],
        ["Enter", "settings"],
      ] as const) {
        await page.keyboard.press(key);
        await page.locator(`.page-${name}`).waitFor();
        await expectNoFaults(`dialog ${name}`, page, "dialog");
        if (key === "Control+k")
          await page
            .getByRole("combobox")
            .fill((await page.locator("html").getAttribute("lang"))?.startsWith("en") === true ? "settings" : "设置");
      }
      expect(complaints).toEqual([]);
      await context.close();
    });
  });

  it.runIf(LONG)("cuts nothing off at a zoom of 200 %", async () => {
    // A window of 1280 × 800 pixels at this zoom.
    const { page, context, complaints } = await open({ width: 640, height: 400 });
    await page.locator(".page-prompt").first().waitFor();
    expect(await findCutContent(page)).toEqual([]);
    await page.goto(`${fixture.url}/#/s/talk`);
    await page.locator(".loom-run-footer").last().waitFor();
    expect(await findCutContent(page)).toEqual([]);
    await page.getByRole("button", { name: "More actions" }).last().press("Enter");
    await page.getByRole("menuitem").first().waitFor();
    expect(await findCutContent(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const scroller = page.locator(".loom-conversation-scroller");
    await scroller.evaluate((element) => (element.scrollTop = 0));
    await page.locator('[aria-posinset="1"]').waitFor();
    expect(await findCutContent(page)).toEqual([]);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("settings");
    await page.keyboard.press("Enter");
    await page.locator(".page-settings").waitFor();
    expect(await findCutContent(page)).toEqual([]);
    // The last control of the dialog can be reached.
    const last = page.getByRole("dialog").getByRole("button").last();
    await last.scrollIntoViewIfNeeded();
    expect(await last.isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Inspector", exact: true }).press("Enter");
    await page.getByRole("tab").first().waitFor();
    expect(await findCutContent(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("does not announce every token", async () => {
    const { page, context, complaints } = await open({});
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
    await page.getByText("Answer complete.").waitFor();
    const heard = await page.evaluate(() => (globalThis as unknown as { readonly heard: readonly string[] }).heard);
    // A hundred words were streamed. Only events are announced, never the words.
    expect(heard.length).toBeGreaterThan(2);
    expect(heard.length).toBeLessThan(15);
    expect(heard.filter((text) => text.includes("arithmetic") || text.length > 100)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("keeps focus when something closes", async () => {
    const { page, context, complaints } = await open({ path: "#/s/talk" });
    await page.locator(".loom-run-footer").first().waitFor();
    // The last one: rows above it are virtualized.
    const button = (name: string | RegExp) => page.getByRole("button", { name }).last();
    const press = async (name: string | RegExp): Promise<void> => button(name).press("Enter");
    const expectFocus = async (name: string | RegExp): Promise<void> => {
      await page.waitForFunction(() => document.querySelector("dialog[open], :popover-open") === null);
      const element = await button(name).elementHandle();
      await page.waitForFunction((wanted) => document.activeElement === wanted, element);
    };
    for (const name of sampleCases(["Knowledge base", "Settings", "Shortcuts"])) {
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
    await press("Close inspector");
    await expectFocus("Inspector");
    await press("Edit message");
    await page.getByRole("textbox", { name: "Edited message" }).waitFor();
    await page.keyboard.press("Escape");
    await expectFocus("Edit message");
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

  it.runIf(LONG)("moves focus into a panel that covers a phone and back, unless the user moves it", async () => {
    const { page, context, complaints } = await open({ width: 390, height: 844, path: "#/s/talk" });
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
    await page.getByRole("button", { name: "Show sessions" }).press("Enter");
    await page.waitForFunction(() => document.activeElement?.closest("#page-sidebar") != null);
    // As on a slow machine: the next frame comes after the user has typed.
    await page.evaluate(() => {
      const frames: FrameRequestCallback[] = [];
      const { requestAnimationFrame } = globalThis;
      globalThis.requestAnimationFrame = (callback) => -frames.push(callback);
      Object.assign(globalThis, {
        runFrames: () => {
          globalThis.requestAnimationFrame = requestAnimationFrame;
          for (const callback of frames) callback(performance.now());
          return frames.length;
        },
      });
    });
    await page.keyboard.press("Escape");
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.fill("Hello");
    const frames = await page.evaluate(() => (globalThis as unknown as { runFrames(): number }).runFrames());
    expect(frames).toBeGreaterThan(0);
    expect(await message.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows no animation if reduced motion is set", async () => {
    const previous = model;
    model = new OfflineModel({ delayMs: 1000 });
    await fetch(`${fixture.url}/v1/sessions/moving/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ message: "What pulls the sea?", agent: "react" }),
    });
    // The list shows the progress of other sessions.
    const { page, context, complaints } = await open({ reducedMotion: false });
    await page.locator('.page-session-mark[data-mark="live"]').waitFor();
    const countMoving = (): Promise<number> =>
      page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === "running").length);
    expect(await countMoving()).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expect.poll(countMoving).toBe(0);
    model = previous;
    await fetch(`${fixture.url}/v1/sessions/moving`, { method: "DELETE" });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
