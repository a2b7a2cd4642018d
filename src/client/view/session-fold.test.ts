// A session: turn assignment, verification, to-do lists and limits.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";
import type { LoomEvent } from "../../protocol/index.ts";
import { RECEIVER_LIMITS } from "../limits.ts";
import type { StreamState } from "../view.ts";
import { SessionFold } from "./session-fold.ts";

const todo = (list_id: string, ...ids: string[]): LoomEvent => ({
  type: "todo_list",
  list_id,
  items: ids.map((id) => ({ id, text: `do ${id}`, completed: false })),
});

describe("the turn of a record", () => {
  it("is found by run_id, also for parallel runs", () => {
    const made = new ViewFeed().start("1", { run: "x" }).start("2", { run: "y" });
    made
      .writeText("X", undefined, { run: "x" })
      .writeText("Y", undefined, { run: "y" })
      .writeText("X", undefined, { run: "x" });
    expect(made.fold.liveRuns).toBe(2);
    made.reply("XX", { run: "x" }).writeText("Y", undefined, { run: "y" }).reply("YY", { run: "y" });
    expect(made.view.turns.map(({ key, messages }) => [key, messages[1]?.mainContent])).toEqual([
      ["x", "XX"],
      ["y", "YY"],
    ]);
    expect([made.fold.liveRuns, made.fold.runCount, made.view.issueCount]).toEqual([0, 2, 0]);
  });

  it("is new when an ended run starts again", () => {
    const made = new ViewFeed();
    for (const n of [1, 2, 3]) made.start(`${n}`).reply(`${n}`);
    made.start("x", { run: "r#2" });
    expect(made.view.turns.map(({ key, runId }) => [key, runId])).toEqual([
      ["r", "r"],
      ["r#2", "r"],
      ["r#3", "r"],
      ["r#2#2", "r#2"],
    ]);
  });

  it("is the unnamed run if the record names none", () => {
    const made = new ViewFeed()
      .withDefaults({ run: null })
      .start("a")
      .writeText("A")
      .put({ type: "custom", value: 1 })
      .reply("A");
    made.put({ type: "custom", value: 2 }).put({ type: "x_new" }).start("b").writeText("B");
    expect(made.view.turns).toMatchObject([
      { key: "#1", status: "completed", others: [{ value: 1 }] },
      { key: "#2", status: "running", isPartial: false },
    ]);
    expect(made.view.others).toEqual([{ type: "custom", value: 2 }, { type: "x_new" }]);
    expect(made.view.turns[0]).not.toHaveProperty("runId");
  });

  it("gets its run ID from run_start if envelopes have none", () => {
    const made = new ViewFeed().withDefaults({ run: null }).put({ type: "run_start", run_id: "z" }).writeText("A");
    expect(made.view.turns).toMatchObject([{ key: "z", runId: "z", messages: [{ mainContent: "A" }] }]);
  });

  it("is partial if its start was not received", () => {
    const made = new ViewFeed().writeText("A", undefined, { run: null });
    expect(made.turn).toMatchObject({ key: "#1", isPartial: true, verified: false });
    expect(made.reply("A", { run: null }).turn.status).toBe("completed");
    // Without a run_start, another run may follow without one.
    expect(made.writeText("B", undefined, { run: null }).view.turns).toHaveLength(2);
  });

  it("does not exist after the end of the run", () => {
    const made = new ViewFeed().start().reply("A");
    const { turns } = made.view;
    expect(made.fold.verified).toBe(true);
    made.writeText("more");
    expect(made.fold.verified).toBe(false);
    made.writeText("bare", undefined, { run: null });
    expect(made.view.turns).toBe(turns);
    expect(made.view.issues.map(({ rule }) => rule)).toEqual(["after-reply", "after-reply"]);
  });

  it("does not exist after the end of an unnamed run", () => {
    const made = new ViewFeed().withDefaults({ run: null }).start().reply("A").writeText("more");
    expect([made.view.turns.length, made.fold.verified]).toEqual([1, false]);
  });

  it.each([null, "r"])("is abandoned when its run starts again (%s)", (run) => {
    const made = new ViewFeed().withDefaults({ run }).start("a").writeText("first ").start("b").writeText("second");
    expect(made.view.turns).toMatchObject([
      {
        key: run ?? "#1",
        status: "error",
        code: "interrupted",
        verified: false,
        messages: [{}, { mainContent: "first ", isStreaming: false }],
      },
      {
        key: run === null ? "#2" : "r#2",
        status: "running",
        verified: true,
        messages: [{}, { mainContent: "second" }],
      },
    ]);
    expect(made.view.issues).toMatchObject([{ rule: "run-unended" }]);
    expect(made.fold.verified).toBe(false);
  });

  it.each([null, "r"])("continues when its run_start arrives late (%s)", (run) => {
    const made = new ViewFeed().withDefaults({ run }).writeText("A").start("hi").writeText("B");
    expect(made.view.turns).toMatchObject([
      { isPartial: false, verified: false, messages: [{ mainContent: "hi" }, { mainContent: "AB" }] },
    ]);
    expect(made.view.issues.map(({ rule }) => rule)).toEqual(["run-start-late"]);
  });

  it("accepts IDs that are names of Object.prototype members", () => {
    const made = new ViewFeed();
    for (const run of ["__proto__", "constructor", "toString"]) {
      made.start("hi", { run }).put(todo(run, run), { run });
      made.put({ type: "todo_update", list_id: run, item_id: run, completed: true }, { run }).reply("x", { run });
    }
    expect(made.view.turns.map(({ key, status }) => `${key} ${status}`)).toEqual([
      "__proto__ completed",
      "constructor completed",
      "toString completed",
    ]);
    expect(made.view.todoLists.flatMap(({ items }) => items.map(({ completed }) => completed))).toEqual([
      true,
      true,
      true,
    ]);
    expect(made.view.issueCount).toBe(0);
  });
});

