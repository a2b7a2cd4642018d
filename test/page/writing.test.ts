// What somebody has written is not lost: not by a line that breaks, a reload, a refusal, or another session in between.
import type { JSHandle } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findAnswer, findRun, lookAt, readEvents, readSession, say, waitForEnd } from "./journey.ts";
import { type PageStage, setPageStage } from "./stage.ts";

describe.skipIf(!hasChromium)("what is written on the page (skipped where there is no Chromium)", () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage();
  });
  afterAll(() => stage.close());

  it("is sent once, also by a page that was left before anybody answered", async () => {
    let isCut = false;
    const { page, context } = await lookAt(stage, {
      prepare: (made) =>
        made.routeWebSocket(/\/v1\/ws$/, (socket) => {
          if (isCut) void socket.close();
          else socket.connectToServer();
        }),
    });
    await say(page, "What is 6*7?");
    await waitForEnd(page);
    const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") };
    await page.locator("input[type=file]").first().setInputFiles(file);
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    isCut = true;
    await page.reload();
    // The file that had gone up is still there.
    await page.getByRole("button", { name: "Remove notes.txt" }).waitFor();
    await say(page, "What is 2+3?");
    await page.getByText("Sending…").first().waitFor();
    await page.getByText("Reconnecting…").first().waitFor();
    expect(await page.getByText("What is 2+3?", { exact: true }).count()).toBe(1);
    await page.reload();
    await page.getByText("Sending…").first().waitFor();
    isCut = false;
    await waitForEnd(page, "en", 2);
    await findAnswer(page).getByText("2+3 = 5").waitFor();
    await findRun(page).getByText("notes.txt", { exact: true }).waitFor();
    const runs = (await readEvents(stage, readSession(page))).filter(({ type }) => type === "run_start");
    expect(runs).toHaveLength(2);
    await context.close();
  });

  it("comes with files that are pasted and dropped, and is not sent without one that did not go up", async () => {
    const { page, context } = await lookAt(stage);
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
    const main = page.getByRole("main");
    await main.dispatchEvent("dragover", dropped);
    await page.getByText("Drop files to attach them").waitFor();
    await main.dispatchEvent("drop", dropped);
    await page.getByText("Drop files to attach them").waitFor({ state: "detached" });
    const again = page.getByRole("button", { name: "Try again: dropped.txt" });
    await again.waitFor();
    await say(page, "What is in them?");
    const notice = page.getByText("This did not go up: dropped.txt. Try it again or remove it, then send.");
    await notice.waitFor();
    const send = page.getByRole("button", { name: "Send", exact: true });
    expect(await send.getAttribute("title")).toBe("A file did not go up: try it again or remove it first");
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

  it("in place of a message stays until it is sent, whatever is looked at meanwhile", async () => {
    const { page, context } = await lookAt(stage);
    await say(page, "What is 6*7?");
    await waitForEnd(page);
    const session = readSession(page);
    const box = page.getByRole("textbox", { name: "Message to send instead" });
    await findRun(page).getByRole("button", { name: "Edit and send again" }).click();
    await box.fill("What is 20+30?");
    // A name that every object has something for.
    await page.evaluate(() => location.assign("#/s/constructor"));
    await page.getByText("This session is not here").waitFor();
    await page.goBack();
    expect(await box.inputValue()).toBe("What is 20+30?");
    await page.route("**/fork", (route) => route.fulfill({ status: 503, body: "no" }));
    const send = findRun(page).getByRole("button", { name: "Send", exact: true });
    await send.click();
    await page.getByText("The message could not be edited").waitFor();
    expect(await box.inputValue()).toBe("What is 20+30?");
    await page.unroute("**/fork");
    await send.click();
    await findAnswer(page).getByText("20+30 = 50").waitFor();
    expect(readSession(page)).not.toBe(session);
    await context.close();
  });

  it("in a session that is deleted elsewhere begins it anew, and that is said before", async () => {
    const { page, context } = await lookAt(stage);
    await say(page, "What is 6*7?");
    await waitForEnd(page);
    await stage.log.deleteSession(readSession(page));
    await page.getByText("This session was deleted elsewhere.").waitFor();
    await say(page, "What is 2+3?");
    await findAnswer(page).getByText("2+3 = 5").waitFor();
    await page.getByText("This session was deleted elsewhere.").waitFor({ state: "detached" });
    expect(await page.getByRole("article").count()).toBe(1);
    await context.close();
  });
});
