/** What somebody who uses the page does again and again, by what is written on it. */
import type { Locator, Page } from "playwright-core";
import type { AnyEvent } from "../../src/protocol/index.ts";
import type { Look, PageStage } from "./stage.ts";

export type Language = "en" | "zh";

/** Between two steps of a journey; a machine may be busy. */
const PATIENCE_MS = 15_000;

/** The size of a telephone. */
export const PHONE = { width: 390, height: 844 } as const;

/** As `stage.look`, with little patience: what does not come should fail soon. */
export async function lookAt(stage: PageStage, options?: Parameters<PageStage["look"]>[0]): Promise<Look> {
  const look = await stage.look(options);
  look.page.setDefaultTimeout(PATIENCE_MS);
  return look;
}

const MESSAGE: { readonly [L in Language]: string } = { en: "Message", zh: "消息" };

export async function say(page: Page, text: string, language: Language = "en"): Promise<void> {
  await page.getByRole("textbox", { name: MESSAGE[language], exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** The run that began last. */
export function findRun(page: Page): Locator {
  return page.getByRole("feed").getByRole("article").last();
}

/** What came of the message that was said last. */
export function findAnswer(page: Page, language: Language = "en"): Locator {
  return findRun(page).getByRole("group", { name: language === "zh" ? "回答" : "Answer", exact: true });
}

const ENDED: { readonly [L in Language]: string } = { en: "Completed", zh: "已完成" };

/** Resolves when so many runs are there and the last of them is complete. */
export async function waitForEnd(page: Page, language: Language = "en", runs = 1): Promise<void> {
  await page
    .getByRole("feed")
    .getByRole("article")
    .nth(runs - 1)
    .waitFor();
  await findRun(page).getByText(ENDED[language], { exact: true }).waitFor();
}

/** Of an address that names it. */
export function readSession(page: Page): string {
  return new URL(page.url()).hash.slice("#/s/".length);
}

/** All that the server has kept of a session. */
export async function readEvents(stage: PageStage, session: string): Promise<readonly AnyEvent[]> {
  const events: AnyEvent[] = [];
  for (let after = 0; ;) {
    const { records } = await stage.log.read(session, { after });
    if (records.length === 0) return events;
    events.push(...records.map(({ event }) => event));
    after = records.at(-1)?.envelope.event_id ?? after;
  }
}
