/** Main-thread time per token at the end of a list of 6,000 items and of a text of 6,000 paragraphs. */
import type { Browser } from "playwright-core";
import type { Log } from "../src/log/index.ts";
import { LogWriter } from "../test/page/log-writer.ts";
import { median, report, times } from "./measure.ts";
import { LIVE, NODE, type OpenedSession, openSession, pause, readTaskTime, writeText } from "./page-session.ts";

const FEW = 20;
const MANY = 6000;
const MAX_RATIO = 1.6;
const TOKENS = 60;
const TOKENS_PER_ITEM = 6;

const KINDS: { readonly [name: string]: (index: number) => readonly [first: string, last: string] } = {
  items: (index) => [`- item ${index} of a **long** list`, ".\n"],
  paragraphs: (index) => [`Paragraph ${index} of a **long** text`, ".\n\n"],
};

/** Returns whether all goals are reached. */
export async function measureList(browser: Browser, url: string, log: Log, rounds: number): Promise<boolean> {
  let isReached = true;
  for (const kind of Object.keys(KINDS)) isReached = (await measureKind(browser, url, log, rounds, kind)) && isReached;
  return isReached;
}

async function measureKind(browser: Browser, url: string, log: Log, rounds: number, kind: string): Promise<boolean> {
  const open = async (count: number): Promise<OpenedSession> => {
    const session = `${count}-${kind}`;
    const writer = await new LogWriter(log, session, NODE).open();
    writer.begin(LIVE, { message: "Make a list" });
    writer.put({ type: "node_enter", id: "think" });
    for (let index = 0; index < count; index++) writeText(writer, KINDS[kind]?.(index).join("") ?? "");
    await writer.flush();
    return openSession(browser, url, writer, session);
  };
  const opened = [await open(FEW), await open(MANY)] as const;
  const costs: [number[], number[]] = [[], []];
  for (let round = -1; round < rounds; round++)
    for (const index of [0, 1] as const) {
      const cost = await measureTokens(opened[index], kind, round);
      if (round >= 0) costs[index].push(cost);
    }
  for (const { page } of opened) await page.context().close();
  const [few, many] = [median(costs[0]), median(costs[1])];
  const ratio = many / few;
  return report(
    `main-thread time per token after ${MANY} ${kind}, compared with ${FEW}`,
    times(ratio),
    `≤ ${MAX_RATIO} ×`,
    ratio <= MAX_RATIO,
    `${few.toFixed(2)} ms and ${many.toFixed(2)} ms`,
  );
}

async function measureTokens(opened: OpenedSession, kind: string, round: number): Promise<number> {
  const { page, writer } = opened;
  await page.bringToFront();
  const before = await readTaskTime(opened);
  for (let token = 0; token < TOKENS; token++) {
    const [first, last] = KINDS[kind]?.(token) ?? ["", ""];
    const place = token % TOKENS_PER_ITEM;
    writeText(writer, place === 0 ? first : place === TOKENS_PER_ITEM - 1 ? ` end${round}-${token}${last}` : " word");
    await writer.flush();
    await pause(20);
  }
  await page.waitForFunction(
    (text) => document.querySelector(".loom-message-assistant")?.textContent?.includes(text) === true,
    `end${round}-${TOKENS - 1}`,
  );
  return ((await readTaskTime(opened)) - before) / TOKENS;
}
