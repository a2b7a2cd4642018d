/** A session whose last run is live, opened in the page, and the time of the page's main thread. */
import type { Browser, CDPSession, Page } from "playwright-core";
import type { LogWriter } from "../test/page/log-writer.ts";
import { openPageAt } from "../test/page/page-fixture.ts";

export interface OpenedSession {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly writer: LogWriter;
  readonly openMs: number;
}

export const NODE = "run-think-1";
/** ID of the live run. */
export const LIVE = "live";

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function writeText(writer: LogWriter, content: string): void {
  writer.put({ type: "message_chunk", id: "think", content });
}

export async function openSession(
  browser: Browser,
  url: string,
  writer: LogWriter,
  session: string,
): Promise<OpenedSession> {
  const start = performance.now();
  const { page, context } = await openPageAt(browser, url, { path: `#/s/${session}` });
  await page.locator(`[data-turn="${LIVE}"]`).waitFor();
  const openMs = performance.now() - start;
  const cdp = await context.newCDPSession(page);
  // Processor time, which other load on the machine does not lengthen.
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return { page, cdp, writer, openMs };
}

/** Processor time of the main thread, in milliseconds. */
export async function readTaskTime({ cdp }: OpenedSession): Promise<number> {
  return (await readMetric(cdp, "TaskDuration")) * 1000;
}

/** Bytes of the heap after garbage collection. */
export async function readHeap({ cdp }: OpenedSession): Promise<number> {
  await cdp.send("HeapProfiler.collectGarbage");
  return readMetric(cdp, "JSHeapUsedSize");
}

async function readMetric(cdp: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
}
