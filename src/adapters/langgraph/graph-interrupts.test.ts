import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../protocol/index.ts";
import { fromLangGraph } from "../from-langgraph.ts";
import { type AnswerApproval, listNodes, playSource, readState } from "../../../test/contracts/play-source.ts";
import { createScriptedAgent, ScriptedChatModel } from "../../../test/contracts/play-script.ts";

const INPUT = { messages: [{ role: "user", content: "How cold is it?" }] };
const WEATHER = { text: ["I look."], cities: ["Oslo"] };
const COLD = { text: ["It is ", "cold."] };
const approve: AnswerApproval = () => ({ decision: "approved" });

describe("interrupts of LangGraph", () => {
  const State = Annotation.Root({
    given: Annotation<unknown[]>({ reducer: (one, other) => [...one, ...other], default: () => [] }),
  });

  /** A graph with a node per value, which interrupts with the value. */
  function createAsking(values: readonly unknown[]) {
    const graph = new StateGraph(State)
      .addNode("ask", ({ value }: { value?: unknown }) => ({ given: [interrupt(value)] }))
      .addNode("say", ({ given }) => ({ given: [`said ${JSON.stringify(given)}`] }))
      .addConditionalEdges(START, () => values.map((value) => new Send("ask", { value })), ["ask"])
      .addEdge("ask", "say")
      .compile({ checkpointer: new MemorySaver() });
    return graph;
  }

  const cases: [string, unknown, JsonObject, unknown, boolean][] = [
    ["approved", "Go on?", { decision: "approved" }, true, false],
    ["rejected", "Go on?", { decision: "rejected" }, false, true],
    ["edited", "Your name?", { decision: "approved", arguments: { value: "Ada" } }, "Ada", false],
    ["edited object", { limit: 5 }, { decision: "approved", arguments: { limit: 6 } }, { limit: 6 }, false],
  ];

  it.each(cases)("an interrupt that is %s resumes the graph", async (_name, value, answer, resume, isError) => {
    const source = fromLangGraph(createAsking([value]), {}, { streamMode: "values" });
    const { end, find, records } = await playSource(source, () => answer);
    expect(end).toMatchObject({ status: "completed" });
    const input = typeof value === "string" ? { value } : value;
    expect(find("tool_approval")).toMatchObject([{ name: "interrupt", arguments: input }]);
    expect(find("tool_end")).toMatchObject([{ result: JSON.stringify(resume), is_error: isError }]);
    expect(readState(records)).toMatchObject({ given: [resume, `said ${JSON.stringify([resume])}`] });
    // The node that was interrupted is one node run.
    expect(listNodes(records)).toEqual(["ask", "say"]);
  });

  it("answers each of several interrupts", async () => {
    const source = fromLangGraph(createAsking(["one", "two"]), {}, { streamMode: "values" });
    const { find, records } = await playSource(source, ({ arguments: input }) => ({
      decision: (input as JsonObject)["value"] === "one" ? "approved" : "rejected",
    }));
    expect(find("tool_approval")).toHaveLength(2);
    expect(readState(records)).toMatchObject({ given: [true, false, "said [true,false]"] });
  });

  it("lets the caller choose what the node receives", async () => {
    const toResume = (answer: { decision: string }, value: unknown) => ({ answer: answer.decision, value });
    const source = fromLangGraph(createAsking(["Go on?"]), {}, { streamMode: "values", toResume });
    const { records } = await playSource(source, approve);
    expect(readState(records)).toMatchObject({
      given: [{ answer: "approved", value: "Go on?" }, expect.any(String)],
    });
  });

  it("passes edited arguments of a reviewed call on", async () => {
    const ran: JsonObject[] = [];
    const script = {
      turns: [WEATHER, COLD],
      needsApproval: true,
      onTool: (input: JsonObject) => void ran.push(input),
    };
    const source = fromLangGraph(createScriptedAgent(script), INPUT);
    const { find } = await playSource(source, () => ({ decision: "approved", arguments: { city: "Bergen" } }));
    expect(ran).toEqual([{ city: "Bergen" }]);
    expect(find("tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: false }]);
  });

  it("asks once per action of a request in the spelling of Python", async () => {
    const value = {
      action_requests: [
        { name: "a", args: { n: 1 } },
        { name: "b", args: {} },
      ],
      review_configs: [],
    };
    const source = fromLangGraph(createAsking([value]), {}, { streamMode: "values" });
    const { find, records } = await playSource(source, ({ name }) =>
      name === "a" ? { decision: "approved", arguments: { n: 2 } } : { decision: "rejected", reason: "No." },
    );
    expect(find("tool_approval").map(({ name }) => name)).toEqual(["a", "b"]);
    const decisions = [
      { type: "edit", edited_action: { name: "a", args: { n: 2 } } },
      { type: "reject", message: "No." },
    ];
    expect(readState(records)).toMatchObject({ given: [{ decisions }, expect.any(String)] });
  });

  it("asks from a tool in a subgraph, and runs the tool once", async () => {
    const buy = tool(() => `Bought: ${String(interrupt({ price: 5 }))}`, {
      name: "weather",
      description: "",
      schema: z.object({ city: z.string() }),
    });
    const model = new ScriptedChatModel({ turns: [WEATHER, COLD] });
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("agent", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
      .addNode("tools", new ToolNode([buy]))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", ({ messages }) => (messages.length < 3 ? "tools" : END), ["tools", END])
      .addEdge("tools", "agent")
      .compile();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("helper", inner)
      .addNode("other", () => ({}))
      .addEdge(START, "helper")
      .addEdge(START, "other")
      .compile({ checkpointer: new MemorySaver() });
    const { end, find, records } = await playSource(fromLangGraph(graph, INPUT), approve);
    expect(end).toMatchObject({ status: "completed" });
    expect(find("tool_start").map(({ name }) => name)).toEqual(["weather", "interrupt"]);
    expect(find("tool_end")).toMatchObject([
      { name: "interrupt", result: "true" },
      { call_id: "call-Oslo", result: "Bought: true" },
    ]);
    expect(listNodes(records).toSorted()).toEqual(["helper", "helper/agent", "helper/agent", "helper/tools", "other"]);
    expect(find("reply")).toMatchObject([{ reply: "It is cold." }]);
  });

  it.each(["approved", "rejected"])("a breakpoint that is %s goes on or ends the run", async (decision) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", () => ({ messages: [new AIMessage("one")] }))
      .addNode("b", () => ({ messages: [new AIMessage("two")] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer: new MemorySaver(), interruptBefore: ["b"] });
    const { end, find } = await playSource(fromLangGraph(graph, INPUT), () => ({ decision }));
    expect(end).toMatchObject({ status: "completed" });
    expect(find("message_chunk").map(({ content }) => content)).toEqual(
      decision === "approved" ? ["one", "two"] : ["one"],
    );
  });

  it.each([{}, { interruptBefore: ["ask" as const] }])("names the missing checkpointer: %j", async (options) => {
    const graph = new StateGraph(State)
      .addNode("ask", () => ({ given: [interrupt("Go on?")] }))
      .addEdge(START, "ask")
      .compile(options);
    const { end, find } = await playSource(fromLangGraph(graph, {}));
    expect(end).toMatchObject({ status: "error", code: "run_failed" });
    expect(find("error")[0]?.["message"]).toContain("has no checkpointer");
    expect(find("tool_approval")).toEqual([]);
  });

  it("repeats a node run that spoke before it was interrupted", async () => {
    const model = new ScriptedChatModel({ turns: [{ text: ["Draft 1."] }, { text: ["Draft 2."] }] });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("write", async ({ messages }, config) => {
        const draft = await model.invoke(messages, config);
        interrupt("Send?");
        return { messages: [draft] };
      })
      .addEdge(START, "write")
      .compile({ checkpointer: new MemorySaver() });
    const { find, records } = await playSource(fromLangGraph(graph, INPUT), approve);
    expect(listNodes(records)).toEqual(["write", "write"]);
    expect(find("node_exit")).toMatchObject([{ result: { Err: "interrupted" } }, { result: "Ok" }]);
    expect(find("node_enter")[1]).toMatchObject({ supersedes: expect.any(String) as string });
    expect(find("reply")).toMatchObject([{ reply: "Draft 2." }]);
  });
});
