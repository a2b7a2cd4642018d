// Turns of a conversation: stop, retry, edit, queue and attach files.
import { setTimeout as pause } from "node:timers/promises";
import type { WebSocketRoute } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { LogWriter } from "./log-writer.ts";
import { PausableModel } from "./pausable-model.ts";
import { findAnswer, findRun, openPage, PHONE, readEvents, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

/** One transparent pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

type Recording = typeof globalThis & { heights?: readonly number[]; signs?: readonly string[] };

/** The page renders between the messages, each of which ends within a run. */
function deliverSlowly(socket: WebSocketRoute): void {
  let work = Promise.resolve();
  const forward = async (text: string): Promise<void> => {
    const message = JSON.parse(text) as { readonly frames?: readonly string[] };
    const { frames = [] } = message;
    if (frames.length === 0) socket.send(text);
    for (let at = 0; at < frames.length; at += 332) {
      socket.send(JSON.stringify({ ...message, frames: frames.slice(at, at + 332) }));
      await pause(50);
    }
  };
  socket.connectToServer().onMessage((text) => (work = work.then(() => forward(String(text)))));
}

/** Runs in the page: records the elements that only a live run has. */
function recordSignsOfLife(): void {
  const signs = new Set<string>();
  const isAlive = (button: Element): boolean => /^(Stop|Running)/.test(button.textContent ?? "");
  new MutationObserver(() => {
    for (const found of document.querySelectorAll(".loom-stage, .loom-run-footer[data-status=running]"))
      signs.add(found.className);
    for (const button of document.querySelectorAll("button")) if (isAlive(button)) signs.add(button.textContent ?? "");
    (globalThis as Recording).signs = [...signs];
  }).observe(document, { subtree: true, childList: true });
}

/** Runs in the page: records the different heights of the attachments of the message. */
function recordAttachments(): void {
  const seen = new Set<number>();
  const record = (): void => {
    const list = document.querySelector(".loom-user .loom-attachments");
    if (list !== null) seen.add(Math.round(list.getBoundingClientRect().height));
    (globalThis as Recording).heights = [...seen];
    requestAnimationFrame(record);
  };
  record();
}

describe.skipIf(!hasChromium)("turns on the page (skipped without Chromium)", () => {
  const model = new PausableModel();
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model });
  });
  afterAll(() => fixture.close());
  afterEach(() => model.resume());

  it("stops a run and retries it", async () => {
    const { page, context, complaints } = await openPage(fixture, { theme: "dark" });
    model.pauseAt("text-delta", 3);
    await sendMessage(page, "What can you do?");
    await findAnswer(page).getByText("Offline").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await findRun(page).getByText("Cancelled").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    await page.getByRole("status").getByText("Run stopped.").waitFor();

    model.resume();
    await page.getByRole("button", { name: "Retry" }).click();
    // The answer is another version of the same message.
    await page.getByRole("group", { name: "Version 2 of 2", exact: true }).waitFor();
    await waitForEnd(page);
    const said = page.getByRole("group", { name: "You", exact: true }).getByText("What can you do?", { exact: true });
    expect(await said.count()).toBe(1);
    await page.getByRole("status").getByText("Answer complete.").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("shows no run as live while it loads a finished conversation", async () => {
    const writer = await new LogWriter(fixture.log, "finished").open();
    for (let run = 1; run <= 1000; run++) {
      writer.begin(`r${run}`, { message: `Question ${run}` });
      writer.put({ type: "message_chunk", id: "think", content: `Answer ${run} ` });
      writer.put({ type: "message_chunk", id: "think", content: "word ".repeat(50) });
      writer.end({}, `Answer ${run}`);
    }
    await writer.flush();
    const { page, context, complaints } = await openPage(fixture, {
      path: "#/s/finished",
      prepare: async (made) => {
        await made.addInitScript(recordSignsOfLife);
        await made.routeWebSocket(/./, deliverSlowly);
      },
    });
    await page.getByText("Answer 1000", { exact: false }).waitFor();
    await waitForEnd(page);
    expect(await page.evaluate(() => (globalThis as Recording).signs)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("marks a session in the list whose run failed", async () => {
    const failing = await new LogWriter(fixture.log, "failing").open();
    failing.begin("r1", { message: "Fails" });
    const other = await new LogWriter(fixture.log, "other").open();
    other.begin("r2", { message: "Ends" });
    await Promise.all([failing.flush(), other.flush()]);
    const { page, context, complaints } = await openPage(fixture, { path: "#/s/other" });
    const row = page.locator('[data-root="failing"]');
    await row.getByRole("img", { name: "Running" }).waitFor();
    failing.end({ status: "error", code: "model_failed" });
    await failing.flush();
    // The page loads the list of runs when a run of the shown session ends.
    other.end({}, "Done");
    await other.flush();
    await row.getByRole("img", { name: "Failed" }).waitFor();
    // Also on a page that did not see the run.
    await page.reload();
    await row.getByRole("img", { name: "Failed" }).waitFor();
    await row.getByRole("link").click();
    await findRun(page).getByText("Failed", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("says what was done about an error after which the run continued", async () => {
    const writer = await new LogWriter(fixture.log, "continued").open();
    writer.begin("r1", { message: "Summarize this" });
    const message = "The prompt has 9000 tokens, and nothing more can be removed.";
    writer.put({ type: "error", message, code: "prompt_too_large", stage: "compression", recoverable: true });
    await writer.flush();
    const { page, context, complaints } = await openPage(fixture, { path: "#/s/continued" });
    const notice = findRun(page).getByRole("group", { name: "Notice" });
    await notice.getByText("The input may be too long for the model. It was sent anyway.").waitFor();
    writer.put({ type: "message_chunk", id: "think", content: "Here it is." });
    writer.end({}, "Here it is.");
    await writer.flush();
    await waitForEnd(page);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.locator(".loom-error").count()).toBe(0);
    await notice.getByRole("button", { name: "Details" }).click();
    await notice.getByText(message).waitFor();
    await notice.getByText("prompt_too_large").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says in an error what was kept and what to do, with one action, and leaves codes to its details", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", ...PHONE });
    await sendMessage(page, "出一个错误", "zh");
    const error = findAnswer(page, "zh").getByLabel("错误", { exact: true });
    await error.getByText("模型出错。").waitFor();
    await error.getByText("已有的回答已保留。请重试，或选择其他模型。").waitFor();
    await findRun(page).getByText("失败", { exact: true }).waitFor();
    await error.getByRole("button", { name: "重试" }).waitFor();
    expect(
      await findRun(page)
        .getByRole("button", { name: /重新生成|重试|有帮助|没帮助|好|差/ })
        .count(),
    ).toBe(1);
    expect(await findRun(page).getByText("model_failed").count()).toBe(0);
    await error.getByRole("button", { name: "详细信息" }).click();
    await error.getByText("离线模型按要求出错。").waitFor();
    await error.getByText("model_failed").waitFor();
    // The answer so far is also found by search.
    await page.getByRole("button", { name: /显示会话/ }).click();
    await page.getByRole("searchbox", { name: "搜索会话" }).fill("这就是你要的");
    await page.getByRole("listitem").getByText("离线模型：这就是你要的错误。").waitFor();
    await page.getByRole("link", { name: /^出一个错误/ }).click();
    const red = await error.evaluate((banner) => getComputedStyle(banner).borderTopColor);
    const [r = 0, g = 255, b = 255] = red.match(/[\d.]+/g)?.map(Number) ?? [];
    expect(r).toBeGreaterThan(2 * Math.max(g, b));

    await error.getByRole("button", { name: "重试" }).click();
    await page.getByRole("group", { name: "第 2 个版本，共 2 个", exact: true }).waitFor();
    await findRun(page).getByText("失败", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("edits a message in a fork of the session, and switches between its versions", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    await sendMessage(page, "What is 2+3?");
    await waitForEnd(page, "en", 2);
    const before = readSessionId(page);

    await findRun(page).getByRole("button", { name: "Edit message" }).click();
    const box = page.getByRole("textbox", { name: "Edited message" });
    expect(await box.inputValue()).toBe("What is 2+3?");
    await box.fill("What is 20+30?");
    // The key that sends messages.
    await box.press("Shift+Enter");
    await box.press("Enter");
    await findAnswer(page).getByText("20+30 = 50").waitFor();
    await waitForEnd(page, "en", 2);
    const after = readSessionId(page);
    expect(after).not.toBe(before);
    const feed = page.getByRole("feed");
    await feed.getByText("6*7 = 42").waitFor();
    expect(await feed.getByText("2+3 = 5", { exact: false }).count()).toBe(0);
    const shared = (session: string) =>
      readEvents(fixture, session).then((events) => events.filter(({ type }) => type === "run_start").length);
    expect(await Promise.all([shared(before), shared(after)])).toEqual([2, 2]);

    await page.goBack();
    await feed.getByText("2+3 = 5").waitFor();
    expect(readSessionId(page)).toBe(before);

    // Versions.
    const versionOf = (position: number, count: number) =>
      feed.getByRole("group", { name: `Version ${position} of ${count}`, exact: true });
    const edit = async (run: number, text: string) => {
      await feed.getByRole("article").nth(run).getByRole("button", { name: "Edit message" }).click();
      await page.getByRole("textbox", { name: "Edited message" }).fill(text);
      await page.keyboard.press("Control+Enter");
    };
    const sessions = [before, after];
    await versionOf(1, 2).waitFor();
    await edit(1, "What is 200+300?");
    await feed.getByText("200+300 = 500").waitFor();
    sessions.push(readSessionId(page));
    await versionOf(3, 3).waitFor();
    expect(await versionOf(3, 3).getByRole("button", { name: "Next version" }).isDisabled()).toBe(true);

    await versionOf(3, 3).getByRole("button", { name: "Previous version" }).click();
    await feed.getByText("20+30 = 50").waitFor();
    await versionOf(2, 3).waitFor();
    await versionOf(2, 3).getByRole("button", { name: "Previous version" }).click();
    await feed.getByText("2+3 = 5").waitFor();
    await versionOf(1, 3).waitFor();
    expect(readSessionId(page)).toBe(sessions[0]);
    // The run has the focus, so that Tab leads to its buttons.
    await expect
      .poll(() =>
        feed
          .getByRole("article")
          .nth(1)
          .evaluate((run) => run === document.activeElement),
      )
      .toBe(true);
    for (const _button of ["copy", "edit", "next"]) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await versionOf(2, 3).waitFor();
    expect(readSessionId(page)).toBe(sessions[1]);

    // An edit of the first message concerns that message only.
    await edit(0, "What is 1+1?");
    await feed.getByText("1+1 = 2").waitFor();
    await versionOf(2, 2).waitFor();
    expect(await feed.getByRole("group", { name: /^Version/ }).count()).toBe(1);
    await versionOf(2, 2).getByRole("button", { name: "Previous version" }).click();
    // The newest session of the version.
    await feed.getByText("200+300 = 500").waitFor();
    expect(readSessionId(page)).toBe(sessions[2]);
    await versionOf(1, 2).waitFor();
    await versionOf(3, 3).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("queues messages during a run, and removes one", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", theme: "dark" });
    model.pauseAt("text-delta", 3);
    await sendMessage(page, "你能做什么？", "zh");
    await findAnswer(page, "zh").waitFor();
    await page.getByRole("textbox", { name: "消息" }).fill("6*7 等于多少？");
    await page.getByRole("button", { name: "排队" }).click();
    await sendMessage(page, "2+3 等于多少？", "zh");
    const waiting = page.getByRole("list", { name: "待处理消息" }).getByRole("listitem");
    await waiting.filter({ hasText: "排队中" }).nth(1).waitFor();
    await waiting.filter({ hasText: "6*7" }).getByRole("button", { name: "移除" }).click();
    await waiting.filter({ hasText: "6*7" }).waitFor({ state: "detached" });

    model.resume();
    await waitForEnd(page, "zh", 2);
    await findAnswer(page, "zh").getByText("2+3 = 5").waitFor();
    await waiting.first().waitFor({ state: "detached" });
    expect(await page.getByRole("feed").getByText("6*7").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("sends attached files, shows them, and the model reads them", async () => {
    const { page, context, complaints } = await openPage(fixture, PHONE);
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (
      await chooser
    ).setFiles([
      { name: "dot.png", mimeType: "image/png", buffer: PIXEL },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("The meeting is on Friday.") },
      { name: "wrong.txt", mimeType: "text/plain", buffer: Buffer.from("not this one") },
    ]);
    const chips = page.getByRole("list", { name: "Attached files" });
    await chips.getByRole("button", { name: "Remove wrong.txt" }).click();
    await chips.getByText("25 B").waitFor();
    await chips.getByRole("progressbar").first().waitFor({ state: "detached" });
    await page.evaluate(recordAttachments);
    await sendMessage(page, "What is in these files?");
    await chips.waitFor({ state: "detached" });
    await findAnswer(page).getByText("It begins: “The meeting is on Friday.”").waitFor();
    await waitForEnd(page);

    const files = findRun(page).getByRole("list", { name: "Attachments" });
    expect(await files.getByRole("listitem").count()).toBe(2);
    // The list has its height before the run starts and before the image is loaded.
    expect(await page.evaluate(() => (globalThis as Recording).heights?.length)).toBe(1);
    const download = page.waitForEvent("download");
    await files.getByRole("link", { name: "notes.txt" }).click();
    expect((await download).suggestedFilename()).toBe("notes.txt");
    await files.getByRole("button", { name: "View image: dot.png" }).click();
    const viewer = page.getByRole("dialog", { name: "dot.png" });
    const width = await viewer
      .getByRole("img", { name: "dot.png" })
      .evaluate((image: HTMLImageElement) => image.naturalWidth);
    expect(width).toBe(1);
    await page.keyboard.press("Escape");
    await viewer.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
