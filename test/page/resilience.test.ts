/**
 * What goes wrong between a page and its server: a reload in the middle, another tab, a server that is killed and comes
 * back, no network for a while, a stream that is cut or has a hole. The page tells what it knows all the while, never says
 * anything twice or takes it back, and ends as one that is opened afterwards.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { folder } from "../cli-run.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "../server/fault-proxy.ts";
import { findPort } from "../server/kill-stage.ts";
import { PAGE_SAMPLES } from "../sampling.ts";
import { meddle, putPage, Served } from "./served.ts";
import { launchForPage, type Look, type LookOptions, openLook } from "./stage.ts";

/** It thinks, calls three tools, shows a list and a chart, and answers. */
const PLAN =
  "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12";
/** It waits until somebody agrees. */
const ASK = "Ask me for approval, then calculate 1234 * 5678";
/** A long answer and nothing else. */
const TALK = "What can you do?";

const PATIENCE_MS = 15_000;
const OFFLINE_MS = 10_000;
/** Longer than a stream may give no sign of life. */
const SILENCE_MS = 60_000;

/** Frames of a run that do not come, by their numbers. */
const HOLE = { from: 10, to: 20 };

/** Signs that something is waited for. */
const GOING_ON = '.loom-spinner, [aria-busy="true"], progress:not([value]), .loom-stage, .page-waiting li';

/** What a page has shown, noted with every change of it. */
interface Shown {
  /** Of the answers of each run, one after the other, letters and numbers alone: signs of Markdown come and go. */
  readonly texts: { [turn: string]: string[] };
  /** What was said of the stream. */
  readonly words: string[];
  /** Things that must be there once and were there twice. */
  readonly doubles: string[];
}

type Watching = typeof globalThis & { shown?: Shown };

/** Runs in the page. */
function watch(): void {
  const shown: Shown = { texts: {}, words: [], doubles: [] };
  (globalThis as Watching).shown = shown;
  const note = (list: string[], value: string): void => {
    if (list.at(-1) !== value) list.push(value);
  };
  const look = (): void => {
    const word = document.querySelector("[data-stream]")?.getAttribute("data-stream");
    if (word !== null && word !== undefined) note(shown.words, word);
    const turns = [...document.querySelectorAll("[data-turn]")];
    const names = turns.flatMap((turn) => {
      const key = turn.getAttribute("data-turn") ?? "";
      const said = [...turn.querySelectorAll(".loom-part-text")].map((part) => part.textContent ?? "").join("");
      note((shown.texts[key] ??= []), said.replaceAll(/[^\p{L}\p{N}]/gu, ""));
      return [
        key,
        ...[...turn.querySelectorAll("[data-part]")].map((part) => `${key} ${part.getAttribute("data-part")}`),
      ];
    });
    if (new Set(names).size < names.length) note(shown.doubles, names.join(", "));
  };
  new MutationObserver(look).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
}

/** Runs in the page: before it asks again it waits as long as chance has it, which is not long here. */
function shortenPauses(): void {
  const random = Math.random.bind(Math);
  Math.random = () => random() / 10;
}

