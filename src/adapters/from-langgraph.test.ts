import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver, MessagesAnnotation, START, StateGraph, type StreamMode } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { setTimeout } from "node:timers/promises";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { MemoryLog } from "../log/index.ts";
import type { AnyEvent, JsonObject } from "../protocol/index.ts";
import { StateFold } from "../protocol/state-fold.ts";
import { describeAdapter } from "../../test/contracts/adapter.ts";
import { fromLangGraph, type LangGraph } from "./from-langgraph.ts";
import { GraphStates } from "./langgraph/graph-states.ts";
import { listNodes, playSource, readState } from "../../test/contracts/play-source.ts";
import { createScriptedAgent, ScriptedChatModel } from "../../test/contracts/play-script.ts";
import { record } from "./record.ts";

const INPUT = { messages: [{ role: "user", content: "How cold is it?" }] };
const WEATHER = { text: ["I look."], cities: ["Oslo"] };
const COLD = { text: ["It is ", "cold."] };

describeAdapter("fromLangGraph", {
  create: (script) => fromLangGraph(createScriptedAgent(script), INPUT),
});

describe("fromLangGraph", () => {
  it("takes graphs of the real package", () => {
    expectTypeOf(createScriptedAgent({ turns: [] })).toExtend<LangGraph>();
  });

  it("names a graph that is not compiled", async () => {
    const source = fromLangGraph(new StateGraph(MessagesAnnotation) as never, {});
    const run = await record(new MemoryLog(), { sessionId: "s", message: "Hi" }, source);
    expect(await run.ended).toMatchObject({ reason: expect.stringContaining("compile()") as string });
  });

  it("records subgraphs as nested and parallel nodes as parallel node runs", async () => {
    const inner = createScriptedAgent({ turns: [WEATHER, COLD] });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("helper", inner)
      .addNode("other", async () => {
        await setTimeout(1);
        return {};
      })
      .addEdge(START, "helper")
      .addEdge(START, "other")
      .compile();
    const { records, find } = await playSource(fromLangGraph(graph, INPUT));
    expect(listNodes(records).toSorted()).toEqual([
      "helper",
      "helper/agent",
      "helper/agent",
      "helper/review",
      "helper/review",
      "helper/tools",
      "other",
    ]);
    expect(new Set(find("node_exit").map(({ result }) => result))).toEqual(new Set(["Ok"]));
    // The first two begin before one of them ends.
    const types = records.flatMap(({ event: { type } }) => (type.startsWith("node_") ? [type] : []));
    expect(types.slice(0, 2)).toEqual(["node_enter", "node_enter"]);
    expect(find("reply")).toMatchObject([{ reply: "It is cold." }]);
  });

  it("records model calls with their finish reason and tokens", async () => {
    const { find } = await playSource(fromLangGraph(createScriptedAgent({ turns: [WEATHER, COLD] }), INPUT));
    expect(find("llm_start")).toHaveLength(2);
    expect(find("llm_end").map(({ finish_reason }) => finish_reason)).toEqual(["tool_calls", "stop"]);
    expect(find("usage").map(({ llm_call_id }) => llm_call_id)).toEqual(
      find("llm_end").map(({ llm_call_id }) => llm_call_id),
    );
  });

  it("records the answer of a model without streaming, and messages that nodes create, once", async () => {
    const model = new ScriptedChatModel({ turns: [COLD] });
    model.disableStreaming = true;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
      .addNode("instance", () => ({ messages: [new AIMessage("Bring a coat.")] }))
      .addNode("plain", () => ({ messages: [{ role: "assistant", content: "Bye." }] }))
      .addEdge(START, "model")
      .addEdge("model", "instance")
      .addEdge("instance", "plain")
      .compile();
    const { find } = await playSource(fromLangGraph(graph, INPUT, { streamMode: "values" }));
    expect(find("message_chunk").map(({ id, content }) => [id, content])).toEqual([
      ["model", "It is cold."],
      ["instance", "Bring a coat."],
      ["plain", "Bye."],
    ]);
  });

  it("splits a message that is larger than an event", async () => {
    const text = "\u{1f600}".repeat(300_000);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", () => ({ messages: [new AIMessage(text)] }))
      .addEdge(START, "a")
      .compile();
    const { find } = await playSource(fromLangGraph(graph, INPUT));
    const pieces = find("message_chunk").map(({ content }) => content);
    expect(pieces.join("") === text).toBe(true);
  });

  describe("streams that the caller opened", () => {
    const modes: (StreamMode | StreamMode[])[] = [
      "messages",
      "updates",
      "values",
      ["messages"],
      ["updates", "values"],
      ["messages", "updates", "values", "custom", "tasks", "tools", "debug", "checkpoints"],
    ];
    const forms = modes.flatMap((streamMode) => [false, true].map((subgraphs) => ({ streamMode, subgraphs })));

    it.each(forms)("records each message once: $streamMode, subgraphs: $subgraphs", async (form) => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("helper", createScriptedAgent({ turns: [WEATHER, COLD] }))
        .addEdge(START, "helper")
        .compile({ checkpointer: new MemorySaver() });
      const history = [new AIMessage({ content: "Earlier.", id: "old" }), new HumanMessage("How cold is it?")];
      const config = { ...form, configurable: { thread_id: "1" } };
      const stream = graph.stream({ messages: history }, config as { streamMode: "values" });
      const { end, find } = await playSource(fromLangGraph(stream));
      expect(end).toMatchObject({ status: "completed" });
      const texts = find("message_chunk").map(({ content }) => content);
      const hasHistory = form.streamMode === "updates";
      // Updates of a subgraph repeat its input, and nothing tells the two apart.
      expect(texts.join("").replace(hasHistory ? "Earlier." : "", "")).toBe("I look.\n\nIt is cold.");
      expect(find("tool_call")).toMatchObject([{ call_id: "call-Oslo", arguments: { city: "Oslo" } }]);
      expect(find("tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: false }]);
      expect(find("usage")).toHaveLength(2);
    });

    it("takes the mode of a stream that cannot tell it", async () => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("a", (_state, { writer }) => {
          writer?.({ messages: [1] });
          return {};
        })
        .addEdge(START, "a")
        .compile();
      const stream = graph.stream(INPUT, { streamMode: "custom" });
      const { find } = await playSource(fromLangGraph(stream, { streamMode: "custom" }));
      expect(find("custom")).toMatchObject([{ value: { messages: [1] } }]);
    });

    it("refuses interrupts, because a stream cannot be resumed", async () => {
      const graph = createScriptedAgent({ turns: [WEATHER, COLD], needsApproval: true });
      const config = { streamMode: ["messages", "tasks"] as StreamMode[], configurable: { thread_id: "1" } };
      const { end, find } = await playSource(fromLangGraph(graph.stream(INPUT, config)));
      expect(end).toMatchObject({ status: "completed" });
      expect(find("tool_approval")).toEqual([]);
      expect(find("tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: true }]);
    });

    it("stops the graph when the run is cancelled", async () => {
      let isAborted = false;
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("a", async (_state, { signal, writer }) => {
          signal?.addEventListener("abort", () => (isAborted = true));
          writer?.("begun");
          await new Promise(() => undefined);
        })
        .addEdge(START, "a")
        .compile();
      const log = new MemoryLog();
      const source = fromLangGraph(graph.stream(INPUT, { streamMode: ["custom"] }));
      const run = await record(log, { sessionId: "s", message: "Hi" }, source);
      while ((await log.read("s", { after: 0 })).records.length < 2) await setTimeout(2);
      run.cancel();
      await expect(run.ended).resolves.toMatchObject({ status: "cancelled" });
      expect(isAborted).toBe(true);
    });

    it.each([42, undefined, { encoding: "bytes" }])("refuses %j", async (stream) => {
      const { end } = await playSource(fromLangGraph(stream as never));
      expect(end).toMatchObject({ status: "error", code: "invalid_arguments" });
    });

    it("refuses bytes", async () => {
      const graph = createScriptedAgent({ turns: [COLD] });
      const config = { encoding: "text/event-stream", configurable: { thread_id: "1" } } as const;
      const { end } = await playSource(fromLangGraph(graph.stream(INPUT, config)));
      expect(end).toMatchObject({ status: "error", code: "invalid_arguments" });
    });
  });

  describe("failures", () => {
    it("fails the run at the recursion limit", async () => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("a", () => ({}))
        .addEdge(START, "a")
        .addEdge("a", "a")
        .compile();
      const { end } = await playSource(fromLangGraph(graph, INPUT, { recursionLimit: 3 }));
      expect(end).toMatchObject({ status: "error", code: "iteration_limit" });
    });

    it("fails the node run of a node that throws", async () => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("fine", () => ({}))
        .addNode("broken", () => {
          throw new Error("key sk-123 is wrong");
        })
        .addEdge(START, "fine")
        .addEdge("fine", "broken")
        .compile();
      const { end, find, events } = await playSource(fromLangGraph(graph, INPUT));
      expect(end).toMatchObject({ status: "error" });
      expect(find("node_exit")).toMatchObject([
        { id: "fine", result: "Ok" },
        { id: "broken", result: { Err: expect.any(String) as string } },
      ]);
      expect(JSON.stringify(events)).not.toContain("sk-123");
    });
  });

  describe("state and other data", () => {
    it("records states as deltas that give the same states", async () => {
      const graph = createScriptedAgent({ turns: [WEATHER, COLD] });
      const { find, records } = await playSource(fromLangGraph(graph, INPUT, { streamMode: "values" }));
      expect(find("values").map(({ delta }) => delta)).toEqual([false, true, true, true]);
      const { messages } = readState(records) as { messages: JsonObject[] };
      expect(messages.map(({ type, content }) => [type, content])).toEqual([
        ["human", "How cold is it?"],
        ["ai", "I look."],
        ["tool", '{"city":"Oslo","degrees":-3}'],
        ["ai", "It is cold."],
      ]);
      // Each message is stored once.
      expect(JSON.stringify(find("values")).split("I look.")).toHaveLength(2);
    });

    it("records a channel that is replaced or gone", () => {
      const events: AnyEvent[] = [];
      const states = new GraphStates((event) => events.push(event));
      const steps = [{ a: 1, list: [1] }, { a: 1, list: [1, 2] }, { a: 2, list: [3] }, { list: [3] }, { list: [3] }];
      const fold = new StateFold();
      const folded = steps.map((state) => {
        states.add("", state);
        for (const event of events) fold.add(event);
        events.length = 0;
        return fold.find()?.state;
      });
      expect(folded).toEqual(steps);
    });

    it("keeps updates as foreign frames", async () => {
      const graph = createScriptedAgent({ turns: [COLD] });
      const { find } = await playSource(fromLangGraph(graph, INPUT, { streamMode: ["updates"] }));
      expect(find("foreign").map(({ frame }) => frame)).toMatchObject([
        { mode: "updates", data: { agent: { messages: [{ type: "ai", content: "It is cold." }] } } },
        { mode: "updates", data: { review: {} } },
      ]);
    });

    it("records custom data of nodes, and leaves state out unless it is requested", async () => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("a", (_state, { writer }) => {
          writer?.({ progress: 50, big: 1n });
          return {};
        })
        .addEdge(START, "a")
        .compile();
      const { find, events } = await playSource(fromLangGraph(graph, INPUT));
      expect(find("custom")).toMatchObject([{ value: { progress: 50, big: "1" } }]);
      expect(events.map(({ type }) => type)).toEqual([
        "run_start",
        "node_enter",
        "custom",
        "node_exit",
        "run_end",
        "reply",
      ]);
    });

    it("keeps checkpoints as foreign frames, without the handlers of the configuration", async () => {
      const graph = createScriptedAgent({ turns: [COLD] });
      const config = { streamMode: ["checkpoints", "debug"], configurable: { thread_id: "t-1" } };
      const { find } = await playSource(fromLangGraph(graph, INPUT, config));
      expect(find("checkpoint")).toEqual([]);
      const frames = find("foreign").map(({ frame }) => frame as { mode: string; data: JsonObject });
      expect(frames[0]).toMatchObject({ mode: expect.stringMatching(/checkpoints|debug/) as string });
      const { data } = frames.find(({ mode }) => mode === "checkpoints") ?? {};
      expect(data).toMatchObject({ config: { configurable: { thread_id: "t-1" } }, next: ["__start__"] });
      expect(JSON.stringify(frames)).not.toContain("callbacks");
    });

    it("keeps content that has no event, and messages of other kinds", async () => {
      const image = { type: "image", url: "https://example.com/a.png" };
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("a", () => ({ messages: [new AIMessage({ content: [{ type: "text", text: "Look:" }, image] })] }))
        .addNode("b", () => ({ messages: [new HumanMessage("And then?")] }))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile();
      const { find } = await playSource(fromLangGraph(graph, INPUT));
      expect(find("foreign").map(({ frame }) => frame)).toMatchObject([
        { mode: "messages", block: image },
        { mode: "messages", message: { type: "human", content: "And then?" } },
      ]);
    });

    it("records the output of a tool while it runs", async () => {
      const weather = tool(
        async function* ({ city }) {
          yield "looking";
          await setTimeout(1);
          return `cold in ${city}`;
        },
        { name: "weather", description: "", schema: z.object({ city: z.string() }) },
      );
      const model = new ScriptedChatModel({ turns: [WEATHER] });
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("agent", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
        .addNode("tools", new ToolNode([weather]))
        .addEdge(START, "agent")
        .addEdge("agent", "tools")
        .compile();
      const { find } = await playSource(fromLangGraph(graph, INPUT));
      expect(find("tool_output")).toMatchObject([{ call_id: "call-Oslo", content: "looking" }]);
      expect(find("tool_end")).toMatchObject([{ call_id: "call-Oslo", result: "cold in Oslo" }]);
    });

    it("gives a call another ID if the model uses one twice", async () => {
      const { end, find } = await playSource(
        fromLangGraph(createScriptedAgent({ turns: [WEATHER, WEATHER, COLD] }), INPUT),
      );
      expect(end).toMatchObject({ status: "completed" });
      expect(new Set(find("tool_end").map(({ call_id }) => call_id)).size).toBe(2);
    });
  });
});
