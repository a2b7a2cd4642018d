/**
 * Failures between the page and its server: reloads, several tabs, a killed server, no network, and streams that are
 * cut or have gaps. The page always shows its connection status, never repeats or retracts text unless the run is
 * restarted, and ends in the same state as a page opened afterwards.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openSqliteLog } from "../../src/log/index.ts";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { folder } from "../cli-run.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "../server/fault-proxy.ts";
import { findPort } from "../server/kill-fixture.ts";
import { LONG, PAGE_SAMPLES } from "../sampling.ts";
import { interceptFrames, serveBuiltPage, ServeProcess } from "./serve-process.ts";
import { type OpenedPage, type OpenPageOptions, openPageAt } from "./page-fixture.ts";

/** Thinks, calls three tools, shows a list and a chart, and answers. */
const PLAN =
  "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12";
/** Waits for approval. */
const ASK = "Ask me for approval, then calculate 1234 * 5678";
/** A long answer without tools. */
const TALK = "What can you do?";

/** A busy machine needs long for a step. */
const STEP_TIMEOUT_MS = 60_000;
const OFFLINE_MS = 10_000;
/** Longer than the heartbeat timeout of a stream. */
const SILENCE_MS = 60_000;
/** Less than any heartbeat. The page needs less than a second, but machines may be busy. */
const NOTICED_MS = 8000;

/** Event IDs that are dropped. */
const HOLE = { from: 10, to: 20 };

/** Signs of pending work. */
const GOING_ON = '.loom-spinner, [aria-busy="true"], progress:not([value]), .loom-stage, .page-waiting li';

/** What a page has shown, recorded on every change. */
interface Shown {
  /** Answer texts of each attempt of a run over time. Letters and digits only, because Markdown markers come and go. */
  readonly texts: { [attempt: string]: string[] };
  /** Stream statuses. */
  readonly statuses: string[];
  /** Elements that appeared twice. */
  readonly doubles: string[];
}

type Watching = typeof globalThis & { shown?: Shown };

/** Runs in the page. */
function watch(): void {
  const shown: Shown = { texts: {}, statuses: [], doubles: [] };
  (globalThis as Watching).shown = shown;
  const note = (list: string[], value: string): void => {
    if (list.at(-1) !== value) list.push(value);
  };
  const update = (): void => {
    const word = document.querySelector("[data-stream]")?.getAttribute("data-stream");
    if (word !== null && word !== undefined) note(shown.statuses, word);
    const turns = [...document.querySelectorAll("[data-turn]")];
    const names = turns.flatMap((turn) => {
      const key = turn.getAttribute("data-turn") ?? "";
      const said = [...turn.querySelectorAll(".loom-part-text")].map((part) => part.textContent ?? "").join("");
      const attempt = `${key} ${turn.querySelectorAll(".loom-superseded").length}`;
      note((shown.texts[attempt] ??= []), said.replaceAll(/[^\p{L}\p{N}]/gu, ""));
      return [
        key,
        ...[...turn.querySelectorAll("[data-part]")].map((part) => `${key} ${part.getAttribute("data-part")}`),
      ];
    });
    if (new Set(names).size < names.length) note(shown.doubles, names.join(", "));
  };
  new MutationObserver(update).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
}

/** Runs in the page: shortens the random backoff before reconnecting. */
function shortenPauses(): void {
  const random = Math.random.bind(Math);
  Math.random = () => random() / 10;
}

