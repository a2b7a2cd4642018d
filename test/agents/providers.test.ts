// Agents with the real provider packages, against a server that speaks their protocols and enforces their rules. A
// conversation continues after any failure.
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { expectValid } from "../contracts/sender.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { openProviderFixture, PROVIDER_WIRES, type ProviderWire } from "../models/provider-fixtures.ts";
import type { ServerTurn } from "../models/wire.ts";
import { createTools } from "./counted-tools.ts";
import { answerOf, eventsOf, SESSION, waitForEvent } from "./agent-fixture.ts";

async function setUp(wire: ProviderWire, ...turns: readonly ServerTurn[]) {
  const fixture = await openProviderFixture(wire);
  fixture.play(...turns);
  const log = new MemoryLog();
  const { tools, ran } = createTools();
  const actor = agent({
    model: fixture.model,
    tools,
    systemInstructions: "Be brief.",
    ...(wire.settings === undefined ? {} : { settings: wire.settings }),
    callOptions: { retryMs: 1, idleTimeoutMs: 5000 },
  });
  const session = await actor.openSession(log, SESSION);
  onTestFinished(async () => {
    await session.close();
    await fixture.close();
  });
  return { ...fixture, log, ran, actor, session, read: () => expectValid(log, SESSION) };
}

const add = { name: "add", input: { a: 1, b: 2 } };
const remove = { name: "remove", input: { path: "x" } };
/** Some protocols begin with frames that contain no output. */
const LONG = "An answer that is much longer than the stream will let it be.";
const AGAIN: ServerTurn = { text: "Here I am." };

describe.each(PROVIDER_WIRES)("an agent on $name", (wire) => {
  it("thinks, makes parallel tool calls with streamed arguments, and answers", async () => {
    const calls = [add, { name: "add", input: { a: 30, b: 4 } }];
    const { actor, session, read } = await setUp(
      wire,
      { reasoning: "Two sums.", text: "Let me see. ", calls, chunk: 1, interleave: true },
      { text: "3 and 34." },
      { text: "You asked for sums." },
    );
    const run = await actor.answer(session, "Add");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await read();
    expect(
      eventsOf(records, "tool_end")
        .map(({ result }) => result)
        .toSorted(),
    ).toEqual(["3", "34"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("3 and 34.");
    expect(answerOf(records)).toBe("Let me see. 3 and 34.");
    expect(eventsOf(records, "usage").length).toBeGreaterThan(0);
    expect(eventsOf(records, "tool_call_chunk").length).toBeGreaterThan(20);
    // The server rejects conversations that break its provider's rules.
    expect(await (await actor.answer(session, "What did I ask?")).ended).toMatchObject({ status: "completed" });
  });

  it.each<[string, ServerTurn, "message_chunk" | "tool_call_chunk" | "tool_approval" | "tool_start"]>([
    ["in the middle of an answer", { text: LONG, chunk: 3, fault: { kind: "stall", after: 8 } }, "message_chunk"],
    ["in the middle of a call", { calls: [add], chunk: 2, fault: { kind: "stall", after: 6 } }, "tool_call_chunk"],
    ["while waiting for approval", { text: "Well. ", calls: [remove, add] }, "tool_approval"],
    ["in a tool", { calls: [{ name: "wait" }, add] }, "tool_start"],
  ])("continues after a cancel %s", async (_, turn, until) => {
    const { actor, session, server, read } = await setUp(wire, turn, AGAIN);
    const there = waitForEvent(session, until);
    const run = await actor.answer(session, "Go");
    await there;
    await run.cancel("enough");
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    if (turn.fault !== undefined) await server.requests[0]?.closed;
    expect(await (await actor.answer(session, "Are you there?")).ended).toMatchObject({ status: "completed" });
    await read();
  });

  it.each<[string, ServerTurn]>([
    ["is cut in the middle of a token", { text: LONG, chunk: 3, fault: { kind: "cut", after: 8 } }],
    ["ends without a final frame", { text: LONG, chunk: 3, fault: { kind: "end", after: 8 } }],
    ["has a line that is not JSON", { text: LONG, chunk: 3, fault: { kind: "malformed", after: 8 } }],
    ["reports an error", { text: LONG, chunk: 3, fault: { kind: "error", after: 8 } }],
  ])("fails with a code when the stream %s, then continues", async (_, turn) => {
    const { actor, session, read } = await setUp(wire, turn, AGAIN);
    const run = await actor.answer(session, "Go");
    expect(await run.ended).toMatchObject({ status: "error", code: expect.stringMatching(/^model_/) as string });
    const records = await read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "llm_stream" }]);
    expect(LONG.startsWith(answerOf(records))).toBe(true);
    expect(answerOf(records)).not.toBe("");
    expect(await (await actor.answer(session, "Again?")).ended).toMatchObject({ status: "completed" });
  });

  it("retries after the requested pause and records each attempt", async () => {
    const busy: ServerTurn = { fault: { kind: "status", status: 429, headers: { "retry-after-ms": "1" } } };
    const { actor, session, read } = await setUp(wire, busy, AGAIN);
    expect(await (await actor.answer(session, "Go")).ended).toMatchObject({ status: "completed" });
    const records = await read();
    expect(eventsOf(records, "llm_start").map(({ attempt }) => attempt)).toEqual([0, 1]);
    expect(eventsOf(records, "llm_end").map(({ finish_reason }) => finish_reason)).toEqual(["error", "stop"]);
  });
});
