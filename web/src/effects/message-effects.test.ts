// Messages: created, sent, queued, removed or refused; and control of their runs.
import { describe, expect, it, vi } from "vitest";
import type { CommandResult } from "loom-agent/client";
import type { MessageView } from "../../../src/client/view.ts";
import type { JsonObject } from "loom-agent/protocol";
import { createFakeContext, createTurn } from "../../../test/contracts/fake-context.ts";
import { createMessageEffects } from "./message-effects.ts";

const REFUSED: CommandResult = { kind: "refused", code: "forbidden", message: "not allowed" };

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

function setUp(outcome?: () => CommandResult, answer?: (what: string) => unknown) {
  const context = createFakeContext(answer, outcome);
  const effects = createMessageEffects(context);
  const waiting = (session: string) => context.store.getSnapshot().composing.waiting.get(session) ?? [];
  return { context, effects, waiting };
}

const AGENTS = ["react", "react:other", "tot", "tot:other"].map((name) => {
  const [kind = "", model = "first"] = name.split(":");
  return { name, kind, model, tools: [], is_default: name === "react" };
});

describe("a message", () => {
  it("creates its session and is answered by the chosen agent", async () => {
    const { context, effects } = setUp();
    const agent = { kind: "tot", model: "m", tools: [], is_default: false };
    context.store.dispatch({ type: "agents/loaded", agents: [{ ...agent, name: "tot" }] });
    context.store.dispatch({ type: "agent/chosen", choice: { kind: "tot" }, session: undefined });
    context.store.dispatch({ type: "draft/typed", session: "", text: "hello" });
    effects.sendDraft();
    await settle();
    const [session = ""] = context.opened as string[];
    expect(session).not.toBe("");
    expect(context.calls).toEqual([
      ["run", session, { id: "id2", run_id: "id3", message: "hello", agent: "tot", when_busy: "enqueue" }],
    ]);
    expect(context.store.getSnapshot().composing.drafts.size).toBe(0);
  });

  it("sent before the agents are loaded waits for the one that the user chose", async () => {
    vi.useFakeTimers();
    const { context, effects, waiting } = setUp();
    context.store.dispatch({ type: "agent/chosen", choice: { kind: "tot" }, session: undefined });
    const sendHello = async (session: string): Promise<void> => {
      context.open(session);
      context.store.dispatch({ type: "draft/typed", session, text: "hello" });
      effects.sendDraft();
      await settle();
    };
    await sendHello("s");
    expect([context.calls, waiting("s")[0]?.status]).toEqual([[], "sending"]);
    context.store.dispatch({ type: "agents/loaded", agents: AGENTS });
    await settle();
    expect(context.calls).toMatchObject([["run", "s", { agent: "tot" }]]);
    context.store.dispatch({ type: "agents/loaded", agents: [] });
    await sendHello("t");
    await vi.advanceTimersByTimeAsync(20_000);
    expect([context.calls.length, waiting("t")[0]?.status]).toEqual([1, "failed"]);
    vi.useRealTimers();
  });

  it("is answered by the agent of the session, which a suggestion and a choice for it do not make the default", async () => {
    const { context, effects } = setUp();
    const { store } = context;
    const say = async (session: string | undefined): Promise<unknown> => {
      context.open(session);
      store.dispatch({ type: "draft/typed", session: session ?? "", text: "hello" });
      effects.sendDraft();
      await settle();
      const [, , command] = context.calls.at(-1) ?? [];
      return (command as { readonly agent?: string } | undefined)?.agent;
    };
    // Known from the log, also before the agents are loaded.
    context.show("s", [createTurn({ runId: "r0", agent: "react" }), createTurn({ runId: "r", agent: "tot:other" })]);
    expect(await say("s")).toBe("tot:other");
    store.dispatch({ type: "agents/loaded", agents: AGENTS });
    expect(await say("s")).toBe("tot:other");
    store.dispatch({ type: "agent/chosen", choice: { kind: "react" }, session: "s" });
    // The model stays the same.
    expect([await say("s"), await say("s"), await say("t")]).toEqual(["react:other", "react:other", "react"]);
    context.open(undefined);
    effects.sendPrompt("think", "tot");
    await settle();
    expect(context.calls.at(-1)?.[2]).toMatchObject({ message: "think", agent: "tot" });
    expect(await say(context.opened.at(-1))).toBe("tot");
    expect([await say(undefined), store.getSnapshot().settings.kind]).toEqual(["react", undefined]);
    store.dispatch({ type: "agent/chosen", choice: { model: "other" }, session: "u" });
    expect([await say("u"), store.getSnapshot().choices.size]).toEqual(["react:other", 0]);
  });

  it("is sent with the chosen reasoning", async () => {
    const { context, effects } = setUp();
    context.store.dispatch({ type: "settings/changed", settings: { reasoning: "high" } });
    context.store.dispatch({ type: "draft/typed", session: "", text: "hello" });
    effects.sendDraft();
    await settle();
    expect(context.calls).toMatchObject([
      ["run", expect.any(String) as string, { message: "hello", reasoning: "high" }],
    ]);
  });

  it("is sent with the strategy settings of its agent that the server accepts, and again with those of its run", async () => {
    const { context, effects } = setUp();
    const text = { en: "", zh: "" };
    const beam = { name: "beam", label: text, about: text, value: 5, least: 1, most: 10 };
    const agents = AGENTS.map((agent) => (agent.kind === "tot" ? { ...agent, settings: [beam] } : agent));
    context.store.dispatch({ type: "agents/loaded", agents });
    const strategies = { tot: { beam: 3, layers: 2 }, react: { beam: 1 } };
    const say = async (): Promise<unknown> => {
      context.store.dispatch({ type: "settings/changed", settings: { strategies } });
      context.store.dispatch({ type: "draft/typed", session: context.opened.at(-1) ?? "", text: "hello" });
      effects.sendDraft();
      await settle();
      const [, , command] = context.calls.at(-1) ?? [];
      return (command as { readonly strategy?: unknown } | undefined)?.strategy;
    };
    expect(await say()).toBeUndefined();
    context.open(undefined);
    context.store.dispatch({ type: "agent/chosen", choice: { kind: "tot" }, session: undefined });
    expect(await say()).toEqual({ beam: 3 });
    strategies.tot.beam = 11;
    context.open(undefined);
    expect(await say()).toBeUndefined();
    const user: MessageView = { key: "m", role: "user", mainContent: "Why?", parts: [] } as unknown as MessageView;
    effects.retryTurn(createTurn({ messages: [user], agent: "tot", strategy: { beam: 7 } }));
    await settle();
    expect(context.calls.at(-1)?.[2]).toMatchObject({ message: "Why?", agent: "tot", strategy: { beam: 7 } });
  });

  it("is not sent if it is empty or an upload is running", () => {
    const { context, effects } = setUp();
    context.store.dispatch({ type: "draft/typed", session: "", text: " \n" });
    effects.sendDraft();
    const file = { id: "f", name: "a", bytes: 1, mediaType: "", progress: 5 };
    context.store.dispatch({ type: "draft/typed", session: "", text: "text" });
    context.store.dispatch({ type: "attachments/added", session: "", files: [file] });
    effects.sendDraft();
    expect(context.calls).toEqual([]);
  });

  it("is sent with its files, even without text, but not with a failed upload", async () => {
    const { context, effects } = setUp();
    // The server knows the same bytes under another name.
    const blob = { blob_id: "b", url: "/b", media_type: "text/plain", name: "old.txt", bytes: 1, created_at: 0 };
    const file = { id: "f", name: "a.txt", bytes: 1, mediaType: "", progress: 100 };
    const files = [
      { ...file, blob },
      { ...file, id: "g", name: "large.txt", error: "too large" },
    ];
    context.store.dispatch({ type: "attachments/added", session: "", files });
    const { drafts } = context.store.getSnapshot().composing;
    effects.sendDraft();
    expect(context.calls).toEqual([]);
    expect(context.store.getSnapshot().notices).toMatchObject([
      { task: "send", code: "failed_file", message: "large.txt" },
    ]);
    expect(context.store.getSnapshot().composing.drafts).toBe(drafts);
    context.store.dispatch({ type: "attachment/removed", session: "", id: "g" });
    effects.sendDraft();
    await settle();
    expect(context.calls[0]?.[2]).toMatchObject({ message: "" });
    // The server knows the media type, which the page keeps for the message that waits.
    const [, , command] = context.calls[0] ?? [];
    expect((command as JsonObject | undefined)?.["attachments"]).toEqual([{ blob_id: "b", name: "a.txt" }]);
    expect(context.store.getSnapshot().notices).toEqual([]);
  });

  it("is queued while another run is live", async () => {
    const { context, effects, waiting } = setUp(() => ({ kind: "accepted" }));
    context.open("s");
    effects.sendPrompt("later", "react");
    expect(waiting("s")[0]?.status).toBe("sending");
    await settle();
    expect(waiting("s")[0]?.status).toBe("queued");
  });

  it("can be sent again with the same IDs after a refusal, or discarded", async () => {
    let outcome: CommandResult = REFUSED;
    const { context, effects, waiting } = setUp(() => outcome);
    context.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    const [failed] = waiting("s");
    expect(failed).toMatchObject({ status: "failed", error: "not allowed" });
    outcome = { kind: "accepted" };
    effects.resend(failed!);
    await settle();
    expect(context.calls[1]).toEqual(context.calls[0]);
    expect(waiting("s")).toMatchObject([{ status: "queued" }]);
    await effects.withdraw(failed!);
    expect(waiting("s")).toEqual([]);
  });

  it("is cancelled on the server when discarded after a timeout", async () => {
    const lost: CommandResult = { kind: "lost", code: "command_timeout", message: "no response" };
    const { context, effects, waiting } = setUp(() => lost);
    context.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    const [failed] = waiting("s");
    expect(failed).toMatchObject({ status: "failed", isLost: true });
    await effects.withdraw(failed!);
    expect(waiting("s")).toEqual([]);
    expect(context.calls.at(-1)).toEqual(["cancel", "s", { run_id: failed?.runId }]);
    expect(context.store.getSnapshot().notices).toEqual([]);
  });

  it("returns to the box with its files when it is refused, unless something was typed meanwhile", async () => {
    const { context, effects, waiting } = setUp(() => REFUSED);
    const { store } = context;
    context.open("s");
    const blob = { blob_id: "b", url: "/b", media_type: "text/plain", bytes: 7, created_at: 0 };
    const file = { id: "f", name: "a.txt", bytes: 7, mediaType: "text/plain", progress: 100, blob };
    store.dispatch({ type: "attachments/added", session: "s", files: [file] });
    store.dispatch({ type: "draft/typed", session: "s", text: "first" });
    effects.sendDraft();
    await settle();
    const draft = () => store.getSnapshot().composing.drafts.get("s");
    expect(draft()).toMatchObject({
      text: "first",
      attachments: [{ name: "a.txt", bytes: 7, blob: { blob_id: "b" } }],
    });
    expect([waiting("s"), store.getSnapshot().notices[0]]).toMatchObject([[], { task: "send", code: "forbidden" }]);
    effects.sendDraft();
    store.dispatch({ type: "draft/typed", session: "s", text: "second" });
    await settle();
    const [failed] = waiting("s");
    expect([failed?.status, draft()?.text]).toEqual(["failed", "second"]);
    effects.takeBack(failed!);
    expect([waiting("s"), draft()?.text]).toEqual([[], "first\n\nsecond"]);
    expect(context.calls.filter(([what]) => what === "cancel")).toEqual([]);
  });

  it("waits for a lost connection, longer than a command waits", async () => {
    const lost: CommandResult = { kind: "lost", code: "command_timeout", message: "no response" };
    const outcomes: CommandResult[] = [lost, lost, { kind: "accepted" }];
    const { context, effects, waiting } = setUp(() => outcomes.shift() ?? lost);
    context.open("s");
    context.show("s", [], "repairing");
    effects.sendPrompt("hi", "react");
    await settle();
    expect(waiting("s")).toMatchObject([{ status: "queued" }]);
    const [first, ...others] = context.calls.map(([, , command]) => (command as { readonly id: string }).id);
    expect(others).toEqual([first, first]);
  });

  it("leaves the list after it started, even if its run never appears", async () => {
    vi.useFakeTimers();
    const { context, effects, waiting } = setUp();
    context.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    expect(waiting("s")).toHaveLength(1);
    vi.advanceTimersByTime(5000);
    expect(waiting("s")).toEqual([]);
    vi.useRealTimers();
  });

  it("is removed by cancelling its run, and stays with a notice if that fails", async () => {
    let outcome: CommandResult = { kind: "accepted" };
    const { context, effects, waiting } = setUp(() => outcome);
    context.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    outcome = REFUSED;
    await effects.withdraw(waiting("s")[0]!);
    expect(waiting("s")).toMatchObject([{ status: "queued" }]);
    expect(context.store.getSnapshot().notices).toMatchObject([{ task: "withdraw", code: "forbidden" }]);
    outcome = { kind: "done" };
    await effects.withdraw(waiting("s")[0]!);
    expect(waiting("s")).toEqual([]);
    expect(context.calls.at(-1)).toEqual(["cancel", "s", { run_id: "id2" }]);
  });
});

