import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { answerOf, createAgentFixture, eventsOf, SESSION } from "./agent-fixture.ts";
import { createTools } from "./counted-tools.ts";
import { findRuleViolation } from "./find-rule-violation.ts";
import { foreignAgent } from "../../src/adapters/foreign-agent.ts";
import { fromAsyncIterable } from "../../src/adapters/from-async-iterable.ts";
import type { SourceItem } from "../../src/adapters/source.ts";
import { sendCommand } from "../../src/engine/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { EventType, StampedRecord } from "../../src/protocol/index.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { agent, type Agent, type AgentOptions } from "../../src/agents/agent.ts";
import { listNodes, playGot } from "../contracts/got-script.ts";
import { playTree } from "../contracts/tree-script.ts";

const DESCRIPTION = "Adds and removes things.";

function createHelper(script: Script, options: AgentOptions = {}) {
  const model = new ScriptedModel(script);
  const { tools, ran } = createTools();
  return { helper: agent({ model, tools, ...options }), model, ran };
}

const asTool = (helper: Agent, options: Partial<Parameters<Agent["asTool"]>[0]> = {}): Tool =>
  helper.asTool({ name: "help", description: DESCRIPTION, ...options });

const call = (message: string, id: string) => ({ name: "help", input: { message }, id });

/** Names of the node runs around a record, the innermost first. */
function placeOf(records: readonly StampedRecord[], type: EventType): readonly string[] {
  const nodes = new Map<string | undefined, { readonly id: string; readonly parent?: string }>();
  for (const { envelope, event } of records)
    if (event.type === "node_enter") nodes.set(envelope.node_id, event as unknown as { id: string; parent?: string });
  const names: string[] = [];
  let at = records.find(({ event }) => event.type === type)?.envelope.node_id;
  for (let node = nodes.get(at); node !== undefined; node = nodes.get(at)) {
    names.push(node.id);
    at = node.parent;
  }
  return names;
}

const never = new Promise<void>(() => undefined);

