// Recording runs of the AI SDK as users do it: the packed package and `ai` in an empty project, and there the servers of
// examples/hono and examples/express, and one with only the lines of the guide. A page in Chromium is reloaded in the
// middle of an answer, and a client is killed.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "./browser/launch.ts";
import { buildPackage } from "./build-package.ts";
import { LONG, sampleCases } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

const WORD_MS = 60;
const EXAMPLES = ["hono", "express"];
/** The short run starts one of the examples. */
const SERVERS = [...sampleCases(EXAMPLES), "short"];
/** A busy machine needs longer than the default. */
const TIMEOUT_MS = 60_000;
/** Addresses of the servers by name. */
const urls = new Map<string, string>();
const project = realpathSync(mkdtempSync(join(tmpdir(), "loom-example-servers-")));
const children = new Set<ChildProcess>();

/**
 * The shortest server, as in the guide. It also serves the page of the examples, which asks for the live run. The single
 * quotes tell its import from one of this file, which would need a thread alone (`vitest.config.ts`).
 */
const SHORT_SERVER = `
import { readFileSync } from "node:fs";
import { serve } from '@hono/node-server';
import { Hono } from "hono";
import { streamText } from "ai";
import { openSqliteLog, record } from "loom-agent";
import { fromAISDK, resumeRun } from "loom-agent/adapters";
import { model } from "./model.ts";

const log = await openSqliteLog(process.env.STORE);
const app = new Hono();
app.post("/chats/:id", async (context) => {
  const { message } = await context.req.json();
  const messages = [{ role: "user", content: message }];
  const sessionId = context.req.param("id");
  const run = await record(log, { sessionId, message }, fromAISDK(streamText({ model, messages })));
  return run.toResponse({ dialect: "ai-sdk" });
});
app.get("/chats/:id/stream", (context) => {
  const cursor = context.req.header("last-event-id");
  return resumeRun(log, { sessionId: context.req.param("id"), runId: context.req.query("run"), cursor }, { dialect: "ai-sdk" });
});
app.get("/", (context) => context.html(readFileSync("page.html", "utf8")));
app.get("/chats/:id", async (context) => {
  const id = context.req.param("id");
  const [run] = (await log.getSession(id)) === undefined ? [] : await log.listRuns(id, { limit: 1 });
  return context.json({ messages: [], run: run?.runId });
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => console.log("http://127.0.0.1:" + port));
`;

/** Sends a message and prints what it receives. */
const CLIENT = `
const [url] = process.argv.slice(1);
const headers = { "content-type": "application/json" };
const response = await fetch(url, { method: "POST", headers, body: '{"message":"Hello"}' });
for await (const bytes of response.body) process.stdout.write(bytes);
`;

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

function readManifest(...path: readonly string[]): Manifest {
  return JSON.parse(readFileSync(join(...path, "package.json"), "utf8")) as Manifest;
}

/** Copies packages of the checkout and all that they need into the project, as an installation would. */
function install(names: Iterable<string>, installed = new Set<string>()): void {
  for (const name of names) {
    const from = join(packageRoot, "node_modules", name);
    if (installed.has(name)) continue;
    installed.add(name);
    cpSync(from, join(project, "node_modules", name), { recursive: true });
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = readManifest(from);
    const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
    install([...Object.keys(dependencies), ...peers], installed);
  }
}

beforeAll(async () => {
  cpSync(await buildPackage(), join(project, "node_modules", "loom-agent"), { recursive: true });
  const { dependencies = {} } = readManifest(packageRoot);
  install([...Object.keys(dependencies), "ai", ...(SERVERS.includes("express") ? ["express"] : [])]);
  for (const name of SERVERS)
    cpSync(join(packageRoot, "examples", name === "short" ? "hono" : name), join(project, name), { recursive: true });
  writeFileSync(join(project, "short", "server.ts"), SHORT_SERVER);
  await Promise.all(
    SERVERS.map(async (name) => {
      const [, out] = await start(["server.ts"], name, /^http:.*\n/);
      urls.set(name, out.trim());
    }),
  );
});

afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(project, { recursive: true, force: true });
});

