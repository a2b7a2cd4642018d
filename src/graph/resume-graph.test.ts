import { describe, expect, it } from "vitest";
import { openSession, sendCommand, type SessionOptions } from "../engine/index.ts";
import { createLog, expectValid, readRecords, SESSION, waitUntil } from "../../test/contracts/sender.ts";
import type { Log } from "../log/log.ts";
import type { EventOf } from "../protocol/index.ts";
import { defineGraph } from "./define-graph.ts";
import { append, type Channels, END, type Graph, type NodeContext, replace } from "./graph.ts";
import { resumeGraph, runGraph } from "./run-graph.ts";

const ignore = (): void => undefined;
const trail = { trail: append<string>() };

/** Runs a graph in a process that dies when the graph calls `crash`. */
async function die<C extends Channels>(log: Log, makeGraph: (crash: () => void) => Graph<C>): Promise<void> {
  const session = await openSession(log, SESSION, { onError: ignore });
  const run = await session.startRun({ runId: "r" });
  const { promise, resolve } = Promise.withResolvers<void>();
  runGraph(makeGraph(resolve), { run }).catch(ignore);
  await promise;
  await session.close({ run: "leave" });
}

async function resume<C extends Channels>(log: Log, graph: Graph<C>, options: SessionOptions = {}) {
  let state: unknown;
  let error: unknown;
  const session = await openSession(log, SESSION, {
    ...options,
    onError: ignore,
    resume: async (dead) => {
      try {
        state = await resumeGraph(graph, dead, { log });
      } catch (thrown) {
        error = thrown;
        throw thrown;
      }
    },
  });
  await session.idle();
  const [recovered] = session.recovered;
  await session.close();
  return { state, error, outcome: recovered?.outcome, records: await expectValid(log) };
}

async function hasAsked(log: Log): Promise<boolean> {
  return (await readRecords(log)).some(({ event }) => event.type === "tool_approval");
}

const stuck = (): Promise<void> => new Promise(ignore);

