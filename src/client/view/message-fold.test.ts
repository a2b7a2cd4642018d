// Parts of a message: how texts are split, what closes them, and how the reply is applied.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";
import type { LoomEvent } from "../../protocol/index.ts";

const feed = (...nodes: string[]) => nodes.reduce((made, node) => made.enter(node), new ViewFeed().start("hi"));

describe("text parts", () => {
  it("grow with the chunks of their node run", () => {
    const made = feed("a").writeText("Hel", "a").writeText("lo", "a");
    expect(made.message.parts).toEqual([
      { type: "text", key: "1", nodeKey: "a", text: "Hello", format: "markdown", isComplete: false },
    ]);
    expect(made.message.mainContent).toBe("Hello");
    expect(made.exit("a").message.parts[0]).toMatchObject({ isComplete: true });
  });

  it("are not split by another node run in between", () => {
    const made = feed("a", "b").writeText("A1", "a").writeText("B1", "b").writeText("A2", "a").writeText("B2", "b");
    expect(made.outline).toEqual(["text:A1A2", "text:B1B2"]);
    expect(made.message.mainContent).toBe("A1A2B1B2");
    expect(made.writeText("A3", "a").message.mainContent).toBe("A1A2A3B1B2");
  });

  it("end when another part of the same node run begins", () => {
    const made = feed("a", "b");
    made.writeText("1", "a").put({ type: "image", url: "u" }, { node: "a" });
    made.writeText("2", "a").put({ type: "data", data_type: "chart", data: {} }, { node: "a" });
    made.writeText("3", "a").put({ type: "todo_list", list_id: "l", items: [] }, { node: "a" });
    made.writeText("4", "a").put({ type: "error", message: "e" }, { node: "a" });
    made.writeText("5", "a").put({ type: "retrieval_complete", doc_count: 0 }, { node: "a" });
    made.writeText("6", "a").put({ type: "tool_call", call_id: "c", name: "t", arguments: {} }, { node: "a" });
    made.writeText("7", "a").put({ type: "image", url: "u" }, { node: "b" });
    made.writeText("8", "a");
    expect(made.outline.join(" ")).toBe(
      "text:1 image text:2 data text:3 todo text:4 error text:5 references text:6 tool text:78 image",
    );
    expect(made.message.parts.flatMap((part) => (part.type === "text" ? [part.isComplete] : []))).toEqual([
      ...Array<boolean>(6).fill(true),
      false,
    ]);
  });

  it("end with is_complete, another format, or their node run", () => {
    const made = feed("a");
    made.put({ type: "message_chunk", id: "a", content: "1", is_complete: true }, { node: "a" });
    made.writeText("2", "a");
    made.put({ type: "message_chunk", id: "a", content: "", is_complete: true }, { node: "a" });
    made.put({ type: "message_chunk", id: "a", content: "3", format: "html" }, { node: "a" });
    made.put({ type: "message_chunk", id: "a", content: "4", format: "markdown" }, { node: "a" });
    made.exit("a").enter("a").writeText("5", "a");
    expect(made.outline).toEqual(["text:1", "text:2", "text:3", "text:4", "text:5"]);
    expect(made.message.parts.map((part) => part.nodeKey)).toEqual(["a", "a", "a", "a", "a#2"]);
    expect(made.message.mainContent).toBe("12345");
  });

  it("of a run without nodes are one text, split by its tools", () => {
    const made = new ViewFeed().start();
    made.writeText("a").writeText("b").put({ type: "tool_call", name: "t", arguments: {} }).writeText("c");
    expect(made.outline).toEqual(["text:ab", "tool", "text:c"]);
    expect(made.message.parts[0]).not.toHaveProperty("nodeKey");
  });

  it("ignore empty chunks", () => {
    expect(feed("a").writeText("", "a").outline).toEqual([]);
  });
});

