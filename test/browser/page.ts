/**
 * Serves one page on loopback under a strict Content-Security-Policy and opens it in Chromium. Its script returns its
 * result as a promise in `globalThis.outcome`. Errors and warnings of the browser are collected.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { bundleForBrowser } from "./bundle.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types loom loom-chart";
const HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Loom</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/page.css">
<div id="root"></div><script type="module" src="/page.js"></script></html>`;

export interface PageOutcome<T> {
  readonly outcome: T;
  /** Errors and warnings of the browser, the page and its policy. */
  readonly complaints: readonly string[];
}

export type PageRequestHandler = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

export interface PageOptions {
  /** Handles the requests that are not for the page itself. */
  readonly answer?: PageRequestHandler;
  readonly styles?: string;
}

export async function runPage<T>(
  browser: Browser,
  entry: string,
  { answer, styles = "" }: PageOptions = {},
): Promise<PageOutcome<T>> {
  const script = await bundleForBrowser(entry);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://loopback");
    const send = (type: string, body: string): unknown =>
      response.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(body);
    if (url.pathname === "/") send("text/html", HTML);
    else if (url.pathname === "/page.js") send("text/javascript", script);
    else if (url.pathname === "/page.css") send("text/css", styles);
    else if (answer === undefined) response.writeHead(404).end();
    else answer(request, response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const outcome = await page.evaluate(() => (globalThis as { outcome?: unknown }).outcome);
    const reported = [...complaints];
    if (!(await page.evaluate(refusesEval))) throw new Error("the page's Content-Security-Policy is not enforced");
    if (outcome === undefined) throw new Error(`the page returned no result: ${reported.join("; ")}`);
    return { outcome: outcome as T, complaints: reported };
  } finally {
    await context.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Runs in a separate task of the page, because code evaluated by the test is exempt from the policy. */
function refusesEval(): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(() => {
      try {
        // oxlint-disable-next-line eslint/no-new, eslint/no-new-func, typescript/no-implied-eval
        new Function("");
        resolve(false);
      } catch {
        resolve(true);
      }
    });
  });
}
