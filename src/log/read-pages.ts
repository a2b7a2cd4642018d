/** A stretch of a session, page by page, all of one incarnation: complete, or refused by name. */
import { isLoomError } from "../protocol/index.ts";
import { assertIncarnation, createTurns } from "./follow-records.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

/**
 * What follows record `after`, up to and with `to`: what the session held when `info` was taken, where it is absent. Who
 * reads many stretches gives the same `turn` to all.
 */
export async function* readPages(
  log: Log,
  { sessionId, incarnation, lastId }: Pick<SessionInfo, "sessionId" | "incarnation" | "lastId">,
  after: number,
  to: number = lastId,
  turn: ReturnType<typeof createTurns> = createTurns(),
): AsyncGenerator<Page, void, undefined> {
  for (let position = after; position < to;) {
    let page: Page;
    try {
      page = await log.read(sessionId, { after: position, limit: to - position });
    } catch (error) {
      // Another session may bear the name by now, and not have this position.
      if (isLoomError(error, "cursor_ahead", "evicted")) await assertIncarnation(log, sessionId, incarnation);
      throw error;
    }
    await assertIncarnation(log, sessionId, incarnation);
    if (page.isEmpty) return;
    position = page.lastId;
    yield page;
    await turn();
  }
}