describe("thinking parts", () => {
  it("are reasoning by stage, or thoughts, and never the answer", () => {
    const made = feed("a");
    const reason = (content: string, stage?: string) =>
      made.put({ type: "reasoning_chunk", content, ...(stage === undefined ? {} : { stage }) }, { node: "a" });
    reason("p1", "planning");
    reason("p2", "planning");
    reason("p3");
    reason("z", "analyzing");
    made.put({ type: "message_chunk", id: "a", content: "t", channel: "thought" }, { node: "a" });
    expect(made.message.parts).toMatchObject([
      { type: "thinking", channel: "reasoning", stage: "planning", text: "p1p2p3", startedAt: 30, durationMs: 30 },
      { type: "thinking", channel: "reasoning", stage: "analyzing", text: "z", isComplete: true, durationMs: 10 },
      { type: "thinking", channel: "thought", text: "t", isComplete: false },
    ]);
    expect(made.message.parts[2]).not.toHaveProperty("durationMs");
    expect([made.message.thinkingContent, made.message.mainContent]).toEqual(["p1p2p3zt", ""]);
  });

  it("have the duration of their end event, or of the times", () => {
    const made = feed("a", "b");
    made.put({ type: "reasoning_chunk", content: "x" }, { node: "a", ts: 100 });
    made.put({ type: "reasoning_end", duration_ms: 7 }, { node: "a", ts: 150 });
    made.put({ type: "reasoning_chunk", content: "y" }, { node: "b", ts: 100 });
    made.put({ type: "reasoning_end" }, { node: "b", ts: 150 });
    made.put({ type: "reasoning_chunk", content: "z" }, { node: "a", ts: 200 });
    made.writeText("answer", "a", { ts: 300 });
    made.put({ type: "reasoning_end", duration_ms: 99 }, { node: "a", ts: 301 });
    expect(made.message.parts).toMatchObject([
      { text: "x", isComplete: true, durationMs: 7 },
      { text: "y", isComplete: true, durationMs: 50 },
      { text: "z", isComplete: true, durationMs: 99 },
      { text: "answer" },
    ]);
  });

  it.each([
    ["an answer", { type: "message_chunk", id: "a", content: "x" }],
    ["another thought", { type: "message_chunk", id: "a", content: "x", channel: "thought" }],
    ["a tool", { type: "tool_call", name: "t", arguments: {} }],
    ["the arguments of a tool", { type: "tool_call_chunk", name: "t", arguments_delta: "{" }],
    ["an image", { type: "image", url: "u" }],
    ["the end of the node run", { type: "node_exit", id: "a", result: "Ok" }],
    ["the end of the run", { type: "run_end", status: "cancelled" }],
    ["the reply", { type: "reply", reply: "x" }],
  ] satisfies [string, LoomEvent][])("last until %s", (_what, event) => {
    const made = feed("a").put({ type: "reasoning_chunk", content: "hm" }, { node: "a", ts: 1000 });
    made.writeText("not mine", undefined, { ts: 2000 }).put(event, { node: "a", ts: 9000 });
    expect(made.message.parts[0]).toMatchObject({ startedAt: 1000, durationMs: 8000 });
    expect(made.put({ type: "reasoning_end" }, { node: "a", ts: 9500 }).message.parts[0]).toMatchObject({
      durationMs: 8000,
    });
  });

  it("have no times if the stream has none", () => {
    const made = feed("a").withDefaults({ node: "a", ts: null });
    made.put({ type: "reasoning_chunk", content: "x" }).put({ type: "reasoning_end" });
    expect(made.message.parts[0]).toEqual({
      type: "thinking",
      key: "1",
      nodeKey: "a",
      channel: "reasoning",
      text: "x",
      isComplete: true,
    });
  });
});

