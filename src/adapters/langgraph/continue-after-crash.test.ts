// A graph with a durable checkpointer continues where a dead process left it.
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { sendCommand } from "../../engine/send-command.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import type { AnyEvent, JsonObject } from "../../protocol/index.ts";
import { Verifier } from "../../protocol/verify/verifier.ts";
import type { AdapterScript } from "../../../test/contracts/adapter.ts";
import { foreignAgent } from "../foreign-agent.ts";
import { fromLangGraph } from "../from-langgraph.ts";
import { createScriptedAgent } from "../../../test/contracts/play-script.ts";
import type { EventFields } from "../../../test/contracts/play-source.ts";

const WEATHER = { text: ["I look."], cities: ["Oslo"] };
const INPUT = { messages: [{ role: "user", content: "How cold is it?" }] };

/** Runs the graph in a thread of its run, and continues it if the thread has work left. */
function serve(graph: ReturnType<typeof createScriptedAgent>) {
  return foreignAgent(async (_message, { runId }) => {
    const config = { configurable: { thread_id: runId } };
    const { next } = await graph.getState(config);
    return fromLangGraph(graph, next.length > 0 ? null : INPUT, config);
  });
}

async function readEvents(log: Log): Promise<readonly EventFields[]> {
  const { records } = await log.read("s", { after: 0 });
  const verifier = new Verifier();
  for (const record of records) expect(verifier.check(record).filter(({ level }) => level === "error")).toEqual([]);
  return records.map(({ event }) => event as EventFields);
}

async function waitFor(log: Log, isIt: (event: EventFields, index: number) => boolean): Promise<EventFields> {
  for (;;) {
    const found = (await readEvents(log)).find(isIt);
    if (found !== undefined) return found;
    await setTimeout(5);
  }
}

/** Starts a run, and takes the session over as if its process had died. */
async function crash(log: Log, script: AdapterScript, isIt: (event: AnyEvent) => boolean) {
  const graph = createScriptedAgent(script);
  const agent = serve(graph);
  const session = await agent.openSession(log, "s");
  const run = await agent.answer(session, "How cold is it?", { runId: "run-1" });
  run.ended.catch(() => undefined);
  await waitFor(log, isIt);
  await log.release(await log.acquire("s", { holder: "other", ttlMs: 1, takeover: true }));
  return serve(graph);
}

it("continues from the last checkpoint of the graph, and runs no tool twice", async () => {
  const log = new MemoryLog();
  const ran: JsonObject[] = [];
  const turns = [WEATHER, { text: ["It is"], hangs: true }, { text: ["It is cold."] }];
  const script = { turns, onTool: (input: JsonObject) => void ran.push(input) };
  const second = await crash(
    log,
    script,
    ({ type, ...event }) => type === "message_chunk" && "content" in event && event.content === "It is",
  );
  await using session = await second.openSession(log, "s");
  await session.idle();
  const events = await readEvents(log);
  expect(events.filter(({ type }) => type === "error")).toMatchObject([{ code: "interrupted", attempt: 2 }]);
  expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
  expect(ran).toEqual([{ city: "Oslo" }]);
});

it.each(["before", "after"])("keeps an approval that is answered %s the graph continues", async (time) => {
  const log = new MemoryLog();
  const ran: JsonObject[] = [];
  const turns = [WEATHER, { text: ["It is cold."] }];
  const script = { turns, needsApproval: true, onTool: (input: JsonObject) => void ran.push(input) };
  const second = await crash(log, script, ({ type }) => type === "tool_approval");
  const body = { run_id: "run-1", call_id: "call-Oslo", decision: "approved" };
  const answer = () => sendCommand(log, { commandId: "yes", sessionId: "s", kind: "approve", body });
  const early = time === "before" ? answer() : undefined;
  await using session = await second.openSession(log, "s");
  await (early ?? answer());
  await session.idle();
  const events = await readEvents(log);
  expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
  expect(events.filter(({ type }) => type === "tool_approval")).toHaveLength(1);
  expect(events.filter(({ type }) => type === "tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: false }]);
  expect(events.filter(({ type }) => type === "message_chunk").map(({ content }) => content)).toEqual([
    "I look.",
    "\n\n",
    "It is cold.",
  ]);
  expect(ran).toEqual([{ city: "Oslo" }]);
});
