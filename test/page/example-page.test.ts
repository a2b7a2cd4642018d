// The example page of the guide: built as a user would, served with our page policy, and used in Chromium.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import { createPage, type LoomServer, startLoomServer } from "../../src/server/index.ts";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { packageRoot } from "../source-files.ts";
import { LogWriter } from "./log-writer.ts";
import { createServedAgents, openPageAt } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

/** One transparent pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="4"/></svg>';

const source = join(packageRoot, "examples", "page");

describe.skipIf(!hasChromium)("the example page (skipped without Chromium)", () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-example-page-"));
  const log = new MemoryLog();
  let browser: Browser;
  let server: LoomServer;
  beforeAll(async () => {
    await build({
      configFile: false,
      root: source,
      base: "./",
      logLevel: "error",
      resolve: {
        alias: [
          { find: /^loom-agent\/react\/style\.css$/, replacement: join(packageRoot, "src/react/style.css") },
          { find: /^loom-agent\/(\w+)$/, replacement: join(packageRoot, "src/$1/index.ts") },
        ],
      },
      build: { outDir: folder, emptyOutDir: true, modulePreload: { polyfill: false } },
    });
    const page = createPage({ folder });
    server = await startLoomServer({ log, agents: createServedAgents({}), port: 0, page });
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.runIf(LONG)("answers, asks for approval, keeps a to-do list, and shows its status", async () => {
    const { page, context, complaints } = await openPageAt(browser, server.url);
    page.setDefaultTimeout(15_000);
    await page.getByRole("heading", { name: "Ask something" }).waitFor();
    const say = async (text: string): Promise<void> => {
      await page.getByRole("textbox", { name: "Message" }).fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    };
    await say("Ask me for approval, then calculate 1234 * 5678");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    const status = page.getByRole("button", { name: "Waiting for you" });
    await status.waitFor();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("7006652").last().waitFor();
    await page.getByRole("heading", { name: /^\d+ tokens in the latest run$/ }).waitFor();
    await status.waitFor({ state: "detached" });
    await page.locator('[data-stream="complete"]').waitFor({ state: "attached" });

    await say("Make a to-do list for a product launch");
    await page.getByRole("checkbox", { name: "Release", exact: true }).check();
    await page.getByText("1 of 6").waitFor();
    await page.reload();
    await page.getByRole("checkbox", { name: "Release", exact: true, checked: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("shows images, and loads only external ones through the server", async () => {
    const [pixel, drawing] = [`data:image/png;base64,${PIXEL}`, `data:image/svg+xml;base64,${btoa(DRAWING)}`];
    const answer = `![in a text](${pixel})`;
    const writer = await new LogWriter(log, "images").open();
    writer.begin("run-1", { message: "images" });
    writer.put(
      { type: "image", url: drawing, media_type: "image/svg+xml", alt: "drawn" },
      { type: "image", url: pixel, media_type: "image/png", alt: "inline" },
      { type: "image", url: "https://pics.example/a.png", alt: "from elsewhere" },
      { type: "message_chunk", id: "think", content: answer },
    );
    writer.end({}, answer);
    await writer.flush();
    const asked: string[] = [];
    const { page, context, complaints } = await openPageAt(browser, server.url, {
      path: "#images",
      // Replaces the image proxy, which would fetch it.
      prepare: (opened) =>
        opened.route(/\/v1\/images/, (route) => {
          asked.push(new URL(route.request().url()).searchParams.get("url") ?? "");
          return route.fulfill({ contentType: "image/png", body: Buffer.from(PIXEL, "base64") });
        }),
    });
    page.setDefaultTimeout(15_000);
    const images = page.getByRole("feed").locator("img");
    await expect.poll(() => images.count()).toBe(4);
    for (const image of await images.all())
      await expect.poll(() => image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    expect(asked).toEqual(["https://pics.example/a.png"]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("renders code with a plugin", async () => {
    const answer = "```js\nconst a = 1;\nconst b = 2;\n```";
    const writer = await new LogWriter(log, "code").open();
    writer.begin("run-1", { message: "code" });
    writer.put(
      { type: "node_enter", id: "think" },
      { type: "message_chunk", id: "think", content: answer },
      { type: "node_exit", id: "think", result: "Ok" },
    );
    writer.end({}, answer);
    await writer.flush();
    const { page, context, complaints } = await openPageAt(browser, server.url, { path: "#code" });
    page.setDefaultTimeout(15_000);
    await page.getByText("2  const b = 2;").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
