// The start page in a real Chromium, with a real server: a message is answered, and the policy of the page is kept.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/index.ts";
import { createStartPage } from "../../src/server/pages/start-page.ts";
import { createBuiltinTools } from "../../src/tools/index.ts";
import { hasChromium, launchChromium } from "./launch.ts";

describe.skipIf(!hasChromium)("the start page (skipped where there is no Chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
  });

  it("asks, shows tools and answer, asks for consent, stops, and changes its language", async () => {
    const log = new MemoryLog();
    const server = await startLoomServer({
      log,
      port: 0,
      basePath: "/agents",
      agents: {
        react: agent({ model: "offline", tools: createBuiltinTools() }),
        tot: agent({ kind: "tot", model: "offline" }),
      },
      page: createStartPage({ model: "offline" }),
    });
    const context = await browser.newContext({ locale: "en-GB", viewport: { width: 360, height: 640 } });
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // What is refused or cut off below is told there too.
        if (message.text().startsWith("Failed to load resource: ")) return;
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      await page.goto(`${server.url}/`);
      await page.getByLabel("Message").fill("What is 6*7?");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Done.", { exact: true }).waitFor();
      expect(await page.locator("article.agent .text").last().textContent()).toContain("42");
      expect(await page.locator("summary").allTextContents()).toContain("calculator: done");
      const ask = async (message: string): Promise<void> => {
        await page.getByLabel("Message").fill(message);
        await page.getByRole("button", { name: "Send" }).click();
        // While it works there is "Stop" in its place.
        await page.getByRole("button", { name: "Send" }).waitFor();
      };
      await ask("Draw a red circle");
      const image = page.getByAltText("a red circle");
      await expect.poll(() => image.evaluate((node) => (node as { naturalWidth?: number }).naturalWidth)).toBe(200);
      await ask("Show a table: name, age; Ann, 3; Bob, 4");
      expect(await page.getByRole("cell").allTextContents()).toEqual(["Ann", "3", "Bob", "4"]);
      await ask("Make a todo list: milk, bread");
      const answered = page.waitForResponse((response) => response.request().method() === "PATCH");
      await page.getByLabel("bread").check();
      expect((await answered).status()).toBe(200);
      await ask("Mark milk as done");
      expect(await page.getByLabel("milk").isChecked()).toBe(true);
      await page.getByLabel("Message").fill("Ask me before you add 6 and 7");
      await page.getByLabel("Message").press("Enter");
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("Done.", { exact: true }).waitFor();
      await page.getByLabel("Message").fill("Ask me before you add 6 and 8");
      await page.getByLabel("Message").press("Enter");
      await page.getByRole("button", { name: "Refuse" }).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
      // One that is left says nothing in the next, and what is refused is not worked on.
      await page.getByLabel("Message").fill("Ask me before you add 6 and 9");
      await page.getByLabel("Message").press("Enter");
      await page.getByText("May this tool run? ask_consent", { exact: true }).waitFor();
      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByLabel("Message").fill("x".repeat(300_000));
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Error: ").waitFor();
      await page.getByRole("button", { name: "Send" }).waitFor();
      expect(await page.locator("#status").textContent()).toBe("");
      expect(await page.locator("[aria-busy]").count()).toBe(0);
      // Nobody answers: told to stop twice, the page is free again.
      await page.route("**/api/chat", (route) => route.abort());
      await page.getByLabel("Message").fill("Anybody?");
      await page.getByLabel("Message").press("Enter");
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Send" }).waitFor();
      expect(await page.locator("#about").textContent()).toContain("no language model");
      expect(await page.getByLabel("Agent").locator("option").allTextContents()).toEqual(["react", "tot"]);
      await page.getByRole("button", { name: "中文" }).click();
      expect(await page.getByLabel("消息").isVisible()).toBe(true);
      expect(await page.locator("#curl").textContent()).toContain(`curl -N ${server.url}/api/chat`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      expect(complaints).toEqual([]);
      const shot = process.env["LOOM_SHOT"];
      if (shot !== undefined) await page.screenshot({ path: shot, fullPage: true });
    } finally {
      await context.close();
      await server.close({ graceMs: 0 });
      await log.close();
    }
  });
});
