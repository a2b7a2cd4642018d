// A run that continues after its process died: the page shows the final answer and folds the interrupted attempt.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoomEvent } from "../../src/protocol/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { findAnswer, findRun, openPage } from "./journey.ts";
import { LogWriter } from "./log-writer.ts";
import { createPageFixture, type PageFixture } from "./page-fixture.ts";

const HALF = "Loom carries the run of an agent to everyone who";
const WHOLE = "Loom carries an agent's run durably to everyone who watches it.";

const write = (content: string): LoomEvent => ({ type: "message_chunk", content, id: "think" });

/** Starts a run whose process dies in the middle of its answer. */
function crash(writer: LogWriter, runId: string): void {
  writer.begin(runId, { message: "What is Loom?" });
  writer.putAt("a", { type: "node_enter", id: "think" });
  writer.putAt("a", { type: "reasoning_chunk", content: "A question about Loom.", id: "think" });
  writer.putAt("a", write(HALF));
}

/** Closes a node run of a dead process. */
function close(writer: LogWriter, nodeId: string): void {
  writer.putAt(nodeId, { type: "node_exit", id: "think", result: { Err: "interrupted" } });
}

function restart(writer: LogWriter, dead: string, nodeId: string, attempt: number): void {
  close(writer, dead);
  const message = "The process that executed this run ended unexpectedly";
  writer.putAt(undefined, { type: "error", message, code: "interrupted", recoverable: true, attempt });
  writer.putAt(nodeId, { type: "node_enter", id: "think", supersedes: dead, attempt });
}

describe.skipIf(!hasChromium)("a restarted run on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
  });
  afterAll(() => fixture.close());

  const openWriter = (session: string) => new LogWriter(fixture.log, session).open();

  it("folds the interrupted attempt, announces it once, and copies only the answer", async () => {
    const writer = await openWriter("restarted");
    crash(writer, "r");
    await writer.flush();
    const { page, context, complaints, copies } = await openPage(fixture, { path: "#/s/restarted" });
    const answer = findAnswer(page);
    await answer.getByText(HALF).waitFor();

    restart(writer, "a", "b", 2);
    await writer.flush();
    const line = answer.getByRole("button", { name: "Interrupted, answering again" });
    await line.waitFor();
    await page.getByRole("status").getByText("Interrupted, answering again.").waitFor();
    expect(await answer.getByText(HALF).count()).toBe(0);

    writer.putAt("b", write(WHOLE));
    writer.putAt("b", { type: "node_exit", id: "think", result: "Ok" });
    writer.end({}, WHOLE);
    await writer.flush();
    await findRun(page).getByText("Completed").waitFor();
    await answer.getByText(WHOLE).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.locator(".loom-error").count()).toBe(0);
    await findRun(page).getByRole("button", { name: "Copy answer" }).click();
    await expect.poll(() => copies).toEqual([WHOLE]);

    const done = answer.getByRole("button", { name: "Interrupted, answered again" });
    expect(await done.getAttribute("aria-expanded")).toBe("false");
    await done.click();
    await answer.getByText(HALF).waitFor();
    await answer.getByRole("button", { name: /^Thought/ }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows an error with a retry when a run was interrupted too often", async () => {
    const writer = await openWriter("given-up");
    crash(writer, "r");
    restart(writer, "a", "b", 2);
    writer.putAt("b", write("Loom carries"));
    restart(writer, "b", "c", 3);
    writer.putAt("c", write("Loom"));
    close(writer, "c");
    const failure = { code: "too_many_attempts", message: "The run was interrupted 3 times" } as const;
    writer.putAt(undefined, { type: "error", ...failure, recoverable: false });
    writer.end({ status: "error", code: failure.code, reason: failure.message });
    await writer.flush();
    const { page, context, complaints } = await openPage(fixture, { path: "#/s/given-up", language: "zh" });
    const error = findAnswer(page, "zh").getByLabel("错误", { exact: true });
    await error.getByText("服务器在此次运行期间多次停止。").waitFor();
    await error.getByRole("button", { name: "重试" }).waitFor();
    expect(await error.count()).toBe(1);
    expect(await findAnswer(page, "zh").getByRole("button", { name: "已中断" }).count()).toBe(2);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