describe("the order of turns", () => {
  const orders = [
    [1, 2, 3],
    [1, 3, 2],
    [2, 1, 3],
    [2, 3, 1],
    [3, 1, 2],
    [3, 2, 1],
  ];
  const keys = ({ view }: ViewFeed) => view.turns.map(({ key }) => key);
  const answers = ({ view }: ViewFeed) => view.turns.map(({ messages }) => messages.at(-1)?.mainContent);
  const byTime = (limits = {}) => new ViewFeed(limits, { byTime: true });

  it.each(orders)("is by time if requested (%i %i %i)", (...order) => {
    for (const ends of [[], [0], [1], [2], [0, 1], [0, 1, 2]]) {
      for (const isShown of [false, true]) {
        const made = byTime();
        for (const [n, time] of order.entries()) {
          made
            .withDefaults({ run: `${time}`, ts: time * 100 })
            .start()
            .writeText(`${time}`);
          if (ends.includes(n)) made.reply(`${time}`);
          if (isShown) void made.view;
        }
        for (const time of order) made.writeText("+", undefined, { run: `${time}` });
        expect(keys(made)).toEqual(["1", "2", "3"]);
        const grown = (time: number) => `${time}${ends.includes(order.indexOf(time)) ? "" : "+"}`;
        expect(answers(made)).toEqual([1, 2, 3].map(grown));
        expect([made.view.earlierTurns, made.fold.runCount]).toEqual([0, 3]);
      }
    }
  });

  it("is by arrival otherwise, and without times", () => {
    const made = new ViewFeed();
    for (const time of [3, 1, 2]) made.start("hi", { run: `${time}`, ts: time });
    expect(keys(made)).toEqual(["3", "1", "2"]);
    const bare = byTime().start("a", { run: "3", ts: 3 }).start("b", { run: "?", ts: null });
    bare.start("c", { run: "1", ts: 1 }).start("d", { run: "3b", ts: 3 });
    expect(keys(bare)).toEqual(["3", "?", "1", "3b"]);
  });

  it("uses the time of run_start, even if it arrives late", () => {
    for (const isShown of [false, true]) {
      const made = byTime().writeText("x", undefined, { run: "2", ts: 5 }).start("hi", { run: "2", ts: 2 });
      if (isShown) void made.view;
      expect(keys(made.start("hi", { run: "1", ts: 1 }))).toEqual(["1", "2"]);
    }
  });

  it("stays correct when the oldest turns are removed", () => {
    const made = byTime({ maxTurns: 2 });
    for (const time of [4, 2, 3, 1]) made.start("hi", { run: `${time}`, ts: time });
    for (const time of [1, 2, 3, 4]) made.writeText(`${time}`, undefined, { run: `${time}`, ts: null });
    expect([keys(made), answers(made), made.view.earlierTurns]).toEqual([["3", "4"], ["3", "4"], 2]);
  });
});

