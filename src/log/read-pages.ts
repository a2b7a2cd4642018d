/** Reads a range of a session page by page. All pages belong to one incarnation; an incomplete range throws. */
import { createLoopYield, readPage } from "./follow-records.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

/**
 * Yields the pages after record `after` up to record `to`. Default: the last record of `info`. To read several ranges,
 * pass the same `yieldToLoop` to each call.
 */
export async function* readPages(
  log: Log,
  { sessionId, incarnation, lastId }: Pick<SessionInfo, "sessionId" | "incarnation" | "lastId">,
  after: number,
  to: number = lastId,
  yieldToLoop: ReturnType<typeof createLoopYield> = createLoopYield(),
): AsyncGenerator<Page, void, undefined> {
  for (let position = after; position < to;) {
    const page = await readPage(log, { sessionId, incarnation }, { after: position, limit: to - position });
    if (page.isEmpty) return;
    position = page.lastId;
    yield page;
    await yieldToLoop();
  }
}
