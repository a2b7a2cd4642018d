// A page under React in a real Chromium: a token renders the message it belongs to and nothing else.
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium, launchChromium } from "./launch.ts";
import type { MessagesOutcome } from "./messages-page.ts";
import { runPage } from "./page.ts";

describe.skipIf(!hasChromium)("a page of messages (skipped where there is no Chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
  });

  it("renders only the message that is streamed into", async () => {
    const entry = join(import.meta.dirname, "messages-page.ts");
    const { outcome, complaints } = await runPage<MessagesOutcome>(browser, entry);
    const { streamed, renders } = outcome;
    expect(outcome).toMatchObject({ messages: 102, status: "live", shown: [outcome.sent, outcome.sent] });
    // One component of each kind, and none of the hundred other messages, of the finished turns, of the status.
    expect(Object.keys(renders).toSorted()).toEqual([`keyed ${streamed}`, `memo ${streamed}`, "turn live"].toSorted());
    for (const times of Object.values(renders)) {
      expect(times).toBeGreaterThan(1);
      expect(times).toBeLessThanOrEqual(200);
    }
    expect(complaints).toEqual([]);
  });
});