/** Starts a program and resolves when its output matches. */
function start(args: readonly string[], name: string, pattern: RegExp): Promise<[ChildProcess, string]> {
  const cwd = join(project, name);
  const env = { ...process.env, PORT: "0", STORE: join(cwd, "chats.db"), WORD_MS: String(WORD_MS) };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  return new Promise((resolve, reject) => {
    let out = "";
    child.once("close", () => reject(new Error(`${name} ended: ${out}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (pattern.test(out)) resolve([child, out]);
    });
  });
}

const readAnswer = (stream: string): string =>
  [...stream.matchAll(/^data: (.*)$/gm)]
    .map(([, data = ""]) => JSON.parse(data) as { readonly delta?: string })
    .map(({ delta = "" }) => delta)
    .join("");

describe.concurrent("a server in an empty project", { timeout: TIMEOUT_MS }, () => {
  it.each(sampleCases(SERVERS))("gives the rest of an answer after its client was killed: %s", async (name) => {
    const url = urls.get(name);
    const chat = `${url}/chats/killed`;
    const [client, seen] = await start(["--input-type=module", "-e", CLIENT, chat], name, /slowly,.*\n\n/);
    client.kill("SIGKILL");
    const complete = seen.slice(0, seen.lastIndexOf("\n\n") + 2);
    const lastEventId = [...complete.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
    const rest = await (await fetch(`${chat}/stream`, { headers: { "last-event-id": lastEventId } })).text();
    expect(rest).not.toBe("");
    expect(readAnswer(complete + rest)).toMatch(/^This is answer 1 .* no word is lost\.$/);
    const runId = /"messageId":"([^"]+)"/.exec(complete)?.[1] ?? "";
    const whole = await (await fetch(`${chat}/stream?run=${runId}`)).text();
    expect(complete + rest).toBe(whole);
    const after = await fetch(`${chat}/stream`);
    expect(after.status).toBe(204);
  });
});

// In `npm test`, the page of example-ai-sdk-chat.test.ts is reloaded during an answer.
describe.skipIf(!LONG || !hasChromium)(
  "the page of an example (skipped without Chromium)",
  { timeout: TIMEOUT_MS },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await shareChromium();
    });
    afterAll(() => closeContexts(browser));

    const answerOf = (page: Page): Promise<string> => page.locator(".assistant").last().innerText();
    const ask = async (page: Page, message: string): Promise<void> => {
      await page.getByLabel("Message").fill(message);
      await page.getByRole("button", { name: "Send" }).click();
    };
    const waitForEnd = (page: Page): Promise<void> =>
      page.locator(".assistant").last().and(page.locator("[data-done]")).waitFor();

    it.concurrent.each(SERVERS)("shows the whole answer after a reload: %s", async (name) => {
      const url = urls.get(name);
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${url}/?chat=reloaded`);
      await ask(page, "Hello");
      await page.getByText("slowly,").waitFor();
      expect(await answerOf(page)).not.toContain("lost.");
      await page.reload();
      await page.getByText("slowly,").waitFor();
      expect(await answerOf(page)).not.toContain("lost.");
      await waitForEnd(page);
      expect(await answerOf(page)).toMatch(/^This is answer 1 of this chat\. It comes slowly, .* no word is lost\.$/);
      if (name === "short") return;
      await ask(page, "And again");
      await page.getByText("This is answer 2 of this chat").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await waitForEnd(page);
      const stopped = await answerOf(page);
      expect(stopped).not.toContain("lost.");
      await page.reload();
      await page.getByText("This is answer 2").waitFor();
      expect(await page.locator("p").allInnerTexts()).toMatchObject([
        "Hello",
        expect.stringMatching(/lost\.$/),
        "And again",
        stopped,
      ]);
    });
  },
);

describe("the examples", () => {
  it.each(["chat.ts", "model.ts", "page.html"])("have the same %s", (file) => {
    const [first, ...others] = EXAMPLES.map((name) => readFileSync(join(packageRoot, "examples", name, file), "utf8"));
    for (const other of others) expect(other).toBe(first);
  });

  it.each(EXAMPLES)("name the versions that are tested: %s", (name) => {
    for (const [dependency, version] of Object.entries(
      readManifest(packageRoot, "examples", name).dependencies ?? {},
    )) {
      const folder = dependency === "loom-agent" ? packageRoot : join(packageRoot, "node_modules", dependency);
      expect([dependency, version]).toEqual([dependency, (readManifest(folder) as { version?: string }).version]);
    }
  });
});