describe("verification", () => {
  const end = (fields: object): LoomEvent => ({ type: "run_end", status: "completed", ...fields });

  it("succeeds when every frame was counted", () => {
    const made = new ViewFeed().start().writeText("A");
    expect([made.turn.verified, made.fold.verified]).toEqual([true, true]);
    made.put(end({ frame_count: 4, first_event_id: 1, last_event_id: 4 })).reply("A");
    expect([made.turn.verified, made.fold.verified, made.fold.proofFault]).toEqual([true, true, undefined]);
  });

  it.each([
    [{ frame_count: 5 }, "run_end reports 5 as the number of frames, but it is 4"],
    [{ first_event_id: 2 }, "run_end reports 2 as the first event, but it is 1"],
    [{ last_event_id: 9 }, "run_end reports 9 as the last event, but it is 4"],
  ])("fails when %j is wrong", (fields, fault) => {
    const made = new ViewFeed().start().writeText("A").put(end(fields)).reply("A");
    expect([made.turn.verified, made.fold.verified, made.fold.proofFault]).toEqual([false, false, fault]);
    made.start("x", { run: "q" }).put({ type: "run_end", status: "cancelled", frame_count: 9 }, { run: "q" });
    expect(made.fold.proofFault).toBe(fault);
  });

  it("skips the counts of filtered runs and runs without a start", () => {
    const filtered = new ViewFeed()
      .start()
      .writeText("A", undefined, { prev: 1 })
      .put(end({ frame_count: 50 }))
      .reply("A");
    expect([filtered.turn.verified, filtered.fold.proofFault]).toEqual([true, undefined]);
    const partial = new ViewFeed()
      .writeText("A")
      .put(end({ frame_count: 50 }))
      .reply("A");
    expect([partial.turn.verified, partial.fold.proofFault]).toEqual([false, undefined]);
  });

  it("ends with the first record that may follow a gap", () => {
    const made = new ViewFeed()
      .start()
      .reply("1")
      .start("b", { run: "b" })
      .writeText("B", undefined, { run: "b", sure: false });
    made.writeText("B", undefined, { run: "b" });
    expect(made.view.turns.map(({ verified }) => verified)).toEqual([true, false]);
    expect(made.fold.verified).toBe(false);
  });
});