describe.skipIf(!hasChromium)(
  "a page with failures (skipped without Chromium)",
  { timeout: 4 * STEP_TIMEOUT_MS },
  () => {
    const store = join(folder, "page.db");
    let browser: Browser;
    let server: ServeProcess;
    /** The proxy in front of the server. */
    let network: FaultProxy;
    /** A finished conversation: its path and its text. */
    let finished = { path: "", text: "" };
    beforeAll(async () => {
      const port = await findPort(createRandom(9));
      network = await startFaultProxy(`http://127.0.0.1:${port}`, () => undefined);
      const host = `127.0.0.1:${network.port}`;
      server = new ServeProcess(port, store, "--offline-delay", "15ms", "--hosts", host);
      [browser] = await Promise.all([shareChromium(), server.start()]);
    });
    afterAll(async () => {
      await closeContexts(browser);
      await network.close();
      await server.kill();
    });

    /** Opens a page high enough to show the whole conversation. */
    async function open(path = "", url = server.url, more?: OpenPageOptions["prepare"]): Promise<OpenedPage> {
      const prepare = async (context: BrowserContext): Promise<void> => {
        await Promise.all([
          serveBuiltPage(context),
          context.addInitScript(watch),
          context.addInitScript(shortenPauses),
        ]);
        await more?.(context);
        // The test can advance the clock.
        if (url !== server.url) await context.clock.install();
      };
      const opened = await openPageAt(browser, url, { height: 4000, path, prepare });
      opened.page.setDefaultTimeout(STEP_TIMEOUT_MS);
      return opened;
    }

    const say = async (page: Page, text: string): Promise<void> => {
      await page.getByRole("textbox", { name: "Message" }).fill(text);
      await page.keyboard.press("Enter");
    };
    /** One page starts a run. */
    async function start(text: string, url?: string): Promise<readonly [first: OpenedPage, path: string]> {
      const first = await open("", url);
      await say(first.page, text);
      await answerOf(first.page).waitFor();
      return [first, new URL(first.page.url()).hash];
    }
    /** One page starts a run, and a second page watches it. */
    async function begin(
      text: string,
      url?: string,
    ): Promise<readonly [first: OpenedPage, second: OpenedPage, path: string]> {
      const [first, path] = await start(text, url);
      const second = await open(path);
      await answerOf(second.page).waitFor();
      return [first, second, path];
    }
    /** Like `begin`, but the short run has only the first page: other tests watch a run from two. */
    async function beginOnAll(text: string): Promise<readonly [pages: readonly OpenedPage[], path: string]> {
      if (!PAGE_SAMPLES.isPatient) {
        const [only, path] = await start(text);
        return [[only], path];
      }
      const [first, second, path] = await begin(text);
      return [[first, second], path];
    }
    const answerOf = (page: Page) => page.getByRole("group", { name: "Answer" }).last();
    const isAnswering = (page: Page) => answerOf(page).getByText("Offline model").waitFor();
    /** Waits until nothing is pending and the stream is complete. Opens everything and returns the text of the conversation. */
    async function settle(page: Page, runs: number): Promise<string> {
      await page.waitForFunction(
        ([count, goingOn]) =>
          document.querySelectorAll("[data-turn]").length === count &&
          document.querySelectorAll(".loom-run-footer").length === count &&
          document.querySelector("[data-stream]")?.getAttribute("data-stream") === "complete" &&
          document.querySelector(goingOn) === null,
        [runs, GOING_ON] as const,
      );
      return readOpened(page);
    }
    /** Opens everything, so that all texts are compared. Parts of the page that are loaded on demand may still be missing. */
    async function readOpened(page: Page): Promise<string> {
      for (let clicked = 1, round = 0; clicked > 0 && round < 5; round++)
        clicked = await page.evaluate(() => {
          const closed = document.querySelectorAll<HTMLElement>(
            '[data-turn] [aria-expanded="false"]:not([aria-haspopup])',
          );
          for (const one of closed) one.click();
          return closed.length;
        });
      // An approval in an opened card is loaded on demand.
      await page.locator("[data-turn] .loom-spinner").first().waitFor({ state: "detached" });
      return page.getByRole("feed").innerText();
    }
    const readShown = (page: Page): Promise<Shown> => page.evaluate(() => (globalThis as Watching).shown as Shown);
    /** No text was repeated or retracted. */
    function expectSteady({ texts, doubles }: Shown): void {
      expect(doubles).toEqual([]);
      for (const said of Object.values(texts))
        for (const [index, text] of said.entries()) expect(text.startsWith(said[index - 1] ?? "")).toBe(true);
    }

    /**
     * All pages show the same in the end, and so does a page opened afterwards, which the short run opens only after a
     * kill. Returns the text.
     */
    async function expectSameEnd(pages: readonly OpenedPage[], path: string, runs = 1): Promise<string> {
      const afterwards = runs > 1 || PAGE_SAMPLES.isPatient ? [await open(path)] : [];
      for (const { page } of afterwards) await settle(page, runs);
      const all = [...pages, ...afterwards];
      const read = (): Promise<string[]> => Promise.all(all.map(({ page }) => readOpened(page)));
      let texts = await read();
      await vi.waitFor(
        async () => {
          const [before] = texts;
          texts = await read();
          expect(texts).toEqual(all.map(() => before));
        },
        { timeout: STEP_TIMEOUT_MS, interval: 250 },
      );
      for (const { page, context, complaints } of all) {
        expectSteady(await readShown(page));
        expect(complaints.filter((text) => !isNetworkError(text))).toEqual([]);
        await context.close();
      }
      return texts[0] ?? "";
    }

    it.runIf(LONG)("continues after a reload, in every tab", async () => {
      const [first, second, path] = await begin(PLAN);
      await second.page.reload();
      await isAnswering(second.page);
      await second.page.reload();
      await Promise.all([settle(first.page, 1), settle(second.page, 1)]);
      for (const { complaints } of [first, second]) expect(complaints).toEqual([]);
      finished = { path, text: await expectSameEnd([first, second], path) };
      expect(finished.text).toContain("8+20+12 = 40");
    });

    /** The page shows the same text as before, and is complete only at the end. */
    async function expectWhole(page: Page): Promise<void> {
      await settle(page, 1);
      await expect.poll(() => readOpened(page)).toBe(finished.text);
      const shown = await readShown(page);
      expectSteady(shown);
      expect(shown.statuses.indexOf("complete")).toBe(shown.statuses.length - 1);
    }

    it.runIf(LONG)("shows that a gap is being repaired, and then has everything", async () => {
      const { promise: isSeen, resolve: see } = Promise.withResolvers<void>();
      const { page, context, complaints } = await open(finished.path, server.url, (given) =>
        interceptFrames(given, async ({ socket, frames }) => {
          // The repair request waits until the status was seen.
          if (socket > 0) await isSeen;
          return socket > 0 ? frames : frames.filter(({ event_id: id }) => id < HOLE.from || id >= HOLE.to);
        }),
      );
      await page.locator('[data-stream="repairing"]').getByText("Recovering…").first().waitFor();
      see();
      await expectWhole(page);
      expect(complaints).toEqual([]);
      await context.close();
    });

    it.runIf(LONG)("shows that events are missing if they cannot be recovered", async () => {
      const { page, context, complaints } = await open(finished.path, server.url, (given) =>
        interceptFrames(given, ({ frames }) => frames.filter(({ event_id: id }) => id < HOLE.from || id >= HOLE.to)),
      );
      await page.locator('[data-stream="gap"]').getByText("Events missing").first().waitFor();
      const { statuses } = await readShown(page);
      expect(statuses).toContain("repairing");
      expect(statuses).not.toContain("complete");
      expect(complaints).toEqual([]);
      await context.close();
    });

    it("does not treat a cut stream as complete", async () => {
      if (finished.path === "") {
        const [{ page: first, context: closed }, path] = await start(TALK);
        finished = { path, text: await settle(first, 1) };
        await closed.close();
      }
      let isCut = true;
      const { page, context, complaints } = await open(finished.path, server.url, (given) =>
        interceptFrames(given, ({ frames, cut }) => {
          const left = isCut ? frames.filter(({ event_id: id }) => id < HOLE.to) : frames;
          if (left.length < frames.length) cut();
          return left;
        }),
      );
      await page.locator('[data-stream="reconnecting"]').getByText("Reconnecting…").first().waitFor();
      await answerOf(page).waitFor();
      expect(await page.locator(".loom-run-footer").count()).toBe(0);
      isCut = false;
      await expectWhole(page);
      expect(complaints).toEqual([]);
      await context.close();
    });

    it("completes an answer after the server was killed, and sends a pending message once", async () => {
      const [pages, path] = await beginOnAll(TALK);
      const [first] = pages as readonly [OpenedPage];
      await isAnswering(first.page);
      await server.kill();
      for (const { page } of pages) await page.locator('[data-stream="reconnecting"]').waitFor();
      await say(first.page, "What is 6*7?");
      await first.page.getByText("Waiting for the connection").waitFor();
      await server.start();
      for (const { page } of pages) await page.getByRole("button", { name: "Interrupted, answered again" }).waitFor();
      const texts = await Promise.all(pages.map(({ page }) => settle(page, 2)));
      expect(texts[0]?.split("6*7 = 42")).toHaveLength(2);
      expect(texts[0]?.match(/Completed/g)).toHaveLength(2);
      for (const { page } of pages) {
        expect(await page.locator(".loom-superseded").count()).toBe(1);
        expect(await page.locator('.loom-error, [role="alert"]').count()).toBe(0);
        expect((await readShown(page)).statuses).toEqual(expect.arrayContaining(["live", "reconnecting", "complete"]));
      }
      await expectSameEnd(pages, path, 2);
    });

    it.runIf(LONG)("continues after ten seconds offline", async () => {
      const [first, second, path] = await begin(ASK, network.url);
      await first.page.getByRole("button", { name: "Allow", exact: true }).waitFor();
      // The connections stay open, as when Wi-Fi is switched off: only the browser's event tells.
      await first.context.setOffline(true);
      await first.page.locator('[data-stream="offline"]').waitFor({ timeout: NOTICED_MS });
      await first.page.getByText("Offline. The run continues on the server.").waitFor();
      await say(first.page, "What is 6*7?");
      await first.page.getByText("Waiting for the connection").waitFor();
      const clock = first.page.locator('[data-stage="away"] .loom-stage-clock');
      const stoppedAt = await clock.innerText();
      await second.page.getByRole("button", { name: "Allow", exact: true }).click();
      await settle(second.page, 1);
      // Longer than the time in which a command must be answered.
      if (PAGE_SAMPLES.isPatient) await pause(OFFLINE_MS);
      else await first.page.clock.fastForward(SILENCE_MS);
      expect(await first.page.locator("[data-stream]").getAttribute("data-stream")).toBe("offline");
      expect(await clock.innerText()).toBe(stoppedAt);
      await first.page.getByText("Waiting for the connection").waitFor();
      await first.context.setOffline(false);
      await Promise.all([settle(first.page, 2), settle(second.page, 2)]);
      expect(await expectSameEnd([first, second], path, 2)).toContain("7006652");
    });

    it.runIf(PAGE_SAMPLES.isPatient)("detects a network that swallows everything", async () => {
      network.setPlan(() => ({ breach: { frames: 30, how: "stall" } }));
      const [first, second, path] = await begin(PLAN, network.url);
      await settle(second.page, 1);
      await first.page.clock.fastForward(SILENCE_MS);
      await first.page.locator('[data-stream="reconnecting"]').waitFor();
      network.heal();
      await first.page.clock.fastForward(OFFLINE_MS);
      await settle(first.page, 1);
      await expectSameEnd([first, second], path);
    });

    it.runIf(LONG)("does not wait for a deleted session", async () => {
      const [pages, path] = await beginOnAll(ASK);
      for (const { page } of pages) await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
      // Deleted directly in the store, so the run never ends.
      const log = await openSqliteLog(store);
      await log.deleteSession(path.slice("#/s/".length));
      await log.close();
      for (const { page, context, complaints } of pages) {
        await page.locator('[data-stream="failed"]').waitFor();
        await page.getByText("Incomplete").waitFor();
        expect(await page.locator(GOING_ON).count()).toBe(0);
        expect(complaints.filter((text) => !text.includes("404 (Not Found)"))).toEqual([]);
        await context.close();
      }
    });
  },
);

/** Failed connections are logged by the browser, which cannot be prevented. */
function isNetworkError(complaint: string): boolean {
  return /^WebSocket connection to '\S+' failed: |^Failed to load resource: net::ERR_/.test(complaint);
}
