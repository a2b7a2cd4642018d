/** Reads a range of a session page by page. All pages belong to one incarnation; an incomplete range throws. */
import { isLoomError } from "../protocol/index.ts";
import { assertIncarnation, createLoopYield } from "./follow-records.ts";
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
    let page: Page;
    try {
      page = await log.read(sessionId, { after: position, limit: to - position });
    } catch (error) {
      // A session recreated with the same ID may not have this position.
      if (isLoomError(error, "cursor_ahead", "evicted")) await assertIncarnation(log, sessionId, incarnation);
      throw error;
    }
    await assertIncarnation(log, sessionId, incarnation);
    if (page.isEmpty) return;
    position = page.lastId;
    yield page;
    await yieldToLoop();
  }
}
