/**
 * A page that shows a conversation while an answer streams at 50 tokens/s. The time is that of the page's main thread in
 * Chromium, and the memory its heap. Ours is the complete page with its server; the peers show only the messages. The
 * limit appends text to a node.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { MemoryLog } from "../../src/log/index.ts";
import { createPage, startLoomServer } from "../../src/server/index.ts";
import { launchChromium } from "../../test/browser/launch.ts";
import { buildPage } from "../../test/page/build-page.ts";
import { LogWriter } from "../../test/page/log-writer.ts";
import { createServedAgents, openPageAt } from "../../test/page/page-fixture.ts";
import type { Benchmark, Prepare, Row, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { writeAnswer, writeQuestion } from "../page/texts.ts";

/** 50 tokens/s. */
const TOKEN_MS = 20;
const TOKENS_PER_PARAGRAPH = 40;

interface Conversation {
  readonly page: Page;
  /** Selector of messages or turns. The last one has the answer. */
  readonly selector: string;
  /** Begins a new answer. */
  readonly begin: () => void;
  readonly write: (text: string) => Promise<unknown> | void;
}

type OpenConversation = (browser: Browser, messages: number) => Promise<Conversation>;

const openLoom: OpenConversation = async (browser, messages) => {
  const log = new MemoryLog();
  const page = createPage({ folder: await buildPage() });
  const { url } = await startLoomServer({ log, agents: createServedAgents({}), port: 0, page });
  const writer = await new LogWriter(log, "s", "run-think-1").open();
  let turn = 0;
  const begin = (): void => {
    turn++;
    writer.begin(`run-${turn}`, { message: writeQuestion(turn) });
    writer.put({ type: "node_enter", id: "think" });
  };
  const end = (answer: string): void => {
    writer.put({ type: "node_exit", id: "think", result: "Ok" });
    writer.end({}, answer);
  };
  const write = (content: string): Promise<void> => {
    writer.put({ type: "message_chunk", id: "think", content });
    return writer.flush();
  };
  for (let earlier = 1; earlier <= messages / 2; earlier++) {
    begin();
    await write(writeAnswer(earlier));
    end(writeAnswer(earlier));
  }
  await writer.flush();
  let answer = "";
  return {
    page: (await openPageAt(browser, url, { path: "#/s/s" })).page,
    selector: "[data-turn]",
    begin() {
      if (answer !== "") end(answer);
      answer = "";
      begin();
    },
    write(text) {
      answer += text;
      return write(text);
    },
  };
};

/** Bundles a page from `bench/page`, serves it, and opens it. */
const openBundle =
  (file: string): OpenConversation =>
  async (browser, messages) => {
    const result = await build({
      configFile: false,
      logLevel: "error",
      root: join(import.meta.dirname, "..", "page"),
      mode: "production",
      build: { write: false, outDir: createFolder(), rolldownOptions: { input: file } },
    });
    const [bundle] = [result].flat();
    const code = bundle !== undefined && "output" in bundle ? bundle.output[0].code : "";
    const readers: ServerResponse[] = [];
    const server = createServer((request, response) => {
      if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
        readers.push(response);
      } else if (request.url === "/page.js") response.setHeader("content-type", "text/javascript").end(code);
      else
        response
          .setHeader("content-type", "text/html")
          .end('<!doctype html><meta charset="utf-8"><main></main><script type="module" src="page.js"></script>');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/#${messages}`);
    while (readers.length === 0) await pause(10);
    const send = (data: string | null): void =>
      readers.forEach((reader) => reader.write(`data: ${JSON.stringify(data)}\n\n`));
    return { page, selector: ".message", begin: () => send(null), write: send };
  };

const stream =
  (messages: number, open: OpenConversation): Prepare =>
  async (tokens) => {
    const { page, selector, begin, write } = await open(await launchChromium(), messages);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    const readMetric = async (metric: string): Promise<number> => {
      const { metrics } = await cdp.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === metric)?.value ?? Number.NaN;
    };
    let words = 0;
    const writeWord = async (end: string): Promise<string> => {
      const word = `word${++words}`;
      await write(`${word}${end}`);
      return word;
    };
    const waitFor = (text: string): Promise<unknown> =>
      page.waitForFunction(
        ([all, expected]) => [...document.querySelectorAll(all)].at(-1)?.textContent.includes(expected) === true,
        [selector, text] as const,
        { polling: 50 },
      );
    return async (): Promise<Spent> => {
      begin();
      await waitFor(await writeWord(" "));
      // What the new answer changed elsewhere on the page is drawn.
      await pause(500);
      const before = await readMetric("TaskDuration");
      let last = "";
      for (let token = 1; token <= tokens; token++) {
        last = await writeWord(token % TOKENS_PER_PARAGRAPH === 0 ? ".\n\n" : " ");
        await pause(TOKEN_MS);
      }
      await waitFor(last);
      const cpuMs = ((await readMetric("TaskDuration")) - before) * 1000;
      return { cpuMs, peakMb: (await readMetric("JSHeapUsedSize")) / 2 ** 20 };
    };
  };

const createRow = (messages: number): Row => ({
  what: `an answer in a conversation of ${messages.toLocaleString("en")} messages; ours is the whole page`,
  unit: "token",
  sizes: [100],
  ours: stream(messages, openLoom),
  peers: {
    "assistant-ui 0.15 with react-markdown": stream(messages, openBundle("react-markdown.tsx")),
    "assistant-ui 0.15 with Streamdown": stream(messages, openBundle("streamdown.tsx")),
  },
  limits: { "text without Markdown": stream(0, openBundle("text.ts")) },
});

export const benchmark: Benchmark = {
  about: "CPU time of the main thread of a page that shows an answer at 50 tokens/s",
  rows: [createRow(10), { ...createRow(10_000), isSlow: true }],
};
