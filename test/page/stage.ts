/**
 * The page in a real Chromium, against a real server with the offline model. What the browser complains of, and every
 * request that goes anywhere but to that server, is kept: a test ends with none of either.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { agent, type CommonOptions } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase } from "../../src/context/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { LanguageModel } from "../../src/models/index.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import {
  type AuthOptions,
  createMemoryBlobStore,
  createPage,
  type LoomServer,
  SERVER_LIMITS,
  type ServedAgent,
  startLoomServer,
} from "../../src/server/index.ts";
import { createBuiltinTools, createKnowledgeTool, type Tool } from "../../src/tools/index.ts";
import { findChromium } from "../browser/launch.ts";
import { buildPage } from "./build-page.ts";
import { prepareFonts } from "./fonts.ts";

export interface PageStageOptions {
  readonly model?: LanguageModel;
  /** To choose from beside it, by the names they are served under. */
  readonly furtherModels?: { readonly [name: string]: LanguageModel };
  /** Of the offline model, before each delta; 0 when absent. */
  readonly delayMs?: number;
  /** Beside the built-in ones. */
  readonly tools?: readonly Tool[];
  readonly log?: Log;
  readonly port?: number;
  /** Whom to let in; everybody when absent. */
  readonly auth?: AuthOptions;
}

export interface LookOptions {
  readonly language?: "en" | "zh";
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  readonly reducedMotion?: boolean;
  /** Where to begin, behind the address of the server: `#/s/demo`. */
  readonly path?: string;
  /** Before the page is asked for. */
  readonly prepare?: (context: BrowserContext) => Promise<unknown>;
}

export interface PageStage {
  readonly url: string;
  readonly log: Log;
  readonly server: LoomServer;
  readonly knowledge: KnowledgeBase;
  readonly browser: Browser;
  /** A page of its own, as somebody else has it. */
  look(options?: LookOptions): Promise<Look>;
  close(): Promise<void>;
}

export interface Look {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What must not be: errors, warnings, refusals of the policy, requests to elsewhere. */
  readonly complaints: string[];
  /** What was put on the clipboard. The page may write there; nothing may read from it. */
  readonly copies: readonly string[];
}

export async function launchForPage(): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(),
    chromiumSandbox: false,
    env: { ...process.env, ...prepareFonts() },
  });
}

export async function setPageStage(options: PageStageOptions = {}): Promise<PageStage> {
  const folder = mkdtempSync(join(tmpdir(), "loom-page-"));
  const log = options.log ?? new MemoryLog();
  const knowledge = await openKnowledgeBase(join(folder, "knowledge.db"));
  const [page, browser] = await Promise.all([buildPage(), launchForPage()]);
  const server = await startLoomServer({
    log,
    agents: createServedAgents(options, knowledge),
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    knowledge,
    port: options.port ?? 0,
    page: createPage({ folder: page }),
    ...(options.auth === undefined ? {} : { auth: options.auth }),
  });
  return {
    url: server.url,
    log,
    server,
    knowledge,
    browser,
    look: (given) => openLook(browser, server.url, given),
    async close() {
      await browser.close();
      await server.close();
      await knowledge.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One of each kind and model, as `loom serve` has them. */
export function createServedAgents(
  { model: first, furtherModels = {}, delayMs = 0, tools = [] }: PageStageOptions,
  knowledge?: KnowledgeBase,
): { readonly [name: string]: ServedAgent } {
  const common: Omit<CommonOptions, "model"> = {
    tools: [...createBuiltinTools(), ...(knowledge === undefined ? [] : [createKnowledgeTool(knowledge)]), ...tools],
    metrics: false,
  };
  const served: { [name: string]: ServedAgent } = {};
  const serve = (suffix: string, name: string, model: LanguageModel): void => {
    served[`react${suffix}`] = { agent: agent({ ...common, model, kind: "react" }), model: name };
    served[`tot${suffix}`] = { agent: agent({ ...common, model, kind: "tot" }), model: name };
    served[`got${suffix}`] = { agent: agent({ ...common, model, kind: "got" }), model: name };
    served[`agot${suffix}`] = { agent: agent({ ...common, model, kind: "got", adaptive: true }), model: name };
  };
  serve("", "offline", first ?? new OfflineModel({ delayMs }));
  for (const [name, model] of Object.entries(furtherModels)) serve(`:${name}`, name, model);
  return served;
}

export async function openLook(browser: Browser, url: string, options: LookOptions = {}): Promise<Look> {
  const { language = "en", theme = "light", width = 1280, height = 800, reducedMotion = true, path = "" } = options;
  const context = await browser.newContext({
    locale: language === "zh" ? "zh-CN" : "en-GB",
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    permissions: ["clipboard-write"],
  });
  const copies: string[] = [];
  await watchCopies(context, copies);
  const complaints: string[] = [];
  context.on("request", (request) => {
    const asked = new URL(request.url());
    const isOwn = asked.host === new URL(url).host || asked.protocol === "data:" || asked.protocol === "blob:";
    if (!isOwn) complaints.push(`a request to ${request.url()}`);
  });
  await options.prepare?.(context);
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  await page.goto(`${url}/${path}`);
  return { page, context, complaints, copies };
}

async function watchCopies(context: BrowserContext, copies: string[]): Promise<void> {
  await context.exposeFunction("noteCopy", (text: string) => void copies.push(text));
  await context.addInitScript(() => {
    if (!("clipboard" in navigator)) return;
    const { clipboard } = navigator;
    const write = clipboard.writeText.bind(clipboard);
    clipboard.writeText = async (text) => {
      await write(text);
      await (globalThis as unknown as { noteCopy(copied: string): Promise<void> }).noteCopy(text);
    };
  });
}