describe("a run", () => {
  it("is stopped once, and shown as stopping at once", async () => {
    const { context, effects } = setUp();
    context.open("s");
    await effects.stop();
    expect(context.calls).toEqual([]);
    context.show("s", [createTurn({ runId: "r" })]);
    const stopped = effects.stop();
    expect(context.store.getSnapshot().composing.stopping).toEqual(["r"]);
    await effects.stop();
    await stopped;
    expect(context.calls).toEqual([["cancel", "s", { run_id: "r" }]]);
  });

  it("continues with a notice if it cannot be stopped", async () => {
    const { context, effects } = setUp(() => REFUSED);
    context.open("s");
    context.show("s", [createTurn({ runId: "r" })]);
    await effects.stop();
    expect(context.store.getSnapshot().composing.stopping).toEqual([]);
    expect(context.store.getSnapshot().notices).toMatchObject([{ task: "stop" }]);
  });

  const question = {
    role: "user",
    mainContent: "what?",
    attachments: [{ blob_id: "b", media_type: "x", bytes: 1 }],
  } as unknown as MessageView;

  it("is retried in a fork, with the same message, files and agent", async () => {
    const { context, effects } = setUp(undefined, () => ({ session_id: "fork", root_id: "s" }));
    context.open("s");
    const turn = createTurn({ runId: "r", agent: "got", messages: [question] });
    effects.retryTurn(turn);
    await settle();
    const command = { message: "what?", agent: "got", attachments: [{ blob_id: "b" }] };
    expect(context.calls[0]?.slice(0, 3)).toEqual(["forkBefore", "s", "r"]);
    expect(context.calls[1]).toEqual(["run", "fork", expect.objectContaining(command)]);
    expect(context.opened.at(-1)).toBe("fork");

    // The user chose another agent for this session.
    context.store.dispatch({ type: "agents/loaded", agents: AGENTS });
    context.store.dispatch({ type: "agent/chosen", choice: { kind: "tot" }, session: "fork" });
    effects.retryTurn(turn);
    await settle();
    expect(context.calls[3]?.[2]).toMatchObject({ message: "what?", agent: "tot" });

    // Without permission to create sessions, the message is sent again.
    const auth = { mode: "required", signed_in: true, scopes: ["read", "run"], shared_session_ids: [] } as const;
    context.store.dispatch({ type: "access/loaded", auth, shared: undefined, now: 0 });
    context.open("s");
    effects.retryTurn(turn);
    expect(context.calls.at(-1)).toEqual(["run", "s", expect.objectContaining(command)]);
  });

  it("is edited in a fork before the run", async () => {
    const { context, effects } = setUp(undefined, () => ({ session_id: "fork" }));
    context.open("s");
    await effects.editTurn(createTurn({ runId: "r", agent: "got", messages: [question] }), "instead");
    expect(context.calls[0]?.slice(0, 3)).toEqual(["forkBefore", "s", "r"]);
    expect(context.opened.at(-1)).toBe("fork");
    expect(context.calls[1]).toEqual(["run", "fork", expect.objectContaining({ message: "instead", agent: "got" })]);
  });

  it("keeps the edit after a failure, and does not navigate away from another session", async () => {
    let answer: () => unknown = () => {
      throw new Error("no");
    };
    const { context, effects } = setUp(undefined, () => answer());
    context.open("s");
    const turn = createTurn({ runId: "r", messages: [question] });
    expect(await effects.editTurn(turn, "instead")).toBe(false);
    answer = () => ({ session_id: "fork" });
    const edited = effects.editTurn(turn, "instead");
    context.open("other");
    expect(await edited).toBe(true);
    expect(context.opened).toEqual(["s", "other"]);
    expect(context.calls.at(-1)?.slice(0, 2)).toEqual(["run", "fork"]);
  });

  it("forwards approvals, permissions, feedback and to-do changes", async () => {
    const { context, effects } = setUp();
    expect(await effects.approve({ callId: "c", decision: "approved" })).toMatchObject({ kind: "refused" });
    context.open("s");
    await effects.approve({ callId: "c", runId: "r", decision: "rejected", reason: "no" });
    await effects.approve({ callId: "c", decision: "approved", digest: "d1" });
    await effects.allowTool("rm", "allow");
    await effects.rate({ runId: "r", rating: "bad", comment: "Wrong" });
    await effects.rate({ runId: "r", rating: "none", comment: "" });
    await effects.changeTodo({ listId: "l", itemId: "i", completed: true });
    expect(context.calls).toEqual([
      ["approve", "s", { call_id: "c", run_id: "r", decision: "rejected", reason: "no" }],
      ["approve", "s", { call_id: "c", decision: "approved", digest: "d1" }],
      ["setToolPermission", "s", { name: "rm", rule: "allow" }],
      ["rate", "s", { run_id: "r", rating: "bad", comment: "Wrong" }],
      ["rate", "s", { run_id: "r", rating: "none" }],
      ["todo", "s", { list_id: "l", item_id: "i", completed: true }],
    ]);
  });
});
