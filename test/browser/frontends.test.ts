// Two frontends, each written from one specification, in a real Chromium against a real server. The pages have another
// origin than the server.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase } from "../../src/context/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { LanguageModel } from "../../src/models/index.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import { type LoomServer, startLoomServer } from "../../src/server/index.ts";
import { createBuiltinTools, createKnowledgeTool } from "../../src/tools/index.ts";
import { sampleCases } from "../sampling.ts";
import { packageRoot } from "../source-files.ts";
import { closeContexts, hasChromium, shareChromium } from "./launch.ts";

const GUIDE = "handbook/zh/deployment-guide.md";

/** The offline model, which can be paused before it answers. */
class HeldModel implements LanguageModel {
  readonly #offline = new OfflineModel();
  readonly specificationVersion = this.#offline.specificationVersion;
  readonly provider = this.#offline.provider;
  readonly modelId = this.#offline.modelId;
  #hold: { readonly asked: () => void; readonly gate: Promise<void> } | undefined;

  async doStream(request: Parameters<OfflineModel["doStream"]>[0]): ReturnType<OfflineModel["doStream"]> {
    const hold = this.#hold;
    this.#hold = undefined;
    hold?.asked();
    await hold?.gate;
    return this.#offline.doStream(request);
  }

  /** Pauses the next model call until `release` is called. */
  hold(): { readonly asked: Promise<void>; readonly release: () => void } {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    this.#hold = { asked: asked.resolve, gate: gate.promise };
    return { asked: asked.promise, release: gate.resolve };
  }
}

