/** Reads a range of a session, or its runs, page by page. */
import { createLoopYield, readPage } from "./follow-records.ts";
import type { Log, RunInfo, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

const RUNS_PER_PAGE = 100;

/**
 * Yields the pages after record `after` up to record `to`. Default: the last record of `info`. All pages belong to one
 * incarnation; an incomplete range throws. To read several ranges,
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

/** Yields all runs of a session, newest first. */
export async function* readRuns(log: Log, sessionId: string): AsyncGenerator<RunInfo, void, undefined> {
  for (let after: string | undefined; ;) {
    const runs = await log.listRuns(sessionId, { limit: RUNS_PER_PAGE, after });
    yield* runs;
    after = runs.at(-1)?.runId;
    if (runs.length < RUNS_PER_PAGE) return;
  }
}
