/** Common steps of the page tests, using the visible labels. */
import type { Locator, Page } from "playwright-core";
import type { AnyEvent } from "../../src/protocol/index.ts";
import type { OpenedPage, PageFixture } from "./page-fixture.ts";

export type Language = "en" | "zh";

/** Timeout of one step. CI machines may be busy. */
const STEP_TIMEOUT_MS = 15_000;

/** Size of a phone. */
export const PHONE = { width: 390, height: 844 } as const;

/** Opens the page with a short timeout, so that failures show early. */
export async function openPage(
  fixture: PageFixture,
  options?: Parameters<PageFixture["open"]>[0],
): Promise<OpenedPage> {
  const opened = await fixture.open(options);
  opened.page.setDefaultTimeout(STEP_TIMEOUT_MS);
  return opened;
}

const MESSAGE: { readonly [L in Language]: string } = { en: "Message", zh: "消息" };

export async function sendMessage(page: Page, text: string, language: Language = "en"): Promise<void> {
  await page.getByRole("textbox", { name: MESSAGE[language], exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Returns the latest run. */
export function findRun(page: Page): Locator {
  return page.getByRole("feed").getByRole("article").last();
}

/** Returns the answer of the latest run. */
export function findAnswer(page: Page, language: Language = "en"): Locator {
  return findRun(page).getByRole("group", { name: language === "zh" ? "回答" : "Answer", exact: true });
}

const ENDED: { readonly [L in Language]: string } = { en: "Completed", zh: "已完成" };

/** Waits until there are this many runs and the last one has completed. */
export async function waitForEnd(page: Page, language: Language = "en", runs = 1): Promise<void> {
  await page
    .getByRole("feed")
    .getByRole("article")
    .nth(runs - 1)
    .waitFor();
  await findRun(page).getByText(ENDED[language], { exact: true }).waitFor();
}

/** Returns the session ID in the URL. */
export function readSessionId(page: Page): string {
  return new URL(page.url()).hash.slice("#/s/".length);
}

/** Reads all events that the server stored for a session. */
export async function readEvents(fixture: PageFixture, session: string): Promise<readonly AnyEvent[]> {
  const events: AnyEvent[] = [];
  for (let after = 0; ;) {
    const { records } = await fixture.log.read(session, { after });
    if (records.length === 0) return events;
    events.push(...records.map(({ event }) => event));
    after = records.at(-1)?.envelope.event_id ?? after;
  }
}

/** Opens the inspector at the frames of a part, with the menu of the part. */
export async function showFrames(part: Locator): Promise<void> {
  await part.hover();
  await part.getByRole("button", { name: /^(More actions|Actions for this step)$/ }).click();
  await part.getByRole("menuitem", { name: "Show frames" }).click();
}
