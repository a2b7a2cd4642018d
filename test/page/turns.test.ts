// What can be done with a conversation: stop a run, ask again, say something else, wait in line, bring files.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { HeldModel } from "./held-model.ts";
import { findAnswer, findRun, lookAt, PHONE, readEvents, readSession, say, waitForEnd } from "./journey.ts";
import { type PageStage, setPageStage } from "./stage.ts";

/** A dot. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.skipIf(!hasChromium)("turns on the page (skipped where there is no Chromium)", () => {
  const model = new HeldModel();
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage({ model });
  });
  afterAll(() => stage.close());
  afterEach(() => model.goOn());

  it("stops a run, and asks the same again", async () => {
    const { page, context, complaints } = await lookAt(stage, { theme: "dark" });
    model.goUntil("text-delta", 3);
    await say(page, "What can you do?");
    await findAnswer(page).getByText("Offline").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await findRun(page).getByText("Cancelled").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    await page.getByRole("status").getByText("The run was stopped.").waitFor();

    model.goOn();
    await page.getByRole("button", { name: "Send the same message again" }).click();
    await waitForEnd(page, "en", 2);
    const said = page.getByRole("group", { name: "You said" }).getByText("What can you do?", { exact: true });
    expect(await said.count()).toBe(2);
    await page.getByRole("status").getByText("The answer is complete.").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows an error with its code, and tries again", async () => {
    const { page, context, complaints } = await lookAt(stage, { language: "zh", ...PHONE });
    await say(page, "出一个错误", "zh");
    const error = findAnswer(page, "zh").getByLabel("错误", { exact: true });
    await error.getByText("离线模型应要求出错。").waitFor();
    await error.getByText("model_failed").waitFor();
    await findRun(page).getByText("失败", { exact: true }).waitFor();
    const red = await error.evaluate((banner) => getComputedStyle(banner).borderTopColor);
    const [r = 0, g = 255, b = 255] = red.match(/[\d.]+/g)?.map(Number) ?? [];
    expect(r).toBeGreaterThan(2 * Math.max(g, b));

    await error.getByRole("button", { name: "重试" }).click();
    await page.getByRole("article").nth(1).waitFor();
    await findRun(page).getByText("失败", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says something else in a session of its own", async () => {
    const { page, context, complaints } = await lookAt(stage);
    await say(page, "What is 6*7?");
    await waitForEnd(page);
    await say(page, "What is 2+3?");
    await waitForEnd(page, "en", 2);
    const before = readSession(page);

    await findRun(page).getByRole("button", { name: "Edit and send again" }).click();
    const box = page.getByRole("textbox", { name: "Message to send instead" });
    expect(await box.inputValue()).toBe("What is 2+3?");
    await box.fill("What is 20+30?");
    await findRun(page).getByRole("button", { name: "Send", exact: true }).click();
    await findAnswer(page).getByText("20+30 = 50").waitFor();
    await waitForEnd(page, "en", 2);
    const after = readSession(page);
    expect(after).not.toBe(before);
    const feed = page.getByRole("feed");
    await feed.getByText("6*7 = 42").waitFor();
    expect(await feed.getByText("2+3 = 5", { exact: false }).count()).toBe(0);
    const shared = (session: string) =>
      readEvents(stage, session).then((events) => events.filter(({ type }) => type === "run_start").length);
    expect(await Promise.all([shared(before), shared(after)])).toEqual([2, 2]);

    await page.goBack();
    await feed.getByText("2+3 = 5").waitFor();
    expect(readSession(page)).toBe(before);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps messages until the run is over, and gives one back", async () => {
    const { page, context, complaints } = await lookAt(stage, { language: "zh", theme: "dark" });
    model.goUntil("text-delta", 3);
    await say(page, "你能做什么？", "zh");
    await findAnswer(page, "zh").waitFor();
    await page.getByRole("textbox", { name: "消息" }).fill("6*7 等于多少？");
    await page.getByRole("button", { name: "排队" }).click();
    await say(page, "2+3 等于多少？", "zh");
    const waiting = page.getByRole("list", { name: "等待中的消息" }).getByRole("listitem");
    await waiting.filter({ hasText: "排队中" }).nth(1).waitFor();
    await waiting.filter({ hasText: "6*7" }).getByRole("button", { name: "撤回" }).click();
    await waiting.filter({ hasText: "6*7" }).waitFor({ state: "detached" });

    model.goOn();
    await waitForEnd(page, "zh", 2);
    await findAnswer(page, "zh").getByText("2+3 = 5").waitFor();
    await waiting.first().waitFor({ state: "detached" });
    expect(await page.getByRole("feed").getByText("6*7").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("takes files with a message, shows them, and they are read", async () => {
    const { page, context, complaints } = await lookAt(stage, PHONE);
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
    await say(page, "What is in these files?");
    await chips.waitFor({ state: "detached" });
    await findAnswer(page).getByText("It begins: “The meeting is on Friday.”").waitFor();
    await waitForEnd(page);

    const files = findRun(page).getByRole("list", { name: "Attachments" });
    expect(await files.getByRole("listitem").count()).toBe(2);
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