describe("the reply", () => {
  it("adds nothing to streamed text", () => {
    expect(feed("a").writeText("42", "a").exit("a").reply("42", { node: "a" }).outline).toEqual(["text:42"]);
    expect(new ViewFeed().start().writeText("4").writeText("2").reply("42").outline).toEqual(["text:42"]);
    const tool = new ViewFeed().start().writeText("Let me see.").put({ type: "tool_call", name: "t", arguments: {} });
    expect(tool.writeText("42").reply("42").outline).toEqual(["text:Let me see.", "tool", "text:42"]);
  });

  it("is a separate part if its node run streamed nothing", () => {
    const made = feed("a", "b").writeText("inner", "a").reply("42", { node: "b" });
    expect(made.message.parts.at(-1)).toMatchObject({ type: "text", nodeKey: "b", text: "42", isComplete: true });
    expect(made.message.mainContent).toBe("inner42");
    expect(new ViewFeed().start().reply("42").message.mainContent).toBe("42");
    expect(new ViewFeed().start().reply("").message.parts).toEqual([]);
  });

  it("is not added if others streamed exactly that and its node run nothing", () => {
    const silent = () => feed("think").writeText("It is ", "think").put({ type: "image", url: "u" }, { node: "think" });
    const made = silent().writeText("42.", "think").exit("think").enter("observe").exit("observe");
    expect(made.reply("It is 42.", { node: "observe" }).outline).toEqual(["text:It is ", "image", "text:42."]);
    const other = silent().writeText("43.", "think").enter("observe").reply("It is 42.", { node: "observe" });
    expect(other.outline).toEqual(["text:It is ", "image", "text:43.", "text:It is 42."]);
    const differs = feed("a", "b").writeText("wrong", "a").writeText("right", "b").reply("right", { node: "a" });
    expect(differs.outline).toEqual(["text:right", "text:right"]);
  });

  it("continues the last text only if that is all since the last tool call", () => {
    const image = { type: "image", url: "u" } as const;
    const made = new ViewFeed().start().writeText("The answer is ").put(image).writeText("42");
    expect(made.reply("42 is the answer").outline).toEqual(["image", "text:42 is the answer"]);
    const tool = new ViewFeed().start().writeText("Wait.").put({ type: "tool_call", name: "t", arguments: {} });
    tool.writeText("The answer ").put(image).writeText("is");
    expect(tool.reply("The answer is 42").outline).toEqual([
      "text:Wait.",
      "tool",
      "text:The answer ",
      "image",
      "text:is 42",
    ]);
  });

  it("completes a streamed prefix", () => {
    expect(
      feed("a", "b").writeText("The an", "a").writeText("x", "b").reply("The answer", { node: "a" }).outline,
    ).toEqual(["text:The answer", "text:x"]);
    const tool = new ViewFeed().start().writeText("Wait.").put({ type: "tool_call", name: "t", arguments: {} });
    expect(tool.writeText("The an").reply("The answer").outline).toEqual(["text:Wait.", "tool", "text:The answer"]);
  });

  it("follows the last tool call if no text does", () => {
    const call = { type: "tool_call", name: "t", arguments: {} } as const;
    const look = () => new ViewFeed().start().writeText("Let me look.").put(call);
    expect(look().reply("42").outline).toEqual(["text:Let me look.", "tool", "text:42"]);
    expect(look().reply("Let me look. 42").outline).toEqual(["text:Let me look.", "tool", "text: 42"]);
    const named = feed("a", "b").writeText("Let me look.", "a").put(call, { node: "b" });
    expect(named.reply("42", { node: "a" }).outline).toEqual(["text:42", "tool"]);
  });

  it("replaces different text of its node run, and no other", () => {
    const made = feed("a", "b")
      .writeText("wrong", "a")
      .writeText("other", "b")
      .put({ type: "image", url: "u" }, { node: "a" });
    made.writeText("more", "a");
    const shown = made.view;
    expect(made.reply("right", { node: "a" }).outline).toEqual(["text:other", "image", "text:right"]);
    expect(made.message.mainContent).toBe("otherright");
    expect(shown.turns[0]?.messages[1]?.parts).toHaveLength(4);
  });

  it("replaces all text if it names no node run", () => {
    const made = feed("a", "b")
      .writeText("wrong", "a")
      .put({ type: "image", url: "u" }, { node: "b" })
      .writeText("too", "b");
    expect(made.reply("right").outline).toEqual(["image", "text:right"]);
  });

  it("changes nothing when empty", () => {
    expect(feed("a").writeText("text", "a").reply("", { node: "a" }).outline).toEqual(["text:text"]);
  });
});

describe("other parts", () => {
  it("have the fields of their events", () => {
    const made = feed("a").withDefaults({ node: "a" });
    made.put({ type: "data", data_type: "dataframe", data: { rows: 1 }, metadata: { d: "x" } });
    made.put({ type: "image", url: "u", media_type: "image/png", alt: "a" });
    made.put({
      type: "retrieval_complete",
      doc_count: 2,
      query: "q",
      sources: [{ title: "t", uri: "u", ref: 1, first_line: 3, last_line: 9 }],
    });
    made.put({ type: "retrieval_complete", doc_count: 0 });
    expect(made.message.parts).toEqual([
      {
        type: "data",
        key: "1",
        nodeKey: "a",
        block: { dataType: "dataframe", data: { rows: 1 }, metadata: { d: "x" } },
      },
      { type: "image", key: "2", nodeKey: "a", url: "u", mediaType: "image/png", alt: "a" },
      {
        type: "references",
        key: "3",
        nodeKey: "a",
        query: "q",
        docCount: 2,
        sources: [{ title: "t", uri: "u", ref: 1, firstLine: 3, lastLine: 9 }],
      },
      { type: "references", key: "4", nodeKey: "a", docCount: 0, sources: [] },
    ]);
    expect(made.message.dataBlocks).toEqual([{ dataType: "dataframe", data: { rows: 1 }, metadata: { d: "x" } }]);
  });

  it("show errors, and the last one in the message", () => {
    const made = feed("a").withDefaults({ node: "a" });
    made.put({ type: "error", message: "one", code: "tool_timeout", stage: "tool_execute", call_id: "c" });
    made.put({ type: "error", message: "two", error_type: "validation", recoverable: true, details: { x: 1 } });
    expect(made.message.parts).toEqual([
      {
        type: "error",
        key: "1",
        nodeKey: "a",
        message: "one",
        code: "tool_timeout",
        stage: "tool_execute",
        callId: "c",
      },
      {
        type: "error",
        key: "2",
        nodeKey: "a",
        message: "two",
        errorType: "validation",
        recoverable: true,
        details: { x: 1 },
      },
    ]);
    expect(made.message).toMatchObject({ hasError: true, errorMessage: "two", isStreaming: true });
  });
});