describe("resumeGraph", () => {
  it("skips finished nodes and gives the others the tool calls that had ended", async () => {
    const log = await createLog();
    const ran: string[] = [];
    const makeGraph = (act: (node: NodeContext) => Promise<void>) =>
      defineGraph({
        name: "g",
        channels: trail,
        nodes: {
          think: () => {
            ran.push("think");
            return { trail: ["think"] };
          },
          side: () => {
            ran.push("side");
            return { trail: ["side"] };
          },
          act: async (_, node) => {
            ran.push("act");
            await act(node);
            return { trail: ["act"] };
          },
        },
        edges: { think: ["side", "act"] },
        start: "think",
      });
    await die(log, (crash) =>
      makeGraph(async ({ span }) => {
        for (const call_id of ["ended", "started"]) {
          void span.emit({ type: "tool_call", call_id, name: "t", arguments: {} });
          void span.emit({ type: "tool_start", call_id, name: "t" });
        }
        await span.emit({ type: "tool_end", call_id: "ended", name: "t", result: "42", is_error: false });
        crash();
        await stuck();
      }),
    );
    let calls: unknown;
    const { state, outcome, records } = await resume(
      log,
      makeGraph(async ({ endedCalls }) => {
        calls = [...endedCalls.values()].map(({ call_id, is_error, error_code }) => [call_id, is_error, error_code]);
      }),
    );
    expect(outcome).toBe("resumed");
    expect(state).toEqual({ trail: ["think", "side", "act"] });
    expect(ran).toEqual(["think", "side", "act", "act"]);
    // A started call has an unknown outcome and must not be made again either.
    expect(calls).toEqual([
      ["ended", false, undefined],
      ["started", true, "interrupted"],
    ]);
    expect(records.at(-2)?.event).toMatchObject({ type: "run_end", status: "completed" });
  });

  it("returns an answer that was given while no process ran", async () => {
    const log = await createLog();
    const makeGraph = (crash: () => void) =>
      defineGraph({
        name: "g",
        channels: trail,
        nodes: {
          ask: async (_, node) => {
            const first = await node.interrupt({ text: "First?" });
            const second = node.interrupt({ text: "Second?" });
            crash();
            return { trail: [JSON.stringify(first.value), (await second).decision] };
          },
        },
        start: "ask",
      });
    const answer = (call_id: string, more: object) =>
      sendCommand(log, {
        commandId: call_id,
        sessionId: SESSION,
        kind: "approve",
        body: { run_id: "r", call_id, decision: "approved", ...more },
      });
    const dying = die(log, makeGraph);
    await waitUntil(log, async () => (await log.getSession(SESSION)) !== undefined && hasAsked(log));
    await answer("ask-1-0-0", { arguments: { text: "Yes" } });
    await dying;
    expect((await answer("ask-1-0-1", { decision: "rejected" })).outcome?.code).toBe("done");
    const { state, records } = await resume(log, makeGraph(ignore));
    expect(state).toEqual({ trail: [`{"text":"Yes"}`, "rejected"] });
    const asked = records.filter(({ event }) => event.type === "tool_approval");
    expect(asked).toHaveLength(2);
  });

  it("does nothing if the graph was done, and replies with the earlier text", async () => {
    const log = await createLog();
    const makeGraph = (crash: () => void) =>
      defineGraph({
        name: "g",
        channels: trail,
        nodes: { say: (_, { span }) => void span.write("All of it.") },
        edges: {
          say: () => {
            crash();
            return END;
          },
        },
        start: "say",
      });
    await die(log, makeGraph);
    const { outcome, records } = await resume(log, makeGraph(ignore));
    expect(outcome).toBe("resumed");
    expect(records.at(-1)?.event).toEqual({ type: "reply", reply: "All of it." });
    expect(records.filter(({ event }) => event.type === "message_chunk")).toHaveLength(1);
  });

  it.each([["open"], ["failed"]])("repeats a node run that sent answer text and is %s", async (how) => {
    const log = await createLog();
    await die(log, (crash) =>
      defineGraph({
        name: "g",
        channels: {},
        nodes: {
          say: async (_, { span }) => {
            await span.write("half a sen");
            if (how === "failed") await span.fail(new Error("cut"));
            crash();
            await stuck();
          },
        },
        start: "say",
      }),
    );
    const graph = defineGraph({ name: "g", channels: {}, nodes: { say: ignore }, start: "say" });
    const { outcome, records } = await resume(log, graph);
    expect(outcome).toBe("resumed");
    const entered = records.flatMap(({ event }) => (event.type === "node_enter" ? [event] : []));
    expect(entered).toMatchObject([{ id: "say" }, { id: "say", supersedes: "run-say-1", attempt: 2 }]);
    expect(records.at(-1)?.event).toMatchObject({ reply: "" });
  });

  const left = { name: "g", channels: { ...trail, n: replace(0) }, start: "a" } as const;
  const changes: [what: string, graph: unknown][] = [
    ["a node", defineGraph({ ...left, nodes: { a: ignore } })],
    ["a channel", defineGraph({ ...left, channels: trail, nodes: { a: ignore, b: ignore } })],
    [
      "the kind of a channel",
      defineGraph({ ...left, channels: { ...trail, n: append() }, nodes: { a: ignore, b: ignore } }),
    ],
  ];
  it.each(changes)("fails the run if the graph lacks %s", async (_what, graph) => {
    const log = await createLog();
    await die(log, (crash) =>
      defineGraph({
        ...left,
        nodes: {
          a: () => ({ n: 1 }),
          b: () => {
            crash();
            return stuck();
          },
        },
        edges: { a: "b" },
      }),
    );
    const { error, records } = await resume(log, graph as Graph);
    expect(error).toMatchObject({ code: "graph_changed" });
    expect(records.at(-2)?.event).toMatchObject({ status: "error", code: "graph_changed" });
  });

  it("starts a new channel with its initial value", async () => {
    const log = await createLog();
    await die(log, (crash) =>
      defineGraph({
        ...left,
        channels: trail,
        nodes: {
          a: () => {
            crash();
            return stuck();
          },
        },
      }),
    );
    const graph = defineGraph({ ...left, channels: { ...trail, more: replace("new") }, nodes: { a: ignore } });
    expect((await resume(log, graph)).state).toEqual({ trail: [], more: "new" });
  });

  it("can end calls that the graph no longer makes", async () => {
    const log = await createLog();
    await die(log, (crash) =>
      defineGraph({
        ...left,
        nodes: {
          a: async (_, { span }) => {
            await span.emit({ type: "tool_call", call_id: "c", name: "t", arguments: {} });
            crash();
            await stuck();
          },
        },
      }),
    );
    const session = await openSession(log, SESSION, {
      resume: async ({ run, calls }) => {
        run.closeCalls(
          calls.flatMap(({ callId = "" }) => callId),
          { reason: "the tool is gone" },
        );
        expect([...run.work.calls]).toEqual([]);
      },
    });
    await session.idle();
    const records = await expectValid(log);
    const end = records.find(({ event }) => event.type === "tool_end")?.event as EventOf<"tool_end">;
    expect(end).toMatchObject({ call_id: "c", is_error: true, result: "the tool is gone before it started" });
  });

  it("asks the question of a part again and does not mix up answers", async () => {
    const log = await createLog();
    const out = replace<readonly string[]>([]);
    const makeGraph = () =>
      defineGraph({
        name: "g",
        channels: { out },
        nodes: {
          work: async (_, { once }) => {
            const ask = (key: string) =>
              once(key, async ({ interrupt }) => (await interrupt({ question: "Continue?" })).decision);
            return { out: [await ask("read"), await ask("delete")] };
          },
        },
        start: "work",
      });
    const approve = (callId: string, decision: "approved" | "rejected") =>
      sendCommand(log, {
        commandId: callId,
        sessionId: SESSION,
        kind: "approve",
        body: { run_id: "r", call_id: callId, decision },
      });
    const session = await openSession(log, SESSION, { onError: ignore });
    const run = await session.startRun({ runId: "r" });
    runGraph(makeGraph(), { run }).catch(ignore);
    await waitUntil(log, () => hasAsked(log));
    await approve("ask-work:1.0|read-0", "approved");
    const countAsked = async () =>
      (await readRecords(log)).filter(({ event }) => event.type === "tool_approval").length;
    await waitUntil(log, async () => (await countAsked()) === 2);
    await session.close({ run: "leave" });
    const going = resume(log, makeGraph());

    await approve("ask-work:1.0|delete-0", "rejected");
    const { state, records } = await going;
    expect(state).toEqual({ out: ["approved", "rejected"] });
    const ends = records.flatMap(({ event }) => (event.type === "tool_end" ? [event as EventOf<"tool_end">] : []));
    expect(ends.map(({ is_error, error_code }) => error_code ?? is_error)).toEqual([false, "tool_rejected"]);
  });
});
