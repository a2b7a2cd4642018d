/**
 * What a new user does in the first minutes, with `loom serve` and the offline model, on a desktop and on a phone with
 * touch: ask, watch a search, read the answer, approve, edit and regenerate, cite, export, fork from a checkpoint, reload
 * during a run, and go on after the server was killed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "../browser/launch.ts";
import { folder } from "../cli-run.ts";
import { LONG } from "../sampling.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { findPort } from "../server/kill-fixture.ts";
import { findAnswer, findRun, PHONE, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { openPageAt, type OpenPageOptions } from "./page-fixture.ts";
import { serveBuiltPage, ServeProcess } from "./serve-process.ts";

const STEP_TIMEOUT_MS = 60_000;
const PLAN =
  "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12";

const DEVICES: readonly (OpenPageOptions & { readonly name: string })[] = [
  { name: "a phone", ...PHONE, hasTouch: true },
  { name: "a desktop", width: 1280, height: 800 },
];

describe.skipIf(!hasChromium)("the first minutes (skipped without Chromium)", { timeout: 240_000 }, () => {
  let browser: Browser;
  let server: ServeProcess;
  beforeAll(async () => {
    const port = await findPort(createRandom(28));
    const store = join(folder, "ten-steps.db");
    server = new ServeProcess(port, store, "--kb", join(folder, "ten-steps-kb.db"), "--offline-delay", "10ms");
    [browser] = await Promise.all([shareChromium(), server.start()]);
  });
  afterAll(async () => {
    await closeContexts(browser);
    await server.kill();
  });

  // Other tests have the same actions with more checks.
  it.runIf(LONG).each(DEVICES)("on $name", async ({ name, ...device }) => {
    const { page, context, complaints } = await openPageAt(browser, server.url, { ...device, prepare: serveBuiltPage });
    page.setDefaultTimeout(STEP_TIMEOUT_MS);
    const isPhone = device.hasTouch === true;
    const press = (target: Locator): Promise<void> => (isPhone ? target.tap() : target.click());
    const button = (label: string | RegExp): Locator => page.getByRole("button", { name: label, exact: true });
    const startSession = async (): Promise<void> => {
      if (isPhone) await press(button("Show sessions"));
      await press(button("New session").first());
      await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();
    };
    const isInView = (target: Locator): Promise<boolean> =>
      target.evaluate((element) => {
        const { top, height } = element.getBoundingClientRect();
        return height > 0 && top >= 0 && top < innerHeight;
      });

    // 1: ask.
    const ask = async (): Promise<void> => {
      await sendMessage(page, "What is 17*23?");
      await findAnswer(page).getByText("17*23 = 391").waitFor();
      await waitForEnd(page);
    };
    // 2: watch a search. 3: its answer is in view when it ends.
    const search = async (): Promise<void> => {
      await press(page.getByRole("button", { name: /^Search with backtracking/ }));
      await page.locator(".loom-thoughts, .loom-tree").first().waitFor();
      await waitForEnd(page);
      await expect.poll(() => isInView(findAnswer(page).locator(".loom-part-text").last())).toBe(true);
    };
    // 4: approve.
    const approveAndEdit = async (): Promise<void> => {
      await sendMessage(page, "Ask me for approval, then calculate 1234 * 5678");
      await press(findRun(page).getByRole("button", { name: "Allow", exact: true }));
      await findAnswer(page).getByText("= 7006652").waitFor();
      await waitForEnd(page);

      // 5: edit, then regenerate.
      await press(findRun(page).getByRole("button", { name: "Edit message" }));
      await page.getByRole("textbox", { name: "Edited message" }).fill("What is 6*7?");
      await press(page.getByRole("button", { name: "Send", exact: true }).first());
      await findAnswer(page).getByText("6*7 = 42").waitFor();
      await waitForEnd(page);
      await press(findRun(page).getByRole("button", { name: /^(Regenerate|Retry)$/ }));
      await page.getByRole("group", { name: "Version 3 of 3", exact: true }).waitFor();
      await waitForEnd(page);
    };
    // 6: add a document, and open a cited passage.
    const citeAndExport = async (): Promise<void> => {
      if (isPhone) await press(button("Show sessions"));
      await press(button("Knowledge base"));
      const knowledge = page.getByRole("dialog", { name: "Knowledge base" });
      const document = `# Zoo of ${name}\n\nThe elephants of ${name} live in house four.\n`;
      await knowledge
        .locator('input[type="file"]')
        .setInputFiles([{ name: "zoo.md", mimeType: "text/markdown", buffer: Buffer.from(document) }]);
      await knowledge.getByText("Added").first().waitFor();
      await press(knowledge.getByRole("button", { name: "Close", exact: true }));
      await knowledge.waitFor({ state: "detached" });
      if (isPhone) await page.keyboard.press("Escape");
      await sendMessage(page, "Look up where the elephants live");
      await waitForEnd(page);
      await press(
        findAnswer(page)
          .getByRole("button", { name: /^Source 1/ })
          .first(),
      );
      await page.getByRole("region", { name: "Cited passage" }).getByText("live in house four").waitFor();
      await page.keyboard.press("Escape");

      // 7: export.
      await press(findRun(page).getByRole("button", { name: "More actions" }));
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        press(page.getByRole("menuitem", { name: "Export as Markdown" })),
      ]);
      expect(readFileSync(await download.path(), "utf8")).toContain("house four");
    };
    // 8: fork from a checkpoint with another state.
    const fork = async (): Promise<void> => {
      await sendMessage(page, "What is 12*12?");
      await waitForEnd(page);
      const before = readSessionId(page);
      await press(button("Inspector"));
      const inspector = page.getByRole("region", { name: "Run inspector" });
      await press(inspector.getByRole("tab", { name: "State" }));
      await press(inspector.getByRole("button", { name: "Edit and fork from step 0" }));
      const state = inspector.getByRole("textbox", { name: "State at the checkpoint (JSON)" });
      await state.fill((await state.inputValue()).replace("12*12", "3*5"));
      await press(inspector.getByRole("button", { name: "Fork and run" }));
      await expect.poll(() => readSessionId(page)).not.toBe(before);
      await findAnswer(page).getByText("3*5 = 15").waitFor();
      await waitForEnd(page);
    };
    // 9: reload during a run.
    const reload = async (): Promise<void> => {
      await sendMessage(page, PLAN);
      await findAnswer(page).waitFor();
      await page.reload();
      await findAnswer(page).getByText("40", { exact: false }).first().waitFor();
      await waitForEnd(page);
    };
    // 10: kill the server during an answer. The page says so, and shows the whole answer later.
    const kill = async (): Promise<void> => {
      await sendMessage(page, "What can you do?");
      await findAnswer(page).getByText("Offline model").waitFor();
      expect(complaints).toEqual([]);
      await server.kill();
      await page
        .getByText(/reconnect/i)
        .first()
        .waitFor();
      await server.start();
      await findAnswer(page).getByText("Game of 24").first().waitFor();
      await waitForEnd(page);
    };

    for (const [index, step] of [ask, search, approveAndEdit, citeAndExport, fork, reload, kill].entries()) {
      if (index > 0) await startSession();
      await step();
      if (step !== kill) expect(complaints).toEqual([]);
    }
    await context.close();
  });
});
