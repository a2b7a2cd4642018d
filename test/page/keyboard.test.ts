// The whole page by keyboard: everything can be reached with Tab and operated with Enter, Space and arrow keys.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findAnswer, findRun, openPage, readEvents, readSessionId, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

/** Tab presses before a target counts as unreachable. */
const MOST_STEPS = 60;

/** Presses the key until the target has focus. */
async function stepTo(page: Page, target: Locator, key: "Tab" | "Shift+Tab"): Promise<void> {
  await target.waitFor();
  for (let step = 0; step < MOST_STEPS; step++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`not reached after ${MOST_STEPS} × ${key}`);
}

describe.skipIf(!hasChromium)("the keyboard on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
  });
  afterAll(() => fixture.close());

  it.runIf(LONG)("operates everything", async () => {
    const { page, context, complaints } = await openPage(fixture);
    const box = page.getByRole("textbox", { name: "Message" });
    const isFocused = (target: Locator): Promise<boolean> =>
      target.evaluate((element) => element === document.activeElement);

    // The message box has focus at first.
    await box.waitFor();
    await expect.poll(() => isFocused(box)).toBe(true);
    await page.keyboard.type("Ask me for approval,");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("then make a to-do list: milk, bread");
    expect(await box.inputValue()).toContain(",\nthen");
    await page.keyboard.press("Enter");

    const approve = findAnswer(page).getByRole("button", { name: "Allow", exact: true });
    await approve.waitFor();
    await page.keyboard.press("Alt+i");
    const inspector = page.getByRole("region", { name: "Run inspector" });
    await stepTo(page, inspector.getByRole("tab", { name: "Timeline" }), "Tab");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await inspector.getByRole("tab", { name: "Frames", selected: true }).waitFor();
    const sought = inspector.getByRole("searchbox", { name: "Search frames" });
    await stepTo(page, sought, "Tab");
    await page.keyboard.type("milk");
    await inspector.getByText(/^\d+ of \d+ frames$/).waitFor();
    // The first Escape clears the field, the second leaves it. The waiting run continues.
    await page.keyboard.press("Escape");
    await inspector.getByText(/^\d+ frames$/).waitFor();
    expect(await isFocused(sought)).toBe(true);
    await page.keyboard.press("Escape");
    expect(await isFocused(sought)).toBe(false);
    await page.keyboard.press("Alt+i");
    await inspector.waitFor({ state: "detached" });

    await page.keyboard.press("Alt+c");
    await expect.poll(() => isFocused(box)).toBe(true);
    await stepTo(page, approve, "Shift+Tab");
    await page.keyboard.press("Enter");
    await waitForEnd(page);
    // The button was removed, but focus is not lost.
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);

    const thinking = findAnswer(page)
      .getByRole("button", { name: /^Thought for/ })
      .first();
    await stepTo(page, thinking, "Shift+Tab");
    await page.keyboard.press("Enter");
    await findAnswer(page).getByRole("group", { name: "Thoughts" }).waitFor();

    const milk = page.getByRole("checkbox", { name: "milk" });
    await stepTo(page, milk, "Tab");
    await page.keyboard.press("Space");
    await page.getByText("1 of 2").waitFor();
    await expect
      .poll(
        async () =>
          (await readEvents(fixture, readSessionId(page))).filter(({ type }) => type === "todo_update").length,
      )
      .toBe(1);

    await page.keyboard.press("Alt+c");
    await expect.poll(() => isFocused(box)).toBe(true);
    await stepTo(page, page.getByRole("button", { name: "Agent: ReAct" }), "Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("menuitemradio", { name: /^ReAct/ }).waitFor();
    await expect.poll(() => isFocused(page.getByRole("menuitemradio", { name: /^ReAct/ }))).toBe(true);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const picker = page.getByRole("button", { name: "Agent: Tree of thoughts" });
    await picker.waitFor();
    expect(await isFocused(picker)).toBe(true);

    await page.keyboard.press("Alt+/");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.getByText("Toggle inspector").waitFor();
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    expect(await isFocused(picker)).toBe(true);

    await page.keyboard.press("Alt+n");
    await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();
    await page.keyboard.press("Alt+k");
    await expect.poll(() => isFocused(page.getByRole("searchbox", { name: "Search sessions" }))).toBe(true);
    await page.keyboard.press("Alt+ArrowDown");
    await waitForEnd(page);
    await page.getByRole("checkbox", { name: "milk", checked: true }).waitFor();

    // In the message box, Escape stops the run.
    await page.keyboard.press("Alt+c");
    await expect.poll(() => isFocused(box)).toBe(true);
    await page.keyboard.type("Ask me for approval");
    await page.keyboard.press("Enter");
    await approve.waitFor();
    await page.keyboard.press("Escape");
    await findRun(page).getByText("Cancelled", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
