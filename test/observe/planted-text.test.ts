// Contents of a run appear in spans and log lines only if enabled, even in errors.
import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { createLogObserver } from "../../src/observe/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { eventsOf, createAgentFixture } from "../agents/agent-fixture.ts";
import { recordSpans } from "./span-recorder.ts";

const TEXT = "Ada likes green tea";

/** Everything both observers write, as one text. */
async function listen(wantsContents: boolean) {
  let lines = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines += chunk.toString();
      done();
    },
  });
  const logs = await createLogObserver({ logger: pino({}, stream), contents: wantsContents });
  const { observer: traces, readSpans } = await recordSpans({ captureContent: wantsContents });
  const readTraces = (): string =>
    JSON.stringify(readSpans().map(({ name, attributes, events, status }) => [name, attributes, events, status]));
  return { observers: [traces, logs], readTraces, readLogs: () => lines };
}

const call = { call_id: "c", name: "ask" };
const end = (code?: string): AnyEvent => ({
  type: "run_end",
  status: "error",
  reason: `it said ${TEXT}`,
  ...(code === undefined ? {} : { code }),
});
const fail = (stage: string, code?: string): AnyEvent => ({
  type: "error",
  message: `it said ${TEXT}`,
  stage,
  ...(code === undefined ? {} : { code }),
  details: { error_id: "e-1", said: TEXT },
});

/** Events that contain the text, by where it occurs. */
const EVENTS_WITH_TEXT: { readonly [where: string]: readonly AnyEvent[] } = {
  "a message": [{ type: "run_start", run_id: "r", message: TEXT }],
  arguments: [{ type: "tool_call", ...call, arguments: { x: TEXT } }],
  "an approval and its decision": [
    { type: "tool_approval", ...call, arguments: { x: TEXT } },
    { type: "tool_approval_result", ...call, decision: "rejected", reason: TEXT, arguments: { x: TEXT } },
  ],
  "a result": [
    { type: "tool_start", ...call },
    { type: "tool_end", ...call, result: TEXT, is_error: false },
  ],
  "a failed tool": [
    { type: "tool_start", ...call },
    { type: "tool_end", ...call, result: TEXT, is_error: true, error_code: "tool_failed" },
    fail("tool_execute", "tool_failed"),
  ],
  "a tool that never ran": [{ type: "tool_end", ...call, result: TEXT, is_error: true }],
  "a tool with the error code of another part": [fail("tool_execute", "model_failed")],
  passages: [
    { type: "retrieval_complete", doc_count: 1, query: TEXT, sources: [{ title: TEXT, uri: TEXT, snippet: TEXT }] },
  ],
  "a failed retrieval": [fail("retrieval", "retrieval_failed")],
  "a summary": [{ type: "compression_applied", before_tokens: 9, after_tokens: 1, method: "summary", summary: TEXT }],
  "a failed summary": [fail("compression", "compression_failed")],
  "an invalid structured output": [fail("llm_generate", "model_output_invalid"), end("model_output_invalid")],
  "a model call": [
    { type: "llm_start", llm_call_id: "l.0", model: "m", attempt: 0 },
    { type: "reasoning_chunk", content: TEXT, id: "think" },
    { type: "message_chunk", content: TEXT, id: "think" },
    { type: "llm_end", llm_call_id: "l.0", finish_reason: "error", error: TEXT, error_code: "model_output_invalid" },
    { type: "llm_start", llm_call_id: "l.1", model: "m", attempt: 1 },
    { type: "llm_end", llm_call_id: "l.1", finish_reason: "error", error: TEXT },
  ],
  "an error without a code": [fail("llm_stream"), end()],
  "an error with a code of the application": [fail("llm_stream", "own_code"), end("own_code")],
  "the reason of a cancellation": [{ type: "run_end", status: "cancelled", reason: TEXT, code: "cancelled" }],
  "a reply": [
    { type: "run_end", status: "completed" },
    { type: "reply", reply: TEXT },
  ],
};

describe.each(Object.entries(EVENTS_WITH_TEXT))("%s", (_where, events) => {
  it.each([false, true])("appears only if contents are enabled: %s", async (wantsContents) => {
    const { observers, readTraces, readLogs } = await listen(wantsContents);
    const whole: readonly AnyEvent[] =
      events[0]?.type === "run_start" ? events : [{ type: "run_start", run_id: "r" }, ...events];
    for (const observer of observers) {
      const run = observer.openRun({ sessionId: "s", runId: "r" });
      for (const [index, event] of whole.entries()) {
        const envelope = { session_id: "s", run_id: "r", node_id: "n", event_id: index + 1, ts: 1000 + index };
        run.take({ envelope, event }, false);
      }
      run.close(true);
    }
    expect(`${readTraces()}${readLogs()}`.includes(TEXT)).toBe(wantsContents);
  });
});

it("keeps the error of a failed tool out of traces and logs", async () => {
  const { observers, readTraces, readLogs } = await listen(false);
  const script = [{ calls: [{ name: "fail", input: { why: TEXT }, id: "c1" }] }, { text: TEXT }];
  const fixture = await createAgentFixture(script, { observers, onError: () => undefined });
  await (
    await fixture.ask(TEXT)
  ).ended;
  await fixture.session.idle();
  const said = eventsOf(await fixture.read(), "error").map(({ message }) => message);
  expect(said).not.toEqual([]);
  for (const text of [TEXT, ...said]) {
    expect(readTraces()).not.toContain(text);
    expect(readLogs()).not.toContain(text);
  }
  expect(readTraces()).toContain("loom.error.id");
  expect(readLogs()).toContain("error_id");
});