async function servePages(): Promise<Server> {
  const server = createServer((request, response) => {
    const name = /^\/(?<name>lumine|engine)\.html(?:\?|$)/.exec(request.url ?? "")?.groups?.["name"];
    if (name === undefined) response.writeHead(request.url === "/favicon.ico" ? 204 : 404).end();
    else
      response
        .writeHead(200, { "content-type": "text/html" })
        .end(readFileSync(join(packageRoot, "examples", "frontends", `${name}.html`)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

describe.skipIf(!hasChromium)("a frontend written from one specification (skipped without Chromium)", () => {
  const log = new MemoryLog();
  const model = new HeldModel();
  let browser: Browser;
  let pages: Server;
  let site: string;
  let base: KnowledgeBase;
  let server: LoomServer;
  beforeAll(async () => {
    [browser, pages, base] = await Promise.all([shareChromium(), servePages(), openKnowledgeBase(":memory:")]);
    site = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    await base.addText({ uri: GUIDE, text: readFileSync(join(packageRoot, "docs", GUIDE), "utf8") });
    const tools = [...createBuiltinTools(), createKnowledgeTool(base)];
    const agents = { react: agent({ model, tools, metrics: false }) };
    server = await startLoomServer({ log, port: 0, agents, origins: [site] });
  });
  afterAll(async () => {
    await closeContexts(browser);
    pages.closeAllConnections();
    pages.close();
    await server.close({ graceMs: 0 });
    await log.close();
    await base.close();
  });

  interface PageFixture {
    readonly page: Page;
    /** URLs of the sockets the page has opened. */
    readonly sockets: string[];
    /** Sends a message and resolves with the parts of the complete answer. */
    ask(content: string): Promise<readonly string[]>;
  }

  async function play(name: "lumine" | "engine", act: (fixture: PageFixture) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      const sockets: string[] = [];
      page.on("websocket", (socket) => sockets.push(socket.url()));
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      await page.goto(`${site}/${name}.html?server=${server.url}`);
      const ask = async (content: string): Promise<readonly string[]> => {
        await say(page, content);
        return readAnswer(page);
      };
      await act({ page, sockets, ask });
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  it.each(sampleCases(["lumine", "engine"] as const))(
    "%s: shows thoughts with their lines, and a spinner",
    async (name) => {
      await play(name, async ({ page, ask }) => {
        await ask("What is 6*7?");
        for (const title of await page.locator("summary").all()) await title.click();
        expect(await page.locator("details").last().innerText()).toMatch(/^Thinking\n?Results/);
        const styles = await page.evaluate(() => {
          const [thinking] = document.querySelectorAll("details");
          const busy = document.querySelectorAll(".tool div")[0];
          if (thinking === undefined || busy === undefined) return undefined;
          busy.replaceChildren();
          busy.className = "busy";
          busy.ariaBusy = "true";
          return [getComputedStyle(thinking).whiteSpace, getComputedStyle(busy, "::after").animationName];
        });
        expect(styles).toEqual(["pre-wrap", "spin"]);
      });
    },
  );

  it("004: shows thinking, a tool and the answer, and reuses the socket", async () => {
    await play("lumine", async ({ page, sockets, ask }) => {
      expect(await ask("What is 6*7?")).toEqual([
        "thinking card: Thinking",
        'tool card: Using tool: calculator {"expression":"6*7"} {"expression":"6*7","result":"42","exact":true}',
        "thinking card: Thinking",
        "text: Offline model: 6*7 = 42.",
      ]);
      await page.locator("summary").first().click();
      expect(await page.locator("details").first().innerText()).toContain("6*7 (calculator)");
      expect((await ask("Hello")).at(-1)).toMatch(/^text: Hello/);
      expect(sockets).toHaveLength(1);
      expect(await page.locator("main").textContent()).not.toContain("[DONE]");
    });
  });

  it("004: shows a to-do list that can be toggled and is updated", async () => {
    await play("lumine", async ({ page, ask }) => {
      const seen = await ask("帮我搜索部署文档，然后创建一个部署清单");
      expect(seen.map((piece) => piece.slice(0, 38))).toEqual([
        "thinking card: Thinking",
        "tool card: Using tool: search_knowledg",
        expect.stringMatching(/^text: 离线模型：根据“部署指南”/),
        "tool card: Using tool: write_todo_list",
        expect.stringMatching(/^todo card: 部署清单 /),
        expect.stringMatching(/^text: 来源：“部署指南”.*条目均为文档原文/),
      ]);
      const boxes = page.getByRole("group", { name: "部署清单" }).getByRole("checkbox");
      expect(await boxes.count()).toBe(8);
      await boxes.nth(1).check();
      expect(await boxes.nth(1).isChecked()).toBe(true);
      await ask("Make a todo list: milk, bread");
      await ask("Mark milk as done");
      expect(await page.getByLabel("milk").isChecked()).toBe(true);
      expect(await page.getByLabel("bread").isChecked()).toBe(false);
    });
  });

  it("003: shows thinking, a tool and a table, and continues its session", async () => {
    await play("engine", async ({ page, ask }) => {
      expect(await ask("What is 6*7?")).toEqual([
        "thinking card: Thinking",
        'tool card: Using tool: calculator {"expression":"6*7"} {"expression":"6*7","result":"42","exact":true}',
        "thinking card: Thinking",
        "text: Offline model: 6*7 = 42.",
      ]);
      const seen = await ask("帮我搜索部署文档，然后创建一个部署清单");
      expect(seen.at(-1)).toMatch(/^text: 来源：“部署指南”.*条目均为文档原文/);
      expect(seen.join("\n")).toContain("安装 Node.js 24 或更高版本");
      await ask("Show a table: name, age; Ann, 3; Bob, 4");
      expect(await page.getByRole("columnheader").allTextContents()).toEqual(["name", "age"]);
      expect(await page.getByRole("cell").allTextContents()).toEqual(["Ann", "3", "Bob", "4"]);
      expect(await log.listRuns(await readSession(page))).toHaveLength(3);
      // A page of another origin can read the run ID, to cancel the run.
      const again = await page.evaluate(async (address) => {
        const headers = { "content-type": "application/json" };
        const body = JSON.stringify({ content: "Hello" });
        const response = await fetch(`${address}/api/chat`, { method: "POST", headers, body });
        return response.headers.get("loom-run");
      }, server.url);
      expect(again).toMatch(/^run-/);
    });
  });

  it.each(
    sampleCases([
      ["lumine", "The model service is unavailable; try again later"],
      ["engine", "offline/offline failed: The offline model failed on request."],
    ] as const),
  )("%s: shows an image, and a failed run as an error", async (name, error) => {
    await play(name, async ({ page, ask }) => {
      await ask("Draw a red circle");
      const image = page.getByAltText("a red circle");
      await expect.poll(() => image.evaluate((node) => (node as { naturalWidth?: number }).naturalWidth)).toBe(200);
      expect((await ask("Make an error")).slice(-2)).toEqual([
        "text: Here is the error you asked for.",
        `error: ${error}`,
      ]);
      expect((await ask("What is 6*7?")).at(-1)).toContain("42");
    });
  });

  it.each(sampleCases(["lumine", "engine"] as const))(
    "%s: continues after a reload, which does not stop the run",
    async (name) => {
      await play(name, async ({ page, ask }) => {
        const { asked, release } = model.hold();
        await say(page, "What is 6*7?");
        await asked;
        const session = await readSession(page);
        await page.reload();
        expect(await page.locator("main").innerText()).toBe("");
        release();
        expect((await ask("What is 6*8?")).at(-1)).toContain("48");
        await expect.poll(async () => (await log.listRuns(session)).at(-1)?.status).toBe("completed");
        // The 003 page names its session and continues it; a 004 page starts a new one.
        expect(await log.listRuns(session)).toHaveLength(name === "engine" ? 2 : 1);
      });
    },
  );

  it.each(sampleCases(["lumine", "engine"] as const))(
    "%s: shows parallel thoughts whole, with their lines",
    async (name) => {
      const agents = { tot: agent({ provider: "offline", kind: "tot", metrics: false }) };
      const tree = await startLoomServer({ log: new MemoryLog(), port: 0, agents, origins: [site] });
      onTestFinished(() => tree.close({ graceMs: 0 }));
      await play(name, async ({ page }) => {
        await page.goto(`${site}/${name}.html?server=${tree.url}`);
        await say(page, "Game of 24: 1 5 5 5");
        expect((await readAnswer(page)).map((piece) => piece.slice(0, 24))).toEqual([
          "thinking card: Thinking",
          "text: Offline model: 5 *",
        ]);
        await page.locator("summary").click();
        const lines = (await page.locator("details").innerText()).split("\n");
        expect(lines.slice(1, 4)).toEqual(["Left: 1 5 5 5.", "", "Left: 5 5 6."]);
        for (const line of lines.slice(1)) expect(line).toMatch(/^(?:Left: [\d/ ]+\.|)$/);
      });
    },
  );
});

async function say(page: Page, content: string): Promise<void> {
  await page.getByLabel("Message").fill(content);
  await page.getByRole("button", { name: "Send" }).click();
}

async function readSession(page: Page): Promise<string> {
  return page.evaluate("document.body.dataset.session ?? sessionStorage.session");
}

/** Returns the parts of the last answer, once it is complete. */
async function readAnswer(page: Page): Promise<readonly string[]> {
  const answer = page.locator("article.agent").last();
  await page.locator('article.agent:last-child[aria-busy="false"]').waitFor();
  return answer
    .locator(":scope > *")
    .evaluateAll((nodes) =>
      (nodes as { className: string; innerText: string }[]).map(
        ({ className, innerText }) => `${className}: ${innerText.replaceAll(/\s+/g, " ").trim()}`,
      ),
    );
}
