// What `loom check` says about faults of AG-UI streams: what is wrong, and what to do.
import { expect, test } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { createStreamCheck } from "../check-stream.ts";
import { agUi } from "./index.ts";

const START = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const END = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const message = (type: string): JsonObject => ({ type: `TEXT_MESSAGE_${type}`, messageId: "m", delta: "Hi" });

test("reasoning and the message in it may have IDs that read alike", () => {
  const check = createStreamCheck(agUi);
  const reasoning = (type: string, messageId: string): JsonObject => ({ type, messageId, role: "reasoning" });
  const frames = [
    START,
    reasoning("REASONING_START", "message 1"),
    reasoning("REASONING_MESSAGE_START", "1"),
    reasoning("REASONING_MESSAGE_END", "1"),
    reasoning("REASONING_END", "message 1"),
    END,
  ];
  expect(frames.flatMap((frame) => check.check(JSON.stringify(frame)).issues)).toEqual([]);
});

test.each([
  [[START, message("START"), END], "still open at `RUN_FINISHED`: message m; end each before the run"],
  [[START, message("CONTENT"), END], "there is no open message m; send `TEXT_MESSAGE_START` first"],
  [[START, { type: "TOOL_CALL_END", toolCallId: "c" }, END], "there is no open call c; send `TOOL_CALL_START` first"],
  [[START, { type: "STEP_FINISHED", stepName: "s" }, END], "there is no open step s; send `STEP_STARTED` first"],
  [[START, message("START"), message("START"), message("END"), END], "message m is already open; end it first"],
  [[message("START")], "the stream starts with `TEXT_MESSAGE_START` instead of `RUN_STARTED`; send that first"],
  [[START, START, END], "`RUN_STARTED` while a run is active; send `RUN_FINISHED` or `RUN_ERROR` first"],
  [
    [START, { type: "RUN_ERROR", message: "x" }, END],
    "`RUN_FINISHED` follows the end of its run; send it before, or start a run with `RUN_STARTED`",
  ],
  [[{ type: "RUN_STARTED", threadId: "t" }], "`runId` is missing; it must be a string"],
  [[START, { type: "PROGRESS" }, END], "there is no event `PROGRESS`; use `CUSTOM` for other events"],
  [[{ type: "run_started" }], "there is no event `run_started`; write `RUN_STARTED`"],
  [[{ ...START, parentRunId: null }], "`parentRunId` is null; leave it out"],
  [
    [START, { ...END, outcome: { type: "interrupt", interrupts: [] } }],
    "the outcome `interrupt` has no interrupts; name what the run waits for",
  ],
  [
    [START, { type: "STATE_DELTA", delta: [] }, END],
    "the state changes before its snapshot: send `STATE_SNAPSHOT` first",
  ],
  [
    [
      START,
      { type: "STATE_SNAPSHOT", snapshot: {} },
      { type: "STATE_DELTA", delta: [{ op: "remove", path: "/a" }] },
      END,
    ],
    "the change of the state is dropped: operation 0 (`remove` at `/a`) cannot be applied: there is no `/a`",
  ],
])("%j", (frames: readonly JsonObject[], text) => {
  const check = createStreamCheck(agUi);
  const issues = frames.flatMap((frame) => check.check(JSON.stringify(frame)).issues);
  expect(issues[0]?.message).toBe(text);
});
