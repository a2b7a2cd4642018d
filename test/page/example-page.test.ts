// The page of the guide: built as a user would, served by a server of its own under the policy of ours, and used.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import { createPage, type LoomServer, startLoomServer } from "../../src/server/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { findBlocks } from "../guide-pages.ts";
import { packageRoot } from "../source-files.ts";
import { LogWriter } from "./log-writer.ts";
import { createServedAgents, launchForPage, openLook } from "./stage.ts";

const source = join(packageRoot, "examples", "page");
const read = (...path: string[]): string => readFileSync(join(...path), "utf8");

describe("the guide", () => {
  it("shows the files of the example as they are", () => {
    const page = "docs/guides/build-a-page.md";
    const shown = findBlocks(page, read(packageRoot, page)).map(({ text }) => text);
    for (const file of ["main.tsx", "numbered-code.tsx", "page.css", "index.html"])
      expect(shown).toContain(read(source, file));
  });
});

describe.skipIf(!hasChromium)("a page of one's own (skipped where there is no Chromium)", () => {
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
    browser = await launchForPage();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("answers, asks for consent, keeps a list, and tells how it stands", async () => {
    const { page, context, complaints } = await openLook(browser, server.url);
    page.setDefaultTimeout(15_000);
    await page.getByRole("heading", { name: "Ask something" }).waitFor();
    const say = async (text: string): Promise<void> => {
      await page.getByRole("textbox", { name: "Message" }).fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    };
    await say("Ask me for approval, then calculate 1234 * 5678");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("7006652").last().waitFor();
    await page.getByRole("heading", { name: /^\d+ tokens in the latest run$/ }).waitFor();
    await page.getByRole("button", { name: "Complete" }).waitFor();

    await say("Make a to-do list for a product launch");
    await page.getByRole("checkbox", { name: "Release" }).check();
    await page.getByText("1 of 6").waitFor();
    await page.reload();
    await page.getByRole("checkbox", { name: "Release", checked: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows code in its own way", async () => {
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
    const { page, context, complaints } = await openLook(browser, server.url, { path: "#code" });
    page.setDefaultTimeout(15_000);
    await page.getByText("2  const b = 2;").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
