// `LoomChat` on a page of another origin, with a server that requires a token: messages, approvals, files, a lost
// connection, a refused token, and containers of any kind.
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import {
  createMemoryBlobStore,
  type LoomServer,
  openCredentials,
  SERVER_LIMITS,
  startLoomServer,
} from "../../src/server/index.ts";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { packageRoot } from "../source-files.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { findPort } from "../server/kill-fixture.ts";
import { startTcpProxy, type TcpProxy } from "../tcp-proxy.ts";
import { createServedAgents } from "./page-fixture.ts";
import { LONG, sampleCases } from "../sampling.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const TYPES: { readonly [extension: string]: string } = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

interface ChatPage {
  readonly page: Page;
  readonly chat: Locator;
  /** Uncaught errors, and warnings of React. */
  readonly complaints: readonly string[];
}

interface ChatQuery {
  readonly session: string;
  readonly token?: "none" | "fetched" | "wrong";
  readonly inner?: object;
  readonly outer?: object;
  readonly width?: number;
}

describe.skipIf(!hasChromium)("LoomChat (skipped without Chromium)", () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-chat-"));
  const credentials = openCredentials(":memory:");
  let browser: Browser;
  let site: Server;
  let server: LoomServer;
  let proxy: TcpProxy;
  let token = "";
  let issued = 0;
  const urlOf = (listening: Server): string => `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;

  beforeAll(async () => {
    await build({
      configFile: false,
      root: join(import.meta.dirname, "loom-chat"),
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
    site = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost");
      if (pathname === "/token") {
        issued++;
        response.end(token);
        return;
      }
      const file = join(folder, pathname === "/" ? "index.html" : pathname);
      if (!existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
      createReadStream(file).pipe(response);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    ({ secret: token } = await credentials.createToken({ name: "visitor", owner: "ann" }));
    const port = await findPort(createRandom(43));
    proxy = await startTcpProxy(port);
    server = await startLoomServer({
      log: new MemoryLog(),
      agents: createServedAgents({}),
      blobs: createMemoryBlobStore(SERVER_LIMITS),
      auth: { credentials },
      hosts: [`127.0.0.1:${proxy.port}`],
      origins: [urlOf(site)],
      port,
    });
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
    await proxy.close();
    await server.close();
    site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function openChat({ session, width = 900, ...query }: ChatQuery): Promise<ChatPage> {
    const context = await browser.newContext({ locale: "en-GB", viewport: { width, height: 800 } });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    const given = new URLSearchParams({
      session,
      url: `http://127.0.0.1:${proxy.port}`,
      token: query.token ?? "fetched",
      inner: JSON.stringify(query.inner ?? {}),
      outer: JSON.stringify(query.outer ?? {}),
    });
    await page.goto(`${urlOf(site)}/?${given}`);
    return { page, chat: page.getByRole("region", { name: "Chat" }), complaints };
  }

  const say = async (chat: Locator, text: string): Promise<void> => {
    const box = chat.getByRole("textbox", { name: "Message" });
    await box.fill(text);
    await box.press("Enter");
  };

  it("answers, asks for approval and stops", async () => {
    const { page, chat, complaints } = await openChat({ session: "talk" });
    await say(chat, "Ask me for approval, then calculate 1234 * 5678");
    await chat.getByRole("button", { name: "Allow", exact: true }).click();
    await chat.getByText("7006652").last().waitFor();
    await chat.getByText("Completed").waitFor();
    await chat.getByRole("button", { name: "Good answer" }).click();
    await chat.getByRole("button", { name: "Good answer", pressed: true }).waitFor();

    await say(chat, "Ask me for approval");
    await chat.getByRole("button", { name: "Allow", exact: true }).waitFor();
    // The next message waits, and can be removed.
    await say(chat, "What is 2+3?");
    const waiting = chat.getByRole("list", { name: "Pending messages" });
    await waiting.getByText("Queued", { exact: true }).waitFor();
    await waiting.getByRole("button", { name: "Remove" }).click();
    await waiting.waitFor({ state: "detached" });
    await chat.getByRole("button", { name: "Stop" }).click();
    await chat.getByText("Cancelled", { exact: true }).waitFor();
    expect(issued).toBeGreaterThan(0);
    await page.reload();
    await chat.getByText("Cancelled", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.runIf(LONG)("uploads, shows and saves files", async () => {
    const { page, chat, complaints } = await openChat({ session: "files" });
    await chat.getByRole("textbox", { name: "Message" }).waitFor();
    const picker = chat.locator("input[type=file]");
    await picker.setInputFiles([
      { name: "pixel.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("seven apples") },
      { name: "unwanted.txt", mimeType: "text/plain", buffer: Buffer.from("x") },
    ]);
    const chips = chat.getByRole("list", { name: "Attached files" });
    expect(await naturalWidth(chips.locator("img"))).toBe(1);
    await chips.getByRole("button", { name: "Remove unwanted.txt" }).click();
    await expect.poll(() => chips.getByRole("progressbar").count()).toBe(0);
    await say(chat, "What is 2+3?");
    await chips.waitFor({ state: "detached" });
    await chat.getByText("Completed").waitFor();
    const sent = chat.getByRole("list", { name: "Attachments" });
    expect(await naturalWidth(sent.locator("img"))).toBe(1);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      sent.getByRole("button", { name: /notes\.txt/ }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("notes.txt");
    expect(readFileSync(await download.path(), "utf8")).toBe("seven apples");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.runIf(LONG)("reports a lost connection, and sends the message when it is back", async () => {
    const { page, chat, complaints } = await openChat({ session: "cut" });
    await say(chat, "What is 2+3?");
    await chat.getByText("Completed").waitFor();
    proxy.setUp(false);
    await chat.getByRole("button", { name: "Reconnecting…" }).waitFor();
    await say(chat, "What is 6*7?");
    await chat.getByText("Waiting for the connection").waitFor();
    proxy.setUp(true);
    await chat.getByText("= 42").waitFor();
    await chat.getByRole("button", { name: "Reconnecting…" }).waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.runIf(LONG)("says that the server refuses the token, or cannot be reached", async () => {
    const wrong = await openChat({ session: "wrong", token: "wrong" });
    await wrong.chat.getByText("The server did not accept the credentials of this page.").waitFor();
    // What was typed is not lost.
    await say(wrong.chat, "What is 2+3?");
    await wrong.chat.getByText("Not sent").waitFor();
    await wrong.chat.getByRole("button", { name: "Edit" }).click();
    expect(await wrong.chat.getByRole("textbox", { name: "Message" }).inputValue()).toBe("What is 2+3?");
    expect(wrong.complaints).toEqual([]);
    await wrong.page.context().close();

    const missing = await openChat({ session: "missing", token: "none" });
    await missing.chat.getByText("The server did not accept the credentials of this page.").waitFor();
    await missing.page.context().close();

    proxy.setUp(false);
    const lost = await openChat({ session: "lost" });
    await lost.chat.getByText("Cannot connect to the server.").waitFor();
    proxy.setUp(true);
    await say(lost.chat, "What is 6*7?");
    await lost.chat.getByText("= 42").waitFor();
    await lost.page.context().close();
  });

  it.each(
    sampleCases([
      ["a block without height", {}, {}, [560, 800]],
      ["a block of 360 px", {}, { height: 360 }, [360, 360]],
      ["a flex item", { display: "flex", flexDirection: "column", height: 500 }, { flex: 1, minHeight: 0 }, [500, 500]],
      ["a centred flex item", { display: "flex", justifyContent: "center" }, {}, [560, 800]],
      ["a grid cell", { display: "grid", grid: "100% / 1fr 20rem", height: 480 }, {}, [480, 480]],
      ["an inline block", {}, { display: "inline-block" }, [560, 800]],
      ["a side bar of 280 px", {}, { width: 280, height: 600 }, [600, 600]],
      ["an absolute box", {}, { position: "absolute", inset: 40 }, [720, 720]],
    ] as const),
  )("works in %s", async (_name, outer, inner, [least, most]) => {
    const { page, chat } = await openChat({ session: "talk", outer, inner });
    await chat.getByText("Cancelled", { exact: true }).waitFor();
    const measured = await page.evaluate(() => {
      const measure = (selector: string): { readonly width: number; readonly height: number; bottom: number } => {
        const box = document.querySelector(selector)?.getBoundingClientRect();
        return { width: box?.width ?? 0, height: box?.height ?? 0, bottom: box?.bottom ?? 0 };
      };
      const { scrollWidth, clientWidth } = document.documentElement;
      return {
        chat: measure(".loom-chat"),
        list: measure(".loom-conversation-scroller"),
        send: measure(".loom-composer button[type=submit]"),
        isTooWide: scrollWidth > clientWidth,
      };
    });
    const { chat: box, list, send, isTooWide } = measured;
    expect(box.height).toBeGreaterThanOrEqual(least);
    expect(box.height).toBeLessThanOrEqual(most);
    expect(box.width).toBeGreaterThanOrEqual(280);
    expect(list.height).toBeGreaterThan(150);
    expect(send.bottom).toBeLessThanOrEqual(box.bottom);
    expect(isTooWide).toBe(false);
    await page.context().close();
  });
});

async function naturalWidth(image: Locator): Promise<number> {
  await image.waitFor();
  await expect.poll(() => image.evaluate((one) => (one as HTMLImageElement).complete)).toBe(true);
  return image.evaluate((one) => (one as HTMLImageElement).naturalWidth);
}
