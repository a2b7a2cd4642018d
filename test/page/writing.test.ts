// Written text is not lost: not by a broken connection, a reload, a refusal or a visit to another session.
import type { JSHandle } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findAnswer, findRun, openPage, readEvents, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

describe.skipIf(!hasChromium)("written text on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
  });
  afterAll(() => fixture.close());

  it("is sent once, even if the page was closed before the server responded", async () => {
    let isCut = false;
    const { page, context } = await openPage(fixture, {
      prepare: (made) =>
        made.routeWebSocket(/\/v1\/ws$/, (socket) => {
          if (isCut) void socket.close();
          else socket.connectToServer();
        }),
    });
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") };
    await page.locator("input[type=file]").first().setInputFiles(file);
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    isCut = true;
    await page.reload();
    // The uploaded file is still attached.
    await page.getByRole("button", { name: "Remove notes.txt" }).waitFor();
    await sendMessage(page, "What is 2+3?");
    await page.getByText("Waiting for the connection").first().waitFor();
    await page.getByText("Reconnecting…").first().waitFor();
    expect(await page.getByText("What is 2+3?", { exact: true }).count()).toBe(1);
    await page.reload();
    await page.getByText("Waiting for the connection").first().waitFor();
    isCut = false;
    await waitForEnd(page, "en", 2);
    await findAnswer(page).getByText("2+3 = 5").waitFor();
    await findRun(page).getByText("notes.txt", { exact: true }).waitFor();
    const runs = (await readEvents(fixture, readSessionId(page))).filter(({ type }) => type === "run_start");
    expect(runs).toHaveLength(2);
    await context.close();
  });

  it.runIf(LONG)("is sent with pasted and dropped files, but not with a failed upload", async () => {
    const { page, context } = await openPage(fixture);
    const box = page.getByRole("textbox", { name: "Message", exact: true });
    await box.waitFor();
    const carry = (name: string): Promise<JSHandle<DataTransfer>> =>
      page.evaluateHandle((given) => {
        const carried = new DataTransfer();
        carried.items.add(new File(["The meeting is on Friday."], given, { type: "text/plain" }));
        return carried;
      }, name);
    const pasted = await carry("pasted.txt");
    await box.evaluate(
      (element, clipboardData) =>
        element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })),
      pasted,
    );
    await page.getByRole("button", { name: "Remove pasted.txt" }).waitFor();
    await page.getByRole("progressbar").waitFor({ state: "detached" });

    await page.route("**/blobs*", (route) => route.abort());
    const dropped = { dataTransfer: await carry("dropped.txt") };
    // Anywhere on the page.
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.dispatchEvent("dragover", dropped);
    await page.getByText("Drop files to attach").waitFor();
    await list.dispatchEvent("drop", dropped);
    await page.getByText("Drop files to attach").waitFor({ state: "detached" });
    const again = page.getByRole("button", { name: "Retry upload: dropped.txt" });
    await again.waitFor();
    await sendMessage(page, "What is in them?");
    const notice = page.getByText("Upload failed: dropped.txt. Retry or remove, then send.");
    await notice.waitFor();
    const send = page.getByRole("button", { name: "Send", exact: true });
    expect(await send.getAttribute("title")).toBe("Retry or remove the failed file first");
    expect(await box.inputValue()).toBe("What is in them?");
    expect(await page.getByRole("article").count()).toBe(0);

    await page.unroute("**/blobs*");
    await again.click();
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    await send.click();
    await waitForEnd(page);
    await notice.waitFor({ state: "detached" });
    const files = findRun(page).getByRole("list", { name: "Attachments" });
    for (const name of ["pasted.txt", "dropped.txt"]) await files.getByText(name, { exact: true }).waitFor();
    await context.close();
  });

  it.runIf(LONG)("that is long becomes a file, with an undo, and returns to the box if it cannot be sent", async () => {
    const { page, context, complaints } = await openPage(fixture);
    const box = page.getByRole("textbox", { name: "Message", exact: true });
    await box.fill("Summarize: ");
    const countSessions = async (): Promise<number> => (await fixture.log.listSessions()).length;
    const before = await countSessions();
    const paste = (): Promise<unknown> =>
      box.evaluate((element) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", "word ".repeat(14_000));
        element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
      });
    await paste();
    const remove = page.getByRole("button", { name: "Remove Pasted text.txt" });
    await remove.waitFor();
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    expect(await box.inputValue()).toBe("Summarize: ");
    expect(await countSessions()).toBe(before + 1);
    // A session that has only a file disappears with it.
    await remove.click();
    await expect.poll(countSessions).toBe(before);
    expect(await box.inputValue()).toBe("Summarize: ");
    await paste();
    await page.getByRole("button", { name: "Undo" }).click();
    const whole = `Summarize: ${"word ".repeat(14_000)}`;
    await expect.poll(() => box.inputValue()).toBe(whole);
    await expect.poll(countSessions).toBe(before);

    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("Couldn't send message").waitFor();
    await page.getByText("The message is too long. Shorten it, or attach the text as a file.").waitFor();
    await expect.poll(() => box.inputValue()).toBe(whole);
    await page.reload();
    await box.waitFor();
    expect(await box.inputValue()).toBe(whole);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)(
    "of an unsent edit stays while other sessions are shown, and a deleted session starts over",
    async () => {
      const { page, context } = await openPage(fixture);
      await sendMessage(page, "What is 6*7?");
      await waitForEnd(page);
      const session = readSessionId(page);
      const box = page.getByRole("textbox", { name: "Edited message" });
      await findRun(page).getByRole("button", { name: "Edit message" }).click();
      await box.fill("What is 20+30?");
      // An ID that is also a property of every object.
      await page.evaluate(() => location.assign("#/s/constructor"));
      await page.getByText("Session not found").waitFor();
      await page.goBack();
      expect(await box.inputValue()).toBe("What is 20+30?");
      await page.route("**/fork", (route) => route.fulfill({ status: 503, body: "no" }));
      const send = findRun(page).getByRole("button", { name: "Send", exact: true });
      await send.click();
      await page.getByText("Couldn't edit message").waitFor();
      expect(await box.inputValue()).toBe("What is 20+30?");
      await page.unroute("**/fork");
      await send.click();
      await findAnswer(page).getByText("20+30 = 50").waitFor();
      expect(readSessionId(page)).not.toBe(session);
      await waitForEnd(page);

      // A session that was deleted elsewhere starts over, with a notice.
      await fixture.log.deleteSession(readSessionId(page));
      await page.getByText("This session was deleted.").waitFor();
      await sendMessage(page, "What is 2+3?");
      await findAnswer(page).getByText("2+3 = 5").waitFor();
      await page.getByText("This session was deleted.").waitFor({ state: "detached" });
      expect(await page.getByRole("article").count()).toBe(1);
      await context.close();
    },
  );
});