describe("an agent as a tool", () => {
  it("works inside the run of its caller", async () => {
    const { helper, model, ran } = createHelper([
      { reasoning: "Let me see.", text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "n1" }] },
      { text: "It is 3." },
    ]);
    const fixture = await createAgentFixture(
      [{ calls: [call("1 + 2?", "p1")] }, { text: "Three." }, { text: "Bye." }],
      {
        tools: [asTool(helper)],
      },
    );
    expect(await (await fixture.ask("Add")).ended).toMatchObject({ status: "completed" });
    expect(ran).toEqual([["add", { a: 1, b: 2 }]]);
    expect(model.prompts[0]?.at(-1)).toEqual({ role: "user", content: [{ type: "text", text: "1 + 2?" }] });

    const records = await fixture.read();
    expect(placeOf(records, "reasoning_chunk")).toEqual(["think", "help", "act"]);
    expect(eventsOf(records, "node_enter").filter(({ call_id }) => call_id !== undefined)).toMatchObject([
      { id: "help", call_id: "p1" },
    ]);
    expect(eventsOf(records, "tool_end")).toMatchObject([
      { call_id: "n1", result: "3" },
      { call_id: "p1", result: "It is 3.", is_error: false },
    ]);
    const output = eventsOf(records, "tool_output").map(({ call_id, content }) => `${call_id} ${content}`);
    expect(output.every((line) => line.startsWith("p1 "))).toBe(true);
    expect(output.map((line) => line.slice(3)).join("")).toBe("Adding. It is 3.");
    // No client takes its text for the answer of the run.
    expect(answerOf(records)).toBe("Three.");
    expect(eventsOf(records, "reply")).toEqual([{ type: "reply", reply: "Three." }]);
    // Its states would replace those of its caller.
    const nodes = eventsOf(records, "updates").map(({ id }) => id);
    expect(nodes).toEqual(["think", "act", "observe", "think"]);
    const [end] = eventsOf(records, "run_end");
    const used = eventsOf(records, "usage").reduce((sum, { total_tokens }) => sum + total_tokens, 0);
    expect(eventsOf(records, "llm_end")).toHaveLength(4);
    expect(end?.summary).toMatchObject({ tool_calls: 2, total_tokens: used });

    // Only the result of the call is part of the conversation.
    await (
      await fixture.ask("And?")
    ).ended;
    const prompt = fixture.model.prompts.at(-1) ?? [];
    expect(findRuleViolation(prompt)).toBeUndefined();
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(JSON.stringify(prompt)).not.toContain("n1");
  });

  it("has no memory of earlier calls", async () => {
    const { helper, model } = createHelper([{ text: "One" }, { text: "Two" }], { compression: true });
    const fixture = await createAgentFixture(
      [{ calls: [call("first", "p1")] }, { calls: [call("second", "p2")] }, { text: "Done." }],
      { tools: [asTool(helper)], compression: true },
    );
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(model.prompts.map((prompt) => prompt.length)).toEqual([1, 1]);
    await fixture.read();
  });

  it("answers several calls at once", async () => {
    const { helper } = createHelper(({ prompt }) => {
      const asked = JSON.stringify(prompt[0]);
      const id = asked.includes("left") ? "left" : "right";
      if (prompt.length > 1) return { text: `${id} is done` };
      return { calls: [{ name: "add", input: { a: 1, b: 1 }, id: "same" }] };
    });
    const fixture = await createAgentFixture(
      [{ calls: [call("left", "p1"), call("right", "p2")] }, { text: "Done." }],
      {
        tools: [asTool(helper)],
      },
    );
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    const results = eventsOf(records, "tool_end").filter(({ name }) => name === "help");
    expect(Object.fromEntries(results.map(({ call_id = "", result }) => [call_id, result]))).toEqual({
      p1: "left is done",
      p2: "right is done",
    });
  });

  it("is cancelled with the run", async () => {
    const { helper, model } = createHelper([{ text: "Half", until: never }]);
    const fixture = await createAgentFixture([{ calls: [call("wait", "p1")] }, { text: "Again." }], {
      tools: [asTool(helper)],
    });
    const run = await fixture.ask("Go");
    await expect.poll(() => model.requests.length, { interval: 1 }).toBe(1);
    const body = { run_id: run.runId, reason: "enough" };
    await sendCommand(fixture.log, { commandId: "stop", sessionId: SESSION, kind: "cancel", body });
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    await expect.poll(() => model.requests[0]?.abortSignal?.aborted, { interval: 1 }).toBe(true);
    const records = await fixture.read();
    expect(eventsOf(records, "node_enter")).toHaveLength(eventsOf(records, "node_exit").length);
    expect(await (await fixture.ask("Still there?")).ended).toMatchObject({ status: "completed" });
    await fixture.read();
  });

  it("asks the user in the run of its caller", async () => {
    const { helper, ran } = createHelper([
      { calls: [{ name: "remove", input: { path: "a" }, id: "n1" }] },
      { text: "Gone." },
    ]);
    const fixture = await createAgentFixture([{ calls: [call("remove a", "p1")] }, { text: "Done." }], {
      tools: [asTool(helper)],
    });
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    expect(await asked).toMatchObject({ call_id: "n1", name: "remove" });
    run.answerApproval({ callId: "n1", decision: "approved", arguments: { path: "b" } });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(ran).toEqual([["remove", { path: "b" }]]);
    expect(placeOf(await fixture.read(), "tool_approval")).toEqual(["act", "help", "act"]);
  });

  it("follows the tool rules of the run", async () => {
    const { helper, model, ran } = createHelper([
      {
        calls: [
          { name: "add", input: { a: 1, b: 1 }, id: "n1" },
          { name: "remove", input: { path: "a" }, id: "n2" },
        ],
      },
      { text: "Denied." },
    ]);
    const fixture = await createAgentFixture([{ calls: [call("go", "p1")] }, { text: "Done." }], {
      tools: [asTool(helper)],
    });
    const asked = fixture.wait("tool_approval");
    const toolRules = { add: "ask", remove: "deny", help: "allow" } as const;
    const run = await fixture.agent.answer(fixture.session, "Go", { toolRules });
    expect(await asked).toMatchObject({ call_id: "n1" });
    run.answerApproval({ callId: "n1", decision: "rejected" });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).not.toContain("remove");
    const codes = eventsOf(await fixture.read(), "tool_end").map(({ call_id, error_code }) => [call_id, error_code]);
    expect(codes).toContainEqual(["n2", "tool_denied"]);
  });

  it("reports its failure as that of the call, and hides unexpected errors", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const { helper } = createHelper([{ fault: { kind: "throw" } }], { callOptions: { maxRetries: 0 } });
    const broken = foreignAgent(
      () => {
        throw new Error("the secret");
      },
      { onError },
    );
    const fixture = await createAgentFixture(
      [{ calls: [call("go", "p1"), { name: "broken", input: { message: "go" }, id: "p2" }] }, { text: "Sorry." }],
      { tools: [asTool(helper), asTool(broken, { name: "broken" })] },
    );
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(eventsOf(records, "tool_end")).toMatchObject([
      { call_id: "p2", is_error: true, error_code: "run_failed", result: "The agent failed unexpectedly" },
      { call_id: "p1", is_error: true, error_code: "model_failed" },
    ]);
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ message: "the secret" }),
      expect.anything(),
    );
    expect(JSON.stringify(records)).not.toContain("the secret");
  });

  it("closes everything when the call times out", async () => {
    const { helper, ran } = createHelper([
      {
        calls: [
          { name: "wait", id: "n1" },
          { name: "remove", input: { path: "a" }, id: "n2" },
        ],
      },
    ]);
    const slow = createHelper([{ text: "Ha", fault: { kind: "stall", after: 1 } }]).helper;
    const fixture = await createAgentFixture(
      [{ calls: [call("go", "p1"), { name: "slow", input: { message: "go" }, id: "p2" }] }, { text: "Too late." }],
      { tools: [asTool(helper, { timeoutMs: 1000 }), asTool(slow, { name: "slow", timeoutMs: 1000 })] },
    );
    const run = await fixture.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(ran).toEqual([["wait", {}]]);
    const records = await fixture.read();
    const ends = eventsOf(records, "tool_end").map(({ call_id = "", error_code }) => [call_id, error_code]);
    expect(Object.fromEntries(ends)).toEqual({
      n1: "interrupted",
      n2: "interrupted",
      p1: "tool_timeout",
      p2: "tool_timeout",
    });
    const last = records.findLastIndex(({ event }) => event.type === "tool_end");
    const open = records.slice(last).filter(({ event }) => event.type === "node_exit");
    expect(open.map(({ event }) => (event as unknown as { id: string }).id)).toEqual(["act", "observe", "think"]);
  });

  it("returns structured output", async () => {
    const { helper } = createHelper([{ text: '{"sum":3}' }]);
    const fixture = await createAgentFixture([{ calls: [call("1 + 2?", "p1")] }, { text: "Three." }], {
      tools: [asTool(helper, { output: z.object({ sum: z.number() }) })],
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(eventsOf(await fixture.read(), "tool_end")).toMatchObject([{ result: '{"sum":3}', output: { sum: 3 } }]);
  });

  it("is seen by the observers of its caller only", async () => {
    const seen: { readonly [who: string]: string[] } = { caller: [], helper: [] };
    const observe = (who: string): AgentOptions => ({
      callbacks: [{ onEvent: (type) => void seen[who]?.push(type) }],
    });
    const { helper } = createHelper([{ text: "Yes." }], observe("helper"));
    const { model, tools } = {
      model: new ScriptedModel([{ calls: [call("?", "p1")] }, { text: "Yes." }]),
      tools: [asTool(helper)],
    };
    await using caller = agent({ model, tools, ...observe("caller") });
    const { usage } = await caller.run("Go");
    expect(seen["helper"]).toEqual([]);
    expect(seen["caller"]?.length).toBeGreaterThan(0);
    expect(usage.totalTokens).toBeGreaterThan(0);
    expect(helper.metrics.summary()).toEqual(createHelper([]).helper.metrics.summary());
    expect(JSON.stringify(caller.metrics.summary())).toContain("help");
  });

  it("ends the run if agents call each other too deeply", async () => {
    const tools: Tool[] = [];
    let requests = 0;
    const script: Script = () => {
      requests++;
      return { calls: [{ name: "help", input: { message: "deeper" } }] };
    };
    // A tool that forwards its calls, because an agent cannot have itself as a tool.
    const forward = (): Tool => ({
      ...asTool(createHelper([]).helper),
      execute: (...given) => (tools[0] as Tool).execute(...given),
    });
    const { helper } = createHelper(script, { tools: [forward()] });
    tools.push(asTool(helper));
    await expect(helper.run("Go")).rejects.toMatchObject({ code: "nesting_limit", details: { limit: 5 } });
    expect(requests).toBe(6);
    tools[0] = asTool(helper, { maxDepth: 1 });
    const fixture = await createAgentFixture(script, { tools: [asTool(helper)] });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "error", code: "nesting_limit" });
    expect(requests).toBe(8);
    await fixture.read();
  });

  it("refuses calls outside a run, after it is closed, and with wrong options", async () => {
    const { helper } = createHelper([]);
    const context = { callId: "c", signal: new AbortController().signal, print: () => undefined } as never;
    await expect(asTool(helper).execute({ message: "x" }, context)).rejects.toMatchObject({ code: "unsupported" });
    await helper.close();
    await expect(asTool(helper).execute({ message: "x" }, context)).rejects.toMatchObject({ code: "session_closed" });
    expect(() => asTool(helper, { maxDepth: 0 })).toThrow("`maxDepth` must be an integer from 1");
    expect(() => asTool(helper, { name: "two words" })).toThrow("the name must have");
    const { helper: tree } = createHelper([], { kind: "tot" });
    expect(() => asTool(tree, { output: z.object({}) })).toThrow("`output` needs an agent of the kind `react`");
  });
});

