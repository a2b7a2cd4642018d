// Details of everyday use: the session list, the command palette, thumbnails, versions, Tab stops, and smooth scrolling.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findAnswer, findRun, openPage, sendMessage, waitForEnd } from "./journey.ts";
import { LogWriter } from "./log-writer.ts";
import { createPageFixture, type PageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** More than two pages of the list. */
const SESSIONS = 120;
const MESSAGES = 1000;
/** A task that is longer makes scrolling stutter. */
const LONG_TASK_MS = 50;

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  /** Processor time of its thread, in microseconds. */
  readonly tdur?: number;
}

describe.skipIf(!hasChromium)("everyday use (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
    for (let count = 1; count <= SESSIONS; count++)
      await fixture.log.createSession(`listed-${count}`, { title: `Listed ${count}` });
  });
  afterAll(() => fixture.close());

  it.runIf(LONG)("loads the session list while it is scrolled", async () => {
    const { page, context, complaints } = await openPage(fixture);
    const rows = page.locator(".page-session");
    await expect.poll(() => rows.count()).toBeGreaterThan(40);
    expect(await rows.count()).toBeLessThan(SESSIONS);
    const list = page.locator(".page-sidebar-list");
    await expect
      .poll(async () => {
        await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
        return rows.count();
      })
      .toBeGreaterThanOrEqual(SESSIONS);
    // What a screen reader announces does not count only the rows that are loaded.
    const announced = page.locator(".page-sessions").getByRole("status");
    const search = page.getByRole("searchbox", { name: "Search sessions" });
    await search.fill("Listed");
    await expect.poll(() => announced.innerText()).toMatch(/^More than \d+ sessions found$/);
    await search.fill("Listed 77");
    await expect.poll(() => announced.innerText()).toBe("1 session found");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("keeps the palette in its place and shows the shortcuts", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox");
    await page.getByRole("option", { name: "New session Alt N" }).waitFor();
    const before = await field.boundingBox();
    await field.fill("theme");
    await expect.poll(() => page.getByRole("option").count()).toBe(1);
    expect(await field.boundingBox()).toEqual(before);
    await page.keyboard.press("Escape");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("shows a thumbnail of an image before it is sent", async () => {
    const { page, context, complaints } = await openPage(fixture);
    const files = [{ name: "pixel.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") }];
    await page.locator(".loom-composer input[type=file]").setInputFiles(files);
    const image = page.getByRole("list", { name: "Attached files" }).locator("img");
    await image.waitFor();
    await expect.poll(() => image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(1);
    // A draft that was loaded again has it too.
    await page.reload();
    await expect.poll(() => image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("has titles and search results without Markdown, and marks the match", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "## Plan a **zebra** party\n- invite `everyone`\n- [buy hats](https://hats.example)");
    await waitForEnd(page);
    await page.getByRole("heading", { name: "Plan a zebra party", level: 1 }).waitFor();
    await page.getByRole("searchbox", { name: "Search sessions" }).fill("hats");
    const found = page.getByRole("link", { name: /Plan a zebra party/ });
    await found
      .getByText("buy hats")
      .or(found.locator("mark", { hasText: "hats" }))
      .first()
      .waitFor();
    expect(await found.innerText()).not.toMatch(/\*\*|`|\]\(|##/);
    expect(await found.locator("mark").first().innerText()).toBe("hats");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("has one menu per answer, and few Tab stops from the message box to the answer", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    expect(await findRun(page).getByRole("button", { name: "More actions" }).count()).toBe(1);
    await page.getByRole("textbox", { name: "Message" }).focus();
    const stops = await countStops(page, findAnswer(page));
    expect(stops).toBeLessThanOrEqual(5);
    // The other buttons of the answer are reached with the arrow keys.
    await page.getByRole("button", { name: "Copy answer" }).focus();
    await page.keyboard.press("ArrowRight");
    expect(await isFocused(page.getByRole("button", { name: "Good answer" }))).toBe(true);
    await page.keyboard.press("End");
    expect(await isFocused(page.getByRole("button", { name: "More actions" }))).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Show frames" }).waitFor();
    await page.keyboard.press("Escape");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("has the version switcher at what changed", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Retry" }).click();
    const switcher = page.getByRole("group", { name: "Version 2 of 2", exact: true });
    await switcher.waitFor();
    await waitForEnd(page);
    const ofMessage = page.getByRole("group", { name: "You", exact: true }).getByRole("group", { name: /^Version/ });
    await page.getByRole("toolbar").getByRole("group", { name: "Version 2 of 2" }).waitFor();
    expect(await ofMessage.count()).toBe(0);

    await page.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edited message" }).fill("What is 2+3?");
    await page.getByRole("button", { name: "Send", exact: true }).first().click();
    await ofMessage.waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("has the message box in the middle of an empty session, if there is space", async () => {
    for (const [width, height, isMiddle] of [
      [1920, 1080, true],
      [390, 844, false],
    ] as const) {
      const { page, context } = await openPage(fixture, { width, height });
      await page.locator(".page-prompt").first().waitFor();
      const box = await page.locator(".loom-composer-box").boundingBox();
      const { y = 0, height: own = 0 } = box ?? {};
      expect(y + own / 2 > 0.3 * height && y + own / 2 < 0.6 * height).toBe(isMiddle);
      await page.getByRole("textbox", { name: "Message" }).fill("What is 6*7?");
      await page.keyboard.press("Enter");
      await waitForEnd(page);
      const end = await page.locator(".loom-composer-box").boundingBox();
      expect((end?.y ?? 0) + (end?.height ?? 0)).toBeGreaterThan(0.9 * height);
      await context.close();
    }
  });

  it.runIf(LONG)("has a name for every button, and a tooltip for those without text", async () => {
    const { page, context } = await openPage(fixture);
    await sendMessage(page, "Make a to-do list: milk, bread");
    await waitForEnd(page);
    const unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("button")]
        .filter((one) => one.innerText.trim() === "" && (one.title === "" || one.ariaLabel === ""))
        .map((one) => one.outerHTML.slice(0, 200)),
    );
    expect(unnamed).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("scrolls 1,000 messages without a long task", async () => {
    const writer = await new LogWriter(fixture.log, "long").open();
    for (let run = 1; run <= MESSAGES / 2; run++) {
      const table = `| a | b |\n| --- | --- |\n| ${run} | 2 |`;
      const answer = `## Answer ${run}\n\n- **one**\n- two\n\n${table}\n\n\`\`\`ts\nconst a = ${run};\n\`\`\`\n\n${"word ".repeat(80)}`;
      writer.begin(`r${run}`, { message: `Question ${run}` });
      writer.put({ type: "message_chunk", id: "think", content: answer });
      writer.end({}, answer);
    }
    await writer.flush();
    const { page, context, complaints } = await openPage(fixture, { path: "#/s/long" });
    await page
      .getByText(`Question ${MESSAGES / 2}`, { exact: true })
      .first()
      .waitFor();
    await page.waitForTimeout(2000);
    const longest: number[] = [];
    // Up, down and up again: other processes only add to the time.
    for (const step of [-1500, 1500, -1500]) {
      // Processor time, because other processes delay what is measured with a clock.
      await fixture.browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
      await page.evaluate(async (pixels) => {
        const scroller = document.querySelector(".loom-conversation-scroller");
        for (let frame = 0; frame < 100; frame++) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          scroller?.scrollBy(0, pixels);
        }
      }, step);
      const { traceEvents } = JSON.parse((await fixture.browser.stopTracing()).toString()) as {
        readonly traceEvents: readonly TraceEvent[];
      };
      const tasks = traceEvents.filter(({ ph, name }) => ph === "X" && name.endsWith("RunTask"));
      expect(tasks.length).toBeGreaterThan(100);
      longest.push(Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1000)));
    }
    process.stdout.write(`longest tasks: ${longest.map((ms) => ms.toFixed(0)).join(", ")} ms of processor time\n`);
    expect(Math.min(...longest)).toBeLessThan(LONG_TASK_MS);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === document.activeElement);

/** Counts the Tab stops between the focused element and the first one inside of the target, or after it. */
async function countStops(page: Page, target: Locator): Promise<number> {
  for (let stops = 0; stops < 20; stops++) {
    await page.keyboard.press("Shift+Tab");
    const isThere = await target.evaluate((element) => {
      const { activeElement: active } = document;
      if (active === null) return false;
      const isBefore = (element.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
      return element.contains(active) || isBefore;
    });
    if (isThere) return stops;
  }
  return 20;
}
