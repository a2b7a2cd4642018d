// Ten thousand messages in Chromium: only visible rows are in the document, a token renders one message, and the scroll
// position is kept.
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { runPage } from "../browser/page.ts";
import type { ConversationOutcome } from "./conversation-page.tsx";
import { readStyles } from "./styles.ts";

describe.skipIf(!hasChromium)("a long conversation (skipped without Chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
  });

  it("keeps the document small, renders one message per token, keeps the scroll position, and never scrolls to nothing", async () => {
    const entry = join(import.meta.dirname, "conversation-page.tsx");
    const { outcome, complaints } = await runPage<ConversationOutcome>(browser, entry, { styles: readStyles() });
    process.stdout.write(`elements: ${outcome.elements.join(", ")}\n`);
    expect(outcome.turns).toBe(5001);
    for (const count of outcome.elements) expect(count).toBeLessThan(1000);
    expect(Object.keys(outcome.renders)).toEqual([outcome.streamed]);
    expect(outcome.renders[outcome.streamed]).toBeLessThanOrEqual(outcome.tokens + 1);
    expect(outcome.renders[outcome.streamed]).toBeGreaterThan(outcome.tokens / 4);
    const [first = -1, streaming = -1, inLessRoom = -1, scrolled = -1] = outcome.fromEnd;
    expect(Math.abs(first)).toBeLessThan(5);
    expect(Math.abs(streaming)).toBeLessThan(5);
    expect(Math.abs(inLessRoom)).toBeLessThan(5);
    expect(scrolled).toBeGreaterThan(500);
    expect(outcome.moved).toBeLessThan(2);
    const [moved, grown] = outcome.opened;
    expect(grown).toBeGreaterThan(80);
    expect(moved).toBeLessThan(2);
    expect(outcome.isFocusKept).toBe(true);
    expect(outcome.blankFrames).toBe(0);
    expect(outcome.texts[1]).toContain("word59");
    expect(complaints).toEqual([]);
  });
});