describe("agents of every kind as tools", () => {
  const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "end", needs: ["a", "b"], operation: "aggregate" }]);
  const tree = {
    sum: {
      score: 0.9,
      calls: [{ id: "c-sum", name: "add", input: { a: 1, b: 2 } }],
      next: { done: { score: 1, solved: true } },
    },
  };
  const items: readonly SourceItem[] = [
    "Hel",
    "lo",
    { type: "tool_call", call_id: "f1", name: "look", arguments: {} },
    { type: "tool_end", call_id: "f1", name: "look", result: "seen", is_error: false },
  ];
  const foreign = () =>
    foreignAgent(async (_message, context) => {
      expect((await context.conversation()).messages).toHaveLength(1);
      return fromAsyncIterable(
        (async function* () {
          yield* items;
        })() as never,
      );
    });
  const makers: { readonly [kind: string]: () => Agent } = {
    tot: () =>
      createHelper((request) => playTree(tree, request), { kind: "tot", generate: "sample", candidates: 1, beam: 1 })
        .helper,
    got: () => createHelper(playGot({ plan }), { kind: "got", retryMs: 0 }).helper,
    adaptive: () =>
      createHelper(playGot({ plan, expansions: { a: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }]) } }), {
        kind: "got",
        adaptive: true,
        retryMs: 0,
      }).helper,
    foreign,
  };

  it.each(Object.keys(makers))("%s, called twice at once", async (kind) => {
    const fixture = await createAgentFixture([{ calls: [call("one", "p1"), call("two", "p2")] }, { text: "Done." }], {
      tools: [asTool((makers[kind] as () => Agent)())],
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(answerOf(records)).toContain("Done.");
    expect(
      eventsOf(records, "message_chunk")
        .filter(({ channel }) => channel === undefined || channel === "answer")
        .map(({ content }) => content)
        .join(""),
    ).toBe("Done.");
    const results = eventsOf(records, "tool_end").filter(({ name }) => name === "help");
    expect(results.map(({ is_error, result }) => [is_error, result.length > 0])).toEqual([
      [false, true],
      [false, true],
    ]);
    expect(eventsOf(records, "checkpoint").every(({ checkpoint_ns }) => checkpoint_ns === "")).toBe(true);
  });

  it.each(["tot", "got"] as const)("called by a %s agent", async (kind) => {
    const help = asTool((makers["got"] as () => Agent)());
    const calls = [call("go", "p1")];
    const script: Script =
      kind === "tot"
        ? (request) => playTree({ try: { score: 0.9, calls, next: { done: { score: 1, solved: true } } } }, request)
        : playGot({
            plan,
            work: ({ id, turn }) => (turn === 0 ? { calls: [call(id, `p-${id}`)] } : { text: `result of ${id}` }),
          });
    const fixture = await createAgentFixture(script, {
      tools: [help],
      ...(kind === "tot" ? { kind, generate: "sample", candidates: 1, beam: 1 } : { kind, retryMs: 0 }),
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    const ends = eventsOf(await fixture.read(), "tool_end");
    expect(ends.length).toBeGreaterThan(0);
    expect(ends.every(({ is_error }) => !is_error)).toBe(true);
  });

  it("with thoughts of the same name as those of its caller", async () => {
    const remove = { name: "remove", input: { path: "x" }, id: "n1" };
    const { helper, ran } = createHelper(
      playGot({
        plan: listNodes([{ id: "a" }]),
        work: ({ turn }) => (turn === 0 ? { calls: [remove] } : { text: "Gone." }),
      }),
      { kind: "got", retryMs: 0 },
    );
    const { promise: isAsked, resolve } = Promise.withResolvers<void>();
    const later = listNodes([{ id: "b" }, { id: "c" }, { id: "a", needs: ["c"] }, { id: "end", needs: ["a", "b"] }]);
    const script = playGot({
      plan: later,
      work: ({ id, turn }) => {
        if (id === "b" && turn === 0) return { calls: [call("remove x", "p1")] };
        return id === "c" ? { text: "c", until: isAsked } : { text: id };
      },
    });
    const fixture = await createAgentFixture(script, { tools: [asTool(helper)], kind: "got", retryMs: 0 });
    const asked = fixture.wait("tool_approval");
    const hasOther = fixture.wait("got_node_complete", ({ id }) => id === "a");
    const run = await fixture.ask("Go");
    await asked;
    resolve();
    await hasOther;
    run.answerApproval({ callId: "n1", decision: "approved" });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(ran).toEqual([["remove", { path: "x" }]]);
    await fixture.read();
  });
});
