// The page of examples/ai-sdk-chat in Chromium, served by Vite, with `loom serve` behind it: a page that is reloaded in the
// middle of an answer, and a second one, show the whole answer.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build, preview, type PreviewServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "./browser/launch.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";
import { killServers, type ServerProcess, startServe } from "./start-serve.ts";

/** A busy machine needs longer than the default. */
const TIMEOUT_MS = 60_000;
const WORD_MS = 30;
const EXAMPLE = join(packageRoot, "examples", "ai-sdk-chat");

let loom: ServerProcess;
let vite: PreviewServer;
let browser: Browser;
const folder = mkdtempSync(join(tmpdir(), "loom-ai-sdk-chat-"));

beforeAll(async () => {
  if (!hasChromium) return;
  loom = await startServe(join(folder, "loom.db"), ["--dev-origins", "--offline-delay", String(WORD_MS)]);
  const proxy = { "/api": { target: loom.url, changeOrigin: true } };
  const common = {
    root: EXAMPLE,
    configFile: false,
    logLevel: "error",
    build: { outDir: join(folder, "page") },
  } as const;
  // Top-level await needs a browser that is not very old.
  await build({ ...common, build: { ...common.build, target: "es2022" } });
  vite = await preview({ ...common, preview: { host: "127.0.0.1", port: 0, proxy } });
  browser = await shareChromium();
}, TIMEOUT_MS);

afterAll(async () => {
  if (hasChromium) await closeContexts(browser);
  await vite?.close();
  killServers();
  rmSync(folder, { recursive: true, force: true });
});

async function open(chat: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(`${vite.resolvedUrls?.local[0] ?? ""}#${chat}`);
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** The text of the last answer, without its reasoning and tools. */
const textOf = async (page: Page): Promise<string> =>
  (await page.locator("article.assistant").last().locator("p:not(.reasoning)").allInnerTexts()).join(" ");

async function waitForIdle(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Send" }).waitFor();
}

async function readReply(chat: string): Promise<string> {
  const response = await fetch(`${loom.url}/v1/sessions/${chat}/events`, {
    headers: { accept: "application/x-ndjson" },
  });
  const frames = (await response.text()).trim().split("\n");
  const replies = frames.map((frame) => (JSON.parse(frame) as { readonly reply?: string }).reply);
  return replies.findLast((reply) => reply !== undefined) ?? "";
}

/** As the page shows it, where spaces may be collapsed. */
const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== "");

describe.runIf(hasChromium)("examples/ai-sdk-chat", () => {
  it.runIf(LONG)(
    "shows the whole answer after a reload in the middle, and in a second page",
    { timeout: TIMEOUT_MS },
    async () => {
      const page = await open("reloaded");
      await say(page, "What can you do?");
      await expect.poll(() => textOf(page), { timeout: TIMEOUT_MS }).toMatch(/\w+ \w+ \w+/);
      await page.reload();
      const second = await open("reloaded");
      await expect.poll(() => textOf(page), { timeout: TIMEOUT_MS }).toMatch(/\w+ \w+ \w+/);
      for (const one of [page, second]) {
        await waitForIdle(one);
        expect(words(await textOf(one))).toEqual(words(await readReply("reloaded")));
        expect(await one.locator("article").count()).toBe(2);
      }
    },
  );

  it.runIf(LONG)("shows tools, and a second turn", { timeout: TIMEOUT_MS }, async () => {
    const page = await open("tools");
    await say(page, "What is 17*23?");
    await waitForIdle(page);
    expect(await textOf(page)).toContain("391");
    expect(await page.locator("pre").innerText()).toContain('calculator({"expression":"17*23"})');
    await say(page, "What is 2+2?");
    await expect.poll(() => page.locator("article").count(), { timeout: TIMEOUT_MS }).toBe(4);
    await waitForIdle(page);
    expect(await textOf(page)).toContain("4");
  });

  it.runIf(LONG)("stops a run, and keeps what it said", { timeout: TIMEOUT_MS }, async () => {
    const page = await open("stopped");
    await say(page, "What can you do?");
    await expect.poll(() => textOf(page), { timeout: TIMEOUT_MS }).toMatch(/\w+ \w+ \w+/);
    await page.getByRole("button", { name: "Stop" }).click();
    await waitForIdle(page);
    const said = words(await textOf(page));
    const [run] = (
      (await (await fetch(`${loom.url}/v1/sessions/stopped/runs`)).json()) as { runs: { status: string }[] }
    ).runs;
    expect(run?.status).toBe("cancelled");
    await page.reload();
    await expect.poll(async () => words(await textOf(page)), { timeout: TIMEOUT_MS }).toEqual(said);
  });
});
