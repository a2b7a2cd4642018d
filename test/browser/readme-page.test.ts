// The page of the README: pasted into an empty Vite project and opened in Chromium, against `loom serve` on another port.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { findBlocks } from "../guide-pages.ts";
import { sampleCases } from "../sampling.ts";
import { packageRoot } from "../source-files.ts";
import { killServers, startServe } from "../start-serve.ts";
import { closeContexts, hasChromium, shareChromium } from "./launch.ts";

const LANGUAGES = [
  [
    "README.md",
    "en-US",
    /does not allow pages of http:\/\/localhost:\d+\..*--dev-origins/s,
    /credentials.*loom token create/s,
  ],
  ["README.zh-CN.md", "zh-CN", /不允许来自 http:\/\/localhost:\d+ 的页面.*--dev-origins/s, /凭证.*loom token create/s],
] as const;

const HTML = `<!doctype html><html lang="en"><head><meta charset="UTF-8" /></head>
<body><div id="root"></div><script type="module" src="/src/main.tsx"></script></body></html>`;

/** The command that starts the server, and the program of the page. */
function readSection(file: string): { readonly args: readonly string[]; readonly program: string } {
  const blocks = findBlocks(file, readFileSync(join(packageRoot, file), "utf8"));
  const at = blocks.findIndex(({ text }) => text.includes("loom-agent/react/style.css"));
  const args = /^npx loom serve (?<args>.*)$/m.exec(blocks[at - 1]?.text ?? "")?.groups?.["args"] ?? "";
  return { args: args.split(" "), program: blocks[at]?.text ?? "" };
}

/** Serves a built page under `localhost`; `server` is the address of Loom in it, and may be changed. */
async function servePage(folder: string): Promise<{ readonly url: string; server: string; close(): void }> {
  const http = createServer((request, response) => {
    const path = request.url === "/" ? "index.html" : (request.url ?? "").slice(1);
    const type = { css: "text/css", js: "text/javascript", html: "text/html" }[path.split(".").at(-1) ?? ""];
    if (type === undefined) return response.writeHead(404).end();
    const text = readFileSync(join(folder, path), "utf8");
    return response
      .writeHead(200, { "content-type": type })
      .end(text.replaceAll("http://127.0.0.1:10338", site.server));
  });
  await new Promise<void>((resolve) => http.listen(0, "localhost", resolve));
  const url = `http://localhost:${(http.address() as AddressInfo).port}/`;
  const site = { url, server: "", close: () => http.close().closeAllConnections() };
  return site;
}

describe.skipIf(!hasChromium)("the page of the README (skipped without Chromium)", { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-readme-page-"));
  let browser: Browser;
  beforeAll(async () => {
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
    killServers();
    rmSync(folder, { recursive: true, force: true });
  });

  async function buildPage(program: string, root: string): Promise<string> {
    mkdirSync(join(root, "src"), { recursive: true });
    symlinkSync(join(packageRoot, "node_modules"), join(root, "node_modules"), "junction");
    writeFileSync(join(root, "index.html"), HTML);
    writeFileSync(join(root, "src", "main.tsx"), program);
    const alias = [
      { find: /^loom-agent\/react\/style\.css$/, replacement: join(packageRoot, "src/react/style.css") },
      { find: /^loom-agent\/(\w+)$/, replacement: join(packageRoot, "src/$1/index.ts") },
    ];
    await build({ configFile: false, root, logLevel: "error", resolve: { alias }, build: { minify: false } });
    return join(root, "dist");
  }

  it.each(sampleCases(LANGUAGES))("of %s answers, and says what to change if it is refused", async (...language) => {
    const [file, locale, origin, token] = language;
    const { args, program } = readSection(file);
    const [server, refusing, secured, built] = await Promise.all([
      startServe(join(folder, `${file}.db`), args),
      startServe(join(folder, `${file}-refusing.db`), []),
      startServe(join(folder, `${file}-secured.db`), [...args, "--auth", "on"]),
      buildPage(program, join(folder, file)),
    ]);
    const site = await servePage(built);
    onTestFinished(() => site.close());
    const page = await (await browser.newContext({ viewport: { width: 900, height: 700 }, locale })).newPage();
    page.setDefaultTimeout(30_000);
    const open = (url: string): Promise<unknown> => {
      site.server = url;
      return page.goto(site.url);
    };
    const notice = page.getByRole("alert");
    await open(refusing.url);
    await notice.waitFor();
    expect(await notice.innerText()).toMatch(origin);
    await open(secured.url);
    await notice.waitFor();
    expect(await notice.innerText()).toMatch(token);

    await open(server.url);
    const height = async (): Promise<number> => (await page.locator(".loom-chat").boundingBox())?.height ?? 0;
    const empty = await height();
    expect(empty).toBeGreaterThan(300);
    await page.getByRole("textbox").fill("What is 6*7?");
    await page.keyboard.press("Enter");
    await page.getByText("6*7 = 42").first().waitFor();
    expect([await height(), await notice.count()]).toEqual([empty, 0]);
    // In a container that has a height, the chat has the same.
    await page.addStyleTag({ content: "#root { height: 250px }" });
    expect(await height()).toBe(250);
  });
});