describe.skipIf(!hasChromium)("a page in trouble (skipped where there is no Chromium)", () => {
  const store = join(folder, "page.db");
  let browser: Browser;
  let served: Served;
  /** The network before it. */
  let network: FaultProxy;
  /** A conversation that is over: where it is, and what it says. */
  let told = { path: "", text: "" };
  beforeAll(async () => {
    const port = await findPort(createRandom(9));
    network = await startFaultProxy(`http://127.0.0.1:${port}`, () => undefined);
    const host = `127.0.0.1:${network.port}`;
    served = new Served(port, store, "--offline-delay", "15ms", "--hosts", host);
    [browser] = await Promise.all([launchForPage(), served.start()]);
  });
  afterAll(async () => {
    await browser.close();
    await network.close();
    await served.kill();
  });

  /** High enough that all of a conversation is there. */
  async function look(path = "", url = served.url, more?: LookOptions["prepare"]): Promise<Look> {
    const prepare = async (context: BrowserContext): Promise<void> => {
      await Promise.all([putPage(context), context.addInitScript(watch), context.addInitScript(shortenPauses)]);
      await more?.(context);
      // Time can be made to pass.
      if (url !== served.url) await context.clock.install();
    };
    const made = await openLook(browser, url, { height: 4000, path, prepare });
    made.page.setDefaultTimeout(PATIENCE_MS);
    return made;
  }

  const say = async (page: Page, text: string): Promise<void> => {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
  };
  /** Somebody begins, and somebody else looks on. */
  async function begin(text: string, url?: string): Promise<readonly [first: Look, second: Look, path: string]> {
    const first = await look("", url);
    await say(first.page, text);
    await answerOf(first.page).waitFor();
    const path = new URL(first.page.url()).hash;
    const second = await look(path);
    await answerOf(second.page).waitFor();
    return [first, second, path];
  }
  const answerOf = (page: Page) => page.getByRole("group", { name: "Answer" }).last();
  const isAnswering = (page: Page) => answerOf(page).getByText("Offline model").waitFor();
  /** Nothing goes on any more, and the page says that it has everything. */
  async function settle(page: Page, runs: number): Promise<string> {
    await page.waitForFunction(
      ([count, goingOn]) =>
        document.querySelectorAll("[data-turn]").length === count &&
        document.querySelectorAll(".loom-run-footer").length === count &&
        document.querySelector("[data-stream]")?.getAttribute("data-stream") === "complete" &&
        document.querySelector(goingOn) === null,
      [runs, GOING_ON] as const,
    );
    // What is open is each reader's own; all of it is compared.
    for (let opened = 1, round = 0; opened > 0 && round < 5; round++)
      opened = await page.evaluate(() => {
        const closed = document.querySelectorAll<HTMLElement>('[data-turn] [aria-expanded="false"]');
        for (const one of closed) one.click();
        return closed.length;
      });
    return page.getByRole("feed").innerText();
  }
  const readShown = (page: Page): Promise<Shown> => page.evaluate(() => (globalThis as Watching).shown as Shown);
  /** As it is seen by somebody who comes when all is over. */
  async function seeAfterwards(path: string, runs: number): Promise<string> {
    const { page, context, complaints } = await look(path);
    const text = await settle(page, runs);
    expect(complaints).toEqual([]);
    await context.close();
    return text;
  }
  /** Nothing was said twice, nothing taken back. */
  function expectSteady({ texts, doubles }: Shown): void {
    expect(doubles).toEqual([]);
    for (const said of Object.values(texts))
      for (const [index, text] of said.entries()) expect(text.startsWith(said[index - 1] ?? "")).toBe(true);
  }

  /** Both of them, and whoever comes afterwards, have the same. */
  async function expectSameEnd(both: readonly Look[], one: string, two: string, path: string, runs = 1): Promise<void> {
    expect(two).toBe(one);
    expect(await seeAfterwards(path, runs)).toBe(one);
    for (const { page, context, complaints } of both) {
      expectSteady(await readShown(page));
      expect(complaints.filter((text) => !isOfNetwork(text))).toEqual([]);
      await context.close();
    }
  }

  it("goes on after a reload, in every tab", async () => {
    const [first, second, path] = await begin(PLAN);
    await second.page.reload();
    await isAnswering(second.page);
    await second.page.reload();
    const [one, two] = await Promise.all([settle(first.page, 1), settle(second.page, 1)]);
    expect(one).toContain("8+20+12 = 40");
    for (const { complaints } of [first, second]) expect(complaints).toEqual([]);
    await expectSameEnd([first, second], one, two, path);
    told = { path, text: one };
  });

  /** Identical to what was told, and called complete at the very end only. */
  async function expectWhole(page: Page): Promise<void> {
    expect(await settle(page, 1)).toBe(told.text);
    const shown = await readShown(page);
    expectSteady(shown);
    expect(shown.words.indexOf("complete")).toBe(shown.words.length - 1);
  }

  it("says that a gap is being repaired, and then has everything", async () => {
    const { promise: isSeen, resolve: see } = Promise.withResolvers<void>();
    const { page, context, complaints } = await look(told.path, served.url, (given) =>
      meddle(given, async ({ socket, frames }) => {
        // What is asked for beside the stream comes once it was said that it is asked for.
        if (socket > 0) await isSeen;
        return socket > 0 ? frames : frames.filter(({ event_id: id }) => id < HOLE.from || id >= HOLE.to);
      }),
    );
    await page.locator('[data-stream="repairing"]').getByText("A gap is being repaired…").first().waitFor();
    see();
    await expectWhole(page);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says that a part is missing where it cannot be had", async () => {
    const { page, context, complaints } = await look(told.path, served.url, (given) =>
      meddle(given, ({ frames }) => frames.filter(({ event_id: id }) => id < HOLE.from || id >= HOLE.to)),
    );
    await page.locator('[data-stream="gap"]').getByText("A part is missing").first().waitFor();
    const { words } = await readShown(page);
    expect(words).toContain("repairing");
    expect(words).not.toContain("complete");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("does not take a stream that is cut for a whole one", async () => {
    let isCut = true;
    const { page, context, complaints } = await look(told.path, served.url, (given) =>
      meddle(given, ({ frames, cut }) => {
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

  it("goes on with a server that was killed, and says what was said meanwhile, once", async () => {
    const [first, second, path] = await begin(TALK);
    await isAnswering(first.page);
    await served.kill();
    for (const { page } of [first, second]) await page.locator('[data-stream="reconnecting"]').waitFor();
    await say(first.page, "What is 6*7?");
    await first.page.getByText("Sending…").waitFor();
    await served.start();
    const [one, two] = await Promise.all([settle(first.page, 2), settle(second.page, 2)]);
    expect(one.split("6*7 = 42")).toHaveLength(2);
    for (const { page } of [first, second])
      expect((await readShown(page)).words).toEqual(expect.arrayContaining(["live", "reconnecting", "complete"]));
    await expectSameEnd([first, second], one, two, path, 2);
  });

  it("goes on after ten seconds without a network", async () => {
    const [first, second, path] = await begin(ASK, network.url);
    await first.page.getByRole("button", { name: "Approve" }).waitFor();
    await first.context.setOffline(true);
    network.cut("reset");
    await first.page.locator('[data-stream="reconnecting"]').waitFor();
    await second.page.getByRole("button", { name: "Approve" }).click();
    const two = await settle(second.page, 1);
    if (PAGE_SAMPLES.isPatient) await pause(OFFLINE_MS);
    else await first.page.clock.fastForward(OFFLINE_MS);
    expect(await first.page.locator("[data-stream]").getAttribute("data-stream")).toBe("reconnecting");
    await first.context.setOffline(false);
    const one = await settle(first.page, 1);
    expect(one).toContain("7006652");
    await expectSameEnd([first, second], one, two, path);
  });

  it.runIf(PAGE_SAMPLES.isPatient)("notices a network that takes everything and brings nothing", async () => {
    network.follow(() => ({ breach: { frames: 30, how: "stall" } }));
    const [first, second, path] = await begin(PLAN, network.url);
    const two = await settle(second.page, 1);
    await first.page.clock.fastForward(SILENCE_MS);
    await first.page.locator('[data-stream="reconnecting"]').waitFor();
    network.heal();
    await first.page.clock.fastForward(OFFLINE_MS);
    await expectSameEnd([first, second], await settle(first.page, 1), two, path);
  });

  it("does not wait for what will never come", async () => {
    const [first, second, path] = await begin(TALK);
    await isAnswering(first.page);
    // Behind the server's back: nobody is left to say how the run ended.
    const log = await openSqliteLog(store);
    await log.deleteSession(path.slice("#/s/".length));
    await log.close();
    for (const { page, context, complaints } of [first, second]) {
      await page.locator('[data-stream="failed"]').waitFor();
      await page.getByText("Its end was not received").waitFor();
      expect(await page.locator(GOING_ON).count()).toBe(0);
      expect(complaints.filter((text) => !text.includes("404 (Not Found)"))).toEqual([]);
      await context.close();
    }
  });
});

/** That nobody answers is the browser's to say; it is not prevented. */
function isOfNetwork(complaint: string): boolean {
  return /^WebSocket connection to '\S+' failed: |^Failed to load resource: net::ERR_/.test(complaint);
}