describe("to-do lists", () => {
  it("have their latest content, from within and outside runs", () => {
    const made = new ViewFeed()
      .start()
      .put(todo("l", "1", "2"))
      .reply("x");
    const [untouched] = made.view.todoLists[0]?.items ?? [];
    made.put({ type: "todo_update", list_id: "l", item_id: "2", completed: true }, { run: null });
    made.put({ type: "todo_update", list_id: "l", item_id: "2", text: "new" }, { run: null });
    expect(made.view.todoLists).toEqual([
      { listId: "l", items: [untouched, { id: "2", text: "new", completed: true }] },
    ]);
    expect(made.view.todoLists[0]?.items[0]).toBe(untouched);
    expect(made.outline).toEqual(["todo", "text:x"]);
  });

  it("are shown once, where they were created", () => {
    const made = new ViewFeed()
      .start()
      .put(todo("l", "1"))
      .put(todo("l", "1", "2"))
      .put(todo("m"));
    expect(made.message.parts).toMatchObject([{ listId: "l" }, { listId: "m" }]);
    expect(made.view.todoLists).toMatchObject([{ items: [{ id: "1" }, { id: "2" }] }, { items: [] }]);
    made.put({ ...(todo("l", "3") as object), title: "T" } as LoomEvent, { run: null });
    expect(made.view.todoLists[0]).toMatchObject({ title: "T", items: [{ id: "3" }] });
  });

  it("ignore updates of unknown lists and items", () => {
    const made = new ViewFeed().start().put(todo("l", "1"));
    const { todoLists } = made.view;
    made.put({ type: "todo_update", list_id: "l", item_id: "2", completed: true });
    made.put({ type: "todo_update", list_id: "m", item_id: "1", completed: true }, { run: null });
    made.put({ type: "todo_update", list_id: "l", item_id: "1", completed: false });
    expect(made.view.todoLists).toBe(todoLists);
    expect(made.view.issues).toMatchObject([
      { rule: "todo-unknown", message: "to-do list l has no item 2" },
      { rule: "todo-unknown", message: "unknown to-do list m" },
    ]);
  });
});

describe("the session's state", () => {
  it("keeps its identity while unchanged", () => {
    const fold = new SessionFold("s", RECEIVER_LIMITS);
    const gap: StreamState = {
      status: "gap",
      reason: { code: "frames_missing", message: "m" },
      verified: false,
      undetectable: ["loss"],
    };
    fold.setState(gap);
    const shown = fold.snapshot();
    expect(shown.state).toBe(gap);
    fold.setState(gap);
    expect(fold.snapshot()).toBe(shown);
    fold.setState({ ...gap, undetectable: ["order"] });
    expect(fold.snapshot()).not.toBe(shown);
  });

  it("ends the streaming of live turns when the stream is over", () => {
    const made = new ViewFeed();
    made.start("a", { run: "a" }).reply("done", { run: "a" });
    made.start("b", { run: "b" }).writeText("x", undefined, { run: "b" });
    const isStreaming = () => made.view.turns.map(({ messages }) => messages.at(-1)?.isStreaming);
    const state = { verified: false, undetectable: [] };
    const live = made.view;
    for (const status of ["truncated", "failed"] as const) {
      made.fold.setState({ ...state, status });
      expect(isStreaming()).toEqual([false, false]);
      expect(made.view.turns[0]).toBe(live.turns[0]);
      expect(made.view.turns[1]?.messages[0]).toBe(live.turns[1]?.messages[0]);
      expect(made.view.turns[1]?.messages[1]?.parts).toBe(live.turns[1]?.messages[1]?.parts);
      const dead = made.view;
      made.fold.setState({ ...state, status, verified: true });
      expect(made.view.turns).toBe(dead.turns);
    }
    made.start("c", { run: "c" });
    expect(isStreaming()).toEqual([false, false, false]);
    for (const status of ["live", "repairing", "gap", "complete"] as const) {
      made.fold.setState({ ...state, status });
      expect(isStreaming()).toEqual([false, true, true]);
    }
    made.reply("c", { run: "c" });
    expect(isStreaming()).toEqual([false, true, false]);
  });

  it("shows the last issues and counts all", () => {
    const fold = new SessionFold("s", { ...RECEIVER_LIMITS, maxIssues: 2 });
    for (const message of ["1", "2", "3"]) fold.addIssue({ rule: "frame_refused", message });
    expect(fold.snapshot()).toMatchObject({ issues: [{ message: "2" }, { message: "3" }], issueCount: 3 });
  });
});

