// A React page in a real Chromium: a token renders only the message it belongs to.
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "./launch.ts";
import type { MessagesOutcome } from "./messages-page.ts";
import { runPage } from "./page.ts";
import { LONG } from "../sampling.ts";

describe.skipIf(!hasChromium)("a page of messages (skipped without Chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
  });

  it.runIf(LONG)("renders only the message that is streamed", async () => {
    const entry = join(import.meta.dirname, "messages-page.ts");
    const { outcome, complaints } = await runPage<MessagesOutcome>(browser, entry);
    const { streamed, renders } = outcome;
    expect(outcome).toMatchObject({ messages: 102, status: "live", shown: [outcome.sent, outcome.sent] });
    // One component of each kind; none of the other messages, ended turns or the status.
    expect(Object.keys(renders).toSorted()).toEqual([`keyed ${streamed}`, `memo ${streamed}`, "turn live"].toSorted());
    for (const times of Object.values(renders)) {
      expect(times).toBeGreaterThan(1);
      expect(times).toBeLessThanOrEqual(200);
    }
    expect(complaints).toEqual([]);
  });
});
