/**
 * The guide "Store sessions in PostgreSQL": a database, two servers and the proxy of the guide. The server that answers is
 * killed, and the page shows the whole answer of the other one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { folder } from "../cli-run.ts";
import { findBlocks } from "../guide-pages.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { LONG } from "../sampling.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { findPort, until } from "../server/kill-fixture.ts";
import { packageRoot } from "../source-files.ts";
import { killServers, type ServerProcess, startServe } from "../start-serve.ts";
import { findAnswer, sendMessage, waitForEnd } from "./journey.ts";
import { openPageAt } from "./page-fixture.ts";
import { serveBuiltPage } from "./serve-process.ts";

const GUIDE = join("docs", "guides", "store-sessions-in-postgresql.md");
const TIMEOUT = 120_000;

/** The proxy of the guide, with other ports. */
function writeProxy(ports: readonly number[], port: number): string {
  const blocks = findBlocks(GUIDE, readFileSync(join(packageRoot, GUIDE), "utf8"));
  const source = blocks.find(({ language, text }) => language === "js" && text.includes("createServer"))?.text ?? "";
  const file = join(folder, "proxy.mjs");
  const changed = source.replace("[10338, 10339]", JSON.stringify(ports)).replace("listen(8080", `listen(${port}`);
  expect(changed).toContain(`listen(${port}, "localhost")`);
  writeFileSync(file, changed);
  return file;
}

// In `npm test`, ../server/shared-database.test.ts has two servers, and resilience.test.ts a server that is killed.
const canRun = LONG && hasChromium && NO_POSTGRES === undefined;
describe.skipIf(!canRun)("two servers behind a proxy (skipped without Chromium or PostgreSQL)", () => {
  let database: PostgresServer;
  let servers: readonly ServerProcess[];
  let proxy: ChildProcess;
  let browser: Browser;
  let url: string;
  beforeAll(async () => {
    const port = await findPort(createRandom(27));
    url = `http://localhost:${port}`;
    [database, browser] = await Promise.all([startPostgres(), shareChromium()]);
    const args = ["--hosts", `localhost:${port}`, "--auth", "off", "--offline-delay", "15ms", "--log-level", "info"];
    servers = await Promise.all([1, 2].map(() => startServe(database.url, args)));
    const ports = servers.map((server) => Number(new URL(server.url).port));
    proxy = spawn(process.execPath, [writeProxy(ports, port)], { stdio: ["ignore", "inherit", "inherit"] });
    await until(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true, "the proxy listens");
  }, TIMEOUT);
  afterAll(async () => {
    await closeContexts(browser);
    const ended = once(proxy, "exit");
    proxy.kill();
    await ended;
    killServers();
    await database.stop();
  }, TIMEOUT);

  it("shows the whole answer after the server that wrote it was killed", { timeout: TIMEOUT }, async () => {
    const { page } = await openPageAt(browser, url, { prepare: serveBuiltPage });
    page.setDefaultTimeout(60_000);
    await sendMessage(page, "What can you do?");
    await findAnswer(page).getByText("Offline model: This is a demo").waitFor();
    const writer = servers.find((server) => server.readErrors().includes("run started"));
    const other = servers.find((server) => server !== writer);
    expect([writer, other]).not.toContain(undefined);
    writer?.process.kill("SIGKILL");
    await writer?.ended;
    expect(await findAnswer(page).innerText()).not.toContain("choose a model");
    await waitForEnd(page);
    expect(await findAnswer(page).innerText()).toContain("choose a model");
    expect(await page.getByText("Interrupted, answered again").count()).toBe(1);
    expect(other?.readErrors()).toContain("run resumed");
  });
});
