/**
 * The page in the browser: main-thread time per token in a conversation of 10 messages and of 10,000, the time to open
 * each, frames while an answer streams, frames while scrolling, tokens at the end of a long list, memory over a long
 * answer, and the longest task of a large table. Uses Chromium, the built page and a complete server; the two
 * conversations take turns. `--quick` takes fewer rounds.
 */
import { MemoryLog } from "../src/log/index.ts";
import { createPage, startLoomServer } from "../src/server/index.ts";
import { launchChromium } from "../test/browser/launch.ts";
import { buildPage } from "../test/page/build-page.ts";
import { LogWriter } from "../test/page/log-writer.ts";
import { createServedAgents } from "../test/page/page-fixture.ts";
import { median, print, report, times } from "./measure.ts";
import { measureScrolling, measureStreaming } from "./page-frames.ts";
import { measureList } from "./page-list.ts";
import { NODE, type OpenedSession, openSession, pause, readHeap, readTaskTime, writeText } from "./page-session.ts";
import { measureTable } from "./page-table.ts";

const isQuick = process.argv.includes("--quick");
const ROUNDS = isQuick ? 5 : 15;
const TOKENS_PER_ROUND = 60;
const TOKEN_INTERVAL_MS = 20;
const LONG_TOKENS = isQuick ? 3000 : 20_000;
const SMALL = 10;
const LARGE = 10_000;
const MAX_RATIO = 1.1;
const MAX_TOKEN_MS = 8;

function begin(writer: LogWriter, runId: string): void {
  writer.begin(runId, { message: `Question ${runId}` });
  writer.put({ type: "node_enter", id: "think" });
}

async function writeConversation(log: MemoryLog, sessionId: string, messages: number): Promise<LogWriter> {
  const writer = await new LogWriter(log, sessionId, NODE).open();
  for (let run = 1; run <= messages / 2; run++) {
    const answer = `Answer **${run}**.\n\n${"A line of plain text in an answer. ".repeat((run % 5) + 1)}`;
    begin(writer, `run-${run}`);
    writeText(writer, answer);
    writer.put({ type: "node_exit", id: "think", result: "Ok" });
    writer.end({}, answer);
    if (run % 100 === 0) await writer.flush();
  }
  begin(writer, "live");
  writeText(writer, "It ");
  await writer.flush();
  return writer;
}

let written = 0;

async function streamTokens({ writer, page }: OpenedSession, count: number, everyMs: number): Promise<void> {
  let last = "";
  for (let n = 0; n < count; n++) {
    last = `word${written++}`;
    writeText(writer, n % 40 === 39 ? `${last}.\n\n` : `${last} `);
    if (everyMs > 0) {
      await writer.flush();
      await pause(everyMs);
    } else if (n % 100 === 99) await writer.flush();
  }
  await writer.flush();
  await page.waitForFunction(
    (text) => [...document.querySelectorAll("[data-turn]")].at(-1)?.textContent?.includes(text) === true,
    last,
  );
}

async function measureToken(opened: OpenedSession): Promise<number> {
  const before = await readTaskTime(opened);
  await streamTokens(opened, TOKENS_PER_ROUND, TOKEN_INTERVAL_MS);
  return ((await readTaskTime(opened)) - before) / TOKENS_PER_ROUND;
}

const log = new MemoryLog();
const server = await startLoomServer({
  log,
  agents: createServedAgents({}),
  port: 0,
  page: createPage({ folder: await buildPage() }),
});
const browser = await launchChromium();

async function open(messages: number): Promise<OpenedSession> {
  return openSession(browser, server.url, await writeConversation(log, `of-${messages}`, messages), `of-${messages}`);
}

let isReached = true;
const small = await open(SMALL);
const large = await open(LARGE);
const paint = await small.page.evaluate(
  () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
);
print(`opening ${SMALL} messages: ${small.openMs.toFixed(0)} ms; ${LARGE} messages: ${large.openMs.toFixed(0)} ms`);
isReached = report("first paint", `${paint.toFixed(0)} ms`, "< 1000 ms", paint < 1000) && isReached;

const costs: [number[], number[]] = [[], []];
for (let round = -2; round < ROUNDS; round++)
  for (const [index, opened] of [small, large].entries()) {
    await opened.page.bringToFront();
    const cost = await measureToken(opened);
    if (round >= 0) costs[index as 0 | 1].push(cost);
  }
const [few, many] = [median(costs[0]), median(costs[1])];
const ratio = median(costs[1].map((cost, index) => cost / (costs[0][index] ?? Number.NaN)));
const detail = `${few.toFixed(2)} ms and ${many.toFixed(2)} ms`;
isReached =
  report(
    `main-thread time per token with ${LARGE} messages, compared with ${SMALL}`,
    times(ratio),
    `≤ ${MAX_RATIO} ×`,
    ratio <= MAX_RATIO,
    detail,
  ) && isReached;
isReached =
  report(
    `main-thread time per token with ${LARGE} messages`,
    `${many.toFixed(2)} ms`,
    `< ${MAX_TOKEN_MS} ms`,
    many < MAX_TOKEN_MS,
  ) && isReached;

isReached = (await measureStreaming(browser, small, (opened) => measureToken(opened), ROUNDS)) && isReached;
isReached = (await measureScrolling(large.page)) && isReached;

const heapBefore = await readHeap(small);
const textBefore = written;
await small.page.bringToFront();
await streamTokens(small, LONG_TOKENS, 0);
const grown = (await readHeap(small)) - heapBefore;
print(
  `memory growth over ${written - textBefore} tokens: ${(grown / 1024).toFixed(0)} KB, ${(grown / (written - textBefore)).toFixed(0)} bytes per token`,
);

for (const { page } of [small, large]) await page.context().close();
isReached = (await measureList(browser, server.url, log, ROUNDS)) && isReached;
isReached = (await measureTable(browser, server.url, log, ROUNDS)) && isReached;

await browser.close();
await server.close();
process.exitCode = isReached ? 0 : 1;