describe("limits", () => {
  it("remove and count the oldest turn", () => {
    const made = new ViewFeed({ maxTurns: 2 });
    for (const run of ["a", "b", "c"]) made.start(run, { run }).reply(run, { run });
    made.start("a", { run: "a" }).writeText("x", undefined, { run: "a" });
    expect(made.view.turns.map(({ key }) => key)).toEqual(["c", "a"]);
    expect([made.view.earlierTurns, made.message.mainContent]).toEqual([2, "x"]);
  });

  it("keep folding a live turn that was removed", () => {
    const made = new ViewFeed({ maxTurns: 1 }).start("a", { run: "a" }).start("b", { run: "b" });
    made.writeText("A", undefined, { run: "a" }).reply("A", { run: "a" });
    expect(made.view.turns).toMatchObject([{ key: "b", messages: [{}, { mainContent: "" }] }]);
    expect(made.fold.liveRuns).toBe(1);
  });

  it("end the oldest live run", () => {
    const made = new ViewFeed({ maxLiveTurns: 2 });
    for (const run of ["a", "b", "c"]) made.start(run, { run });
    expect(made.view.turns).toMatchObject([{ status: "error", code: "too_many_open" }, { status: "running" }, {}]);
    expect(made.view.issues).toMatchObject([{ rule: "too_many_open" }]);
    const fault = "run a was given up: too many live runs";
    expect([made.fold.liveRuns, made.fold.verified, made.fold.proofFault]).toEqual([2, false, fault]);
  });

  it("cut texts between characters, and report it once", () => {
    const made = new ViewFeed({ maxText: 5 }).start().writeText("abcd").writeText("😀").writeText("z");
    made.put({ type: "reasoning_chunk", content: "123456" });
    made.put({ type: "tool_call_chunk", call_id: "c", arguments_delta: '{"a":1}' });
    made.put({ type: "tool_output", call_id: "c", name: "t", content: "1234567" });
    expect(made.message).toMatchObject({ mainContent: "abcd", thinkingContent: "12345" });
    expect(made.call).toMatchObject({ argumentsText: '{"a":', output: "12345" });
    expect([made.turn.omitted, made.view.issueCount, made.view.issues[0]?.rule]).toEqual([5, 1, "view_limit"]);
    expect(made.reply("abcd😀z").message.mainContent).toBe("abcd");
  });

  it("apply to every list of a turn, but not to the reply", () => {
    const made = new ViewFeed({ maxItems: 2, maxIssues: 2 }).start();
    for (let n = 0; n < 9; n++) {
      made.enter(`n${n}`).put({ type: "tool_call", call_id: `c${n}`, name: "t", arguments: {} });
      made.put({ type: "llm_start", llm_call_id: `${n}` }).put({ type: "custom", value: n });
      made.put({ type: "tot_expand", candidates: ["x"] }).put({ type: "tot_backtrack", reason: "", to_depth: 0 });
      made.put({ type: "got_expand", node_id: `g${n}`, nodes_added: 0, edges_added: 1, edges: [["p", `q${n}`]] });
      made.put({ type: "checkpoint", checkpoint_id: `${n}`, timestamp: "", step: n, state: 0 });
      made.put({ type: "compression_applied", before_tokens: 1, after_tokens: 1 });
      made.put({ type: "image", url: "u" }).writeText("text", `n${n}`);
    }
    made.reply("the answer");
    const { tree, graph, nodes, modelCalls, checkpoints, compressions, others } = made.turn;
    for (const list of [nodes, modelCalls, checkpoints, compressions, others, tree?.thoughts, tree?.backtracks]) {
      expect(list).toHaveLength(2);
    }
    expect([graph?.nodes.length, graph?.expansions.length]).toEqual([2, 2]);
    expect(made.outline).toEqual(["tool", "image", "text:the answer"]);
    expect(made.turn.omitted).toBeGreaterThan(60);
    expect(made.view.issues.filter(({ rule }) => rule === "view_limit")).toHaveLength(1);
  });

  it("apply to events outside runs", () => {
    const made = new ViewFeed({ maxItems: 2, maxIssues: 2 }).withDefaults({ run: null });
    for (const list of ["a", "b", "c"]) made.put(todo(list, "1", "2", "3")).put({ type: "custom", value: list });
    expect(made.view.todoLists.map(({ items }) => items.length)).toEqual([2, 2]);
    expect([made.view.others.length, made.view.issueCount]).toEqual([2, 1]);
  });
});
