import { expect, it, vi } from "vitest";
import type { CommandKind } from "../log/log.ts";
import type { JsonObject } from "../protocol/index.ts";
import type { Run } from "./run.ts";
import { sendCommand } from "./send-command.ts";
import { createLog, expectValid, SESSION } from "../../test/contracts/sender.ts";
import { openSession } from "./session.ts";

const HALF = "a\ud83d";

const onRun = async (run: Run): Promise<void> => {
  await run.finish({ reply: "" });
};

const NAMES: readonly (readonly [kind: CommandKind, body: JsonObject])[] = [
  ["enqueue", { message: "hello", request_id: HALF }],
  ["enqueue", { message: "hello", run_id: HALF }],
  ["enqueue", { message: "hello", agent: HALF }],
  ["cancel", { run_id: HALF }],
  ["cancel", { request_id: HALF }],
  ["approve", { run_id: HALF, call_id: "c", decision: "approved" }],
  ["approve", { run_id: "r", call_id: HALF, decision: "approved" }],
  ["toggle", { list_id: HALF, item_id: "i", completed: true }],
  ["toggle", { list_id: "l", item_id: HALF, completed: true }],
];

it.each(NAMES)("rejects an ID with a lone surrogate: %s %j", async (kind, body) => {
  const log = await createLog();
  await using session = await openSession(log, SESSION, { onRun });
  const { outcome } = await sendCommand(log, { commandId: "c", sessionId: SESSION, kind, body });
  expect(outcome).toMatchObject({ code: "invalid_command" });
  await session.idle();
  expect(await log.listRuns(SESSION)).toEqual([]);
});

it("accepts a message text with a lone surrogate", async () => {
  const log = await createLog();
  await using session = await openSession(log, SESSION, { onRun });
  await sendCommand(log, { commandId: "c", sessionId: SESSION, kind: "enqueue", body: { message: HALF } });
  await session.idle();
  expect(await log.listRuns(SESSION)).toMatchObject([{ status: "completed" }]);
  await expectValid(log);
});

it("finds a message whose hint was lost", async () => {
  const log = await createLog();
  log.watch = () => () => undefined;
  await using session = await openSession(log, SESSION, { ttlMs: 30, onRun });
  await session.executePending();
  await log.submit({ commandId: "c", sessionId: SESSION, kind: "enqueue", body: { message: "hello" } });
  await vi.waitFor(async () => expect(await log.listRuns(SESSION)).toMatchObject([{ status: "completed" }]), 5000);
});
