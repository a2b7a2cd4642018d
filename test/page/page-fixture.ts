/**
 * The page in Chromium, with a real server and the offline model. Browser errors, warnings and requests to other hosts
 * are collected; tests expect none.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { agent, type CommonOptions } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase } from "../../src/context/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { LanguageModel } from "../../src/models/index.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import {
  type AuthOptions,
  createMemoryBlobStore,
  type LoomServer,
  type LoomServerOptions,
  SERVER_LIMITS,
  startLoomServer,
} from "../../src/server/index.ts";
import type { ServedAgent } from "../../src/server/runs/run-dispatcher.ts";
import { createBuiltinTools, createKnowledgeTool, type Tool } from "../../src/tools/index.ts";
import { closeContexts, shareChromium } from "../browser/launch.ts";
import { shareBuiltPage } from "./build-page.ts";

export interface PageFixtureOptions {
  readonly model?: LanguageModel;
  /** Additional models by the name they are served under. */
  readonly furtherModels?: { readonly [name: string]: LanguageModel };
  /** Delay of the offline model before each delta; default 0. */
  readonly delayMs?: number;
  /** In addition to the built-in tools. */
  readonly tools?: readonly Tool[];
  /** Default: one agent per kind and model. */
  readonly agents?: { readonly [name: string]: ServedAgent };
  readonly log?: Log;
  readonly port?: number;
  /** Default: authentication is off. */
  readonly auth?: AuthOptions;
  /** Default: loopback. */
  readonly reach?: Pick<LoomServerOptions, "host" | "allowLinks">;
}

export interface OpenPageOptions {
  readonly language?: "en" | "zh";
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  readonly reducedMotion?: boolean;
  /** A touch screen. */
  readonly hasTouch?: boolean;
  /** Path after the server URL, such as `#/s/demo`. */
  readonly path?: string;
  /** Called before the page is loaded. */
  readonly prepare?: (context: BrowserContext) => Promise<unknown>;
}

export interface PageFixture {
  readonly url: string;
  readonly log: Log;
  readonly server: LoomServer;
  readonly knowledge: KnowledgeBase;
  readonly browser: Browser;
  /** Opens the page in a new browser context, like another user. */
  open(options?: OpenPageOptions): Promise<OpenedPage>;
  close(): Promise<void>;
}

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Browser errors and warnings, policy violations and requests to other hosts. */
  readonly complaints: string[];
  /** Texts copied to the clipboard. The page may write it but not read it. */
  readonly copies: readonly string[];
}

export async function createPageFixture(options: PageFixtureOptions = {}): Promise<PageFixture> {
  const folder = mkdtempSync(join(tmpdir(), "loom-page-"));
  const log = options.log ?? new MemoryLog();
  const knowledge = await openKnowledgeBase(join(folder, "knowledge.db"));
  const [page, browser] = await Promise.all([shareBuiltPage(), shareChromium()]);
  const server = await startLoomServer({
    log,
    agents: options.agents ?? createServedAgents(options, knowledge),
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    knowledge,
    port: options.port ?? 0,
    page,
    ...(options.auth === undefined ? {} : { auth: options.auth }),
    ...options.reach,
  });
  return {
    url: server.url,
    log,
    server,
    knowledge,
    browser,
    open: (given) => openPageAt(browser, server.url, given),
    async close() {
      await closeContexts(browser);
      await server.close();
      await knowledge.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One agent per kind and model, as `loom serve` has them. */
export function createServedAgents(
  { model: first, furtherModels = {}, delayMs = 0, tools = [] }: PageFixtureOptions,
  knowledge?: KnowledgeBase,
): { readonly [name: string]: ServedAgent } {
  const common: Omit<CommonOptions, "model"> = {
    tools: [...createBuiltinTools(), ...(knowledge === undefined ? [] : [createKnowledgeTool(knowledge)]), ...tools],
    metrics: false,
    recordPrompts: true,
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

export async function openPageAt(browser: Browser, url: string, options: OpenPageOptions = {}): Promise<OpenedPage> {
  const { language = "en", theme = "light", width = 1280, height = 800, reducedMotion = true, path = "" } = options;
  const { hasTouch = false } = options;
  const context = await browser.newContext({
    locale: language === "zh" ? "zh-CN" : "en-GB",
    colorScheme: theme,
    viewport: { width, height },
    hasTouch,
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    permissions: ["clipboard-write"],
  });
  const copies: string[] = [];
  await watchCopies(context, copies);
  const complaints: string[] = [];
  context.on("request", (request) => {
    const asked = new URL(request.url());
    const isOwn = asked.host === new URL(url).host || asked.protocol === "data:" || asked.protocol === "blob:";
    if (!isOwn) complaints.push(`request to ${request.url()}`);
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
