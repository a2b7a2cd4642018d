// `events`: every event of a run, typed, with approvals that the reader answers.
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createFacadeFixture, expectNothingLeft, failureOf } from "../../test/agents/facade-fixture.ts";
import type { Script } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { JsonObject } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import { agent } from "./agent.ts";
import { listNodes, playGot } from "../../test/contracts/got-script.ts";
import type { AgentEvent, ApprovalRequestEvent } from "./agent-event.ts";

const erase = defineTool({
  name: "erase",
  description: "Erases a file.",
  input: z.object({ path: z.string() }),
  approval: "always",
  async *execute({ path }, { report }) {
    report(50, "half");
    yield `erased ${path}`;
  },
});
const erases: Script = [
  { reasoning: "Hm.", calls: [{ name: "erase", input: { path: "a.txt" }, id: "c1" }] },
  { text: "Done." },
];

async function collectEvents(
  stream: AsyncIterable<AgentEvent>,
  onApproval: (event: ApprovalRequestEvent) => Promise<void> = (event) => event.approve(),
): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === "tool_approval") await onApproval(event);
  }
  return events;
}

describe("events", () => {
  it("yields everything a user interface shows, and lets the reader approve", async () => {
    const { agent: actor, log } = await createFacadeFixture(erases, { tools: [erase] });
    const events = await collectEvents(actor.events("Erase a.txt", { requestId: "r1", sessionId: "chat-1" }));
    const state = new Set(["values", "updates", "checkpoint"]);
    const types = events.map(({ type }) => type).filter((type) => !state.has(type));
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual(
      (
        "run_start node_enter llm_start reasoning_chunk reasoning_end tool_call_chunk tool_call usage llm_end " +
        "node_exit node_enter tool_approval tool_approval_result tool_start tool_progress tool_output tool_end node_exit " +
        "node_enter node_exit node_enter llm_start message_chunk usage llm_end node_exit run_end reply"
      ).split(" "),
    );
    expect(events.some(({ type }) => state.has(type))).toBe(true);
    const ids = events.map(({ event_id }) => event_id);
    expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
    for (const { session_id, run_id } of events) expect([session_id, run_id]).toEqual(["chat-1", events[0]?.run_id]);
    expect(events.find(({ type }) => type === "tool_output")).toMatchObject({
      content: "erased a.txt",
      node_id: "run-act-2",
    });
    await expectNothingLeft(log);
  });

  it("names the expanded node, as a frame does", async () => {
    const { agent: actor } = await createFacadeFixture(
      playGot({ plan: listNodes([{ id: "a" }]), expansions: { a: listNodes([{ id: "b" }]) } }),
      { kind: "got", adaptive: true, maxDepth: 1 },
    );
    const events = await collectEvents(actor.events("Why?"));
    expect(events.find(({ type }) => type === "got_expand")).toMatchObject({
      node_id: "a",
      nodes: ["a.b"],
      span_node_id: "run-execute_graph-2",
    });
  });

  it("runs the tool with the arguments that the reader approved", async () => {
    const { agent: actor } = await createFacadeFixture(erases, { tools: [erase] });
    const edited: JsonObject = { path: "b.txt" };
    const events = await collectEvents(actor.events("Erase"), (event) => event.approve({ arguments: edited }));
    expect(events.find(({ type }) => type === "tool_end")).toMatchObject({ is_error: false });
    expect(JSON.stringify(events)).toContain("erased b.txt");
  });

  it("does not approve if the edited arguments are passed in the wrong place", async () => {
    const { agent: actor } = await createFacadeFixture(erases, { tools: [erase] });
    const events = await collectEvents(actor.events("Erase"), async (event) => {
      const wrong: object = { path: "b.txt" };
      expect(await failureOf(event.approve(wrong))).toMatchObject({ code: "invalid_arguments" });
      await event.reject();
    });
    expect(events.find(({ type }) => type === "tool_end")).toMatchObject({ error_code: "tool_rejected" });
  });

  it("tells the model why the reader rejected a call", async () => {
    const { agent: actor, model } = await createFacadeFixture(erases, { tools: [erase] });
    await collectEvents(actor.events("Erase"), (event) => event.reject("It is needed"));
    expect(JSON.stringify(model.prompts[1])).toContain("It is needed");
  });

  it("waits for an answer that comes after the loop has gone on, without a log", async () => {
    await using actor = agent({ model: new ScriptedModel(erases), tools: [erase] });
    const asked = Promise.withResolvers<ApprovalRequestEvent>();
    const reading = collectEvents(actor.events("Erase"), async (event) => asked.resolve(event));
    const request = await asked.promise;
    await request.approve();
    expect((await reading).at(-1)).toMatchObject({ type: "reply", reply: "Done." });
    expect(await failureOf(request.reject())).toMatchObject({ code: "run_ended" });
  });

  it("refuses a second answer", async () => {
    const { agent: actor } = await createFacadeFixture(erases, { tools: [erase] });
    await collectEvents(actor.events("Erase"), async (event) => {
      await event.reject();
      expect(await failureOf(event.approve())).toMatchObject({ code: "already_answered" });
    });
  });

  it("leaves requests to `approve` if there is one", async () => {
    const { agent: actor } = await createFacadeFixture(erases, { tools: [erase], approve: () => true });
    const events = await collectEvents(actor.events("Erase"), async () => undefined);
    expect(events.find(({ type }) => type === "tool_approval_result")).toMatchObject({ decision: "approved" });
  });

  it("yields approval requests that can be copied as data", async () => {
    const { agent: actor } = await createFacadeFixture(erases, { tools: [erase] });
    await collectEvents(actor.events("Erase"), async (event) => {
      expect(structuredClone(event)).toMatchObject({ type: "tool_approval", name: "erase" });
      await event.approve();
    });
  });

  it("cancels the run when the reader leaves, also at an approval", async () => {
    const { agent: actor, log } = await createFacadeFixture(erases, { tools: [erase] });
    for await (const { type } of actor.events("Erase", { sessionId: "chat-1" })) if (type === "tool_approval") break;
    expect(await log.listRuns("chat-1")).toMatchObject([{ status: "cancelled" }]);
    await expectNothingLeft(log);
  });

  it("throws the error of a failed run after its reply", async () => {
    const fails: Script = [{ fault: { kind: "throw" } }];
    const { agent: actor } = await createFacadeFixture(fails, { callOptions: { maxRetries: 0 } });
    const types: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const { type } of actor.events("Hello")) types.push(type);
      })(),
    );
    expect(types.slice(-2)).toEqual(["run_end", "reply"]);
    expect(error).toMatchObject({ code: "model_failed", details: { stage: "llm_stream" } });
  });

  it("has the type of each event", () => {
    const read = (event: AgentEvent): unknown => {
      expectTypeOf(event.event_id).toBeNumber();
      switch (event.type) {
        case "message_chunk":
        case "reasoning_chunk":
          return expectTypeOf(event.content).toBeString();
        case "tool_call_chunk":
          return expectTypeOf(event.arguments_delta).toBeString();
        case "tool_progress":
          return expectTypeOf(event.progress).toBeNumber();
        case "tool_approval":
          return expectTypeOf(event.approve()).toEqualTypeOf<Promise<void>>();
        case "usage":
          return expectTypeOf(event.total_tokens).toBeNumber();
        case "run_end":
          return expectTypeOf(event.status).toExtend<string>();
        // @ts-expect-error There is no such event.
        case "text":
          return undefined;
        default:
          // @ts-expect-error Only approval requests can be answered.
          return event.approve;
      }
    };
    expect(read).toBeTypeOf("function");
  });
});
