// Hostile texts in Chromium under the page's policy: nothing runs, the page contains nothing forbidden, and requests go
// only to its own server.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleForBrowser } from "../browser/bundle.ts";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { XSS_CORPUS } from "./xss-corpus.ts";
import type { XssOutcome } from "./xss-text-page.tsx";

const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'",
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "require-trusted-types-for 'script'; trusted-types loom",
].join("; ");
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Loom</title>
<div id="root"></div><script type="module" src="/page.js"></script></html>`;

const about = { meta: { threat: "stored-xss" } };

describe.skipIf(!hasChromium)("hostile texts (skipped without Chromium)", about, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
  });

  it("run nothing, load nothing external and leave nothing forbidden in the page", async ({ task }) => {
    task.meta.tried = XSS_CORPUS.length * 6;
    const script = await bundleForBrowser(join(import.meta.dirname, "xss-text-page.tsx"));
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://loopback");
      if (pathname === "/")
        response.setHeader("content-security-policy", POLICY).setHeader("content-type", "text/html").end(PAGE);
      else if (pathname === "/page.js") response.setHeader("content-type", "text/javascript").end(script);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const requests: string[] = [];
      const complaints: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // Images missing on our server are expected. Newer browsers also report the handlers of documents that are only
        // parsed, where nothing can run; the page itself has none (`forbidden`).
        const isExpected = /404|^Executing inline event handler violates/.test(message.text());
        if (message.type() === "error" && !isExpected) complaints.push(message.text());
      });
      await page.goto(origin);
      const outcome = (await page.evaluate(() => (globalThis as { outcome?: unknown }).outcome)) as XssOutcome;
      expect(outcome.forbidden).toEqual([]);
      expect(outcome).toMatchObject({ rendered: XSS_CORPUS.length * 6, hasRun: false, sample: "A bold cell" });
      expect(outcome.elements).toBeGreaterThan(XSS_CORPUS.length * 6);
      const elsewhere = requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:image/"));
      expect(elsewhere).toEqual([]);
      expect(
        requests.filter(
          (url) => !/\/(?:page\.js|image\?url=.*|favicon\.ico)?$/.test(new URL(url).pathname + new URL(url).search),
        ),
      ).toEqual(requests.filter((url) => url.startsWith("data:")));
      expect(complaints).toEqual([]);
      expect(page.url()).toBe(`${origin}/`);
      expect(context.pages()).toHaveLength(1);
    } finally {
      await context.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
