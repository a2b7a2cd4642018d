// What becomes of a message: made, sent, queued, withdrawn, refused; and of what is asked of its run.
import { describe, expect, it, vi } from "vitest";
import type { CommandOutcome, MessageView } from "loom-agent/client";
import { createFakeKit, createTurn } from "./fake-kit.contract.ts";
import { createMessageEffects } from "./message-effects.ts";

const REFUSED: CommandOutcome = { kind: "refused", code: "forbidden", message: "not you" };

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

function setUp(outcome?: () => CommandOutcome, answer?: (what: string) => unknown) {
  const kit = createFakeKit(answer, outcome);
  const effects = createMessageEffects(kit);
  const waiting = (session: string) => kit.store.getSnapshot().composing.waiting.get(session) ?? [];
  return { kit, effects, waiting };
}

describe("a message", () => {
  it("makes the session it is the first of, and is answered by the agent that was chosen", async () => {
    const { kit, effects } = setUp();
    const agent = { kind: "tot", model: "m", tools: [], is_default: false };
    kit.store.dispatch({ type: "agents/told", agents: [{ ...agent, name: "tot" }] });
    kit.store.dispatch({ type: "agent/chosen", kind: "tot" });
    kit.store.dispatch({ type: "draft/typed", session: "", text: "hello" });
    effects.sendDraft();
    await settle();
    const [session = ""] = kit.opened as string[];
    expect(session).not.toBe("");
    expect(kit.asked).toEqual([
      ["run", session, { id: "id2", run_id: "id3", message: "hello", agent: "tot", when_busy: "enqueue" }],
    ]);
    expect(kit.store.getSnapshot().composing.drafts.size).toBe(0);
  });

  it("is not sent while it is empty, or a file of it is going up", () => {
    const { kit, effects } = setUp();
    kit.store.dispatch({ type: "draft/typed", session: "", text: " \n" });
    effects.sendDraft();
    const file = { id: "f", name: "a", bytes: 1, mediaType: "", progress: 5 };
    kit.store.dispatch({ type: "draft/typed", session: "", text: "text" });
    kit.store.dispatch({ type: "attachments/added", session: "", files: [file] });
    effects.sendDraft();
    expect(kit.asked).toEqual([]);
  });

  it("goes with its files, also without a word, and not while one of them did not go up", () => {
    const { kit, effects } = setUp();
    // The same bytes came up before, under another name.
    const blob = { blob_id: "b", url: "/b", media_type: "text/plain", name: "old.txt", bytes: 1, created_at: 0 };
    const file = { id: "f", name: "a.txt", bytes: 1, mediaType: "", progress: 100 };
    const files = [
      { ...file, blob },
      { ...file, id: "g", name: "large.txt", error: "too large" },
    ];
    kit.store.dispatch({ type: "attachments/added", session: "", files });
    const { drafts } = kit.store.getSnapshot().composing;
    effects.sendDraft();
    expect(kit.asked).toEqual([]);
    expect(kit.store.getSnapshot().notices).toMatchObject([
      { task: "send", code: "failed_file", message: "large.txt" },
    ]);
    expect(kit.store.getSnapshot().composing.drafts).toBe(drafts);
    kit.store.dispatch({ type: "attachment/removed", session: "", id: "g" });
    effects.sendDraft();
    expect(kit.asked[0]?.[2]).toMatchObject({ message: "", attachments: [{ blob_id: "b", name: "a.txt" }] });
    expect(kit.store.getSnapshot().notices).toEqual([]);
  });

  it("waits where another run is going", async () => {
    const { kit, effects, waiting } = setUp(() => ({ kind: "accepted" }));
    kit.open("s");
    effects.sendPrompt("later", "react");
    expect(waiting("s")[0]?.status).toBe("sending");
    await settle();
    expect(waiting("s")[0]?.status).toBe("queued");
  });

  it("that was refused can be sent again as the same, or be given up", async () => {
    let outcome: CommandOutcome = REFUSED;
    const { kit, effects, waiting } = setUp(() => outcome);
    kit.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    const [failed] = waiting("s");
    expect(failed).toMatchObject({ status: "failed", error: "not you" });
    outcome = { kind: "accepted" };
    effects.resend(failed!);
    await settle();
    expect(kit.asked[1]).toEqual(kit.asked[0]);
    expect(waiting("s")).toMatchObject([{ status: "queued" }]);
    await effects.withdraw(failed!);
    expect(waiting("s")).toEqual([]);
  });

  it("of which nobody knows whether it arrived is taken back when it is given up", async () => {
    const lost: CommandOutcome = { kind: "lost", code: "command_timeout", message: "no answer" };
    const { kit, effects, waiting } = setUp(() => lost);
    kit.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    const [failed] = waiting("s");
    expect(failed).toMatchObject({ status: "failed", isLost: true });
    await effects.withdraw(failed!);
    expect(waiting("s")).toEqual([]);
    expect(kit.asked.at(-1)).toEqual(["cancel", "s", { run_id: failed?.runId }]);
    expect(kit.store.getSnapshot().notices).toEqual([]);
  });

  it("leaves the list when it has begun, even if its run is never seen", async () => {
    vi.useFakeTimers();
    const { kit, effects, waiting } = setUp();
    kit.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    expect(waiting("s")).toHaveLength(1);
    vi.advanceTimersByTime(5000);
    expect(waiting("s")).toEqual([]);
    vi.useRealTimers();
  });

  it("is withdrawn by cancelling its run; where that fails it waits on, and it is said", async () => {
    let outcome: CommandOutcome = { kind: "accepted" };
    const { kit, effects, waiting } = setUp(() => outcome);
    kit.open("s");
    effects.sendPrompt("hi", "react");
    await settle();
    outcome = REFUSED;
    await effects.withdraw(waiting("s")[0]!);
    expect(waiting("s")).toMatchObject([{ status: "queued" }]);
    expect(kit.store.getSnapshot().notices).toMatchObject([{ task: "withdraw", code: "forbidden" }]);
    outcome = { kind: "done" };
    await effects.withdraw(waiting("s")[0]!);
    expect(waiting("s")).toEqual([]);
    expect(kit.asked.at(-1)).toEqual(["cancel", "s", { run_id: "id2" }]);
  });
});

describe("a run", () => {
  it("is told to stop once, and shown so at once", async () => {
    const { kit, effects } = setUp();
    kit.open("s");
    await effects.stop();
    expect(kit.asked).toEqual([]);
    kit.show("s", [createTurn({ runId: "r" })]);
    const stopped = effects.stop();
    expect(kit.store.getSnapshot().composing.stopping).toEqual(["r"]);
    await effects.stop();
    await stopped;
    expect(kit.asked).toEqual([["cancel", "s", { run_id: "r" }]]);
  });

  it("that cannot be stopped goes on, and it is said", async () => {
    const { kit, effects } = setUp(() => REFUSED);
    kit.open("s");
    kit.show("s", [createTurn({ runId: "r" })]);
    await effects.stop();
    expect(kit.store.getSnapshot().composing.stopping).toEqual([]);
    expect(kit.store.getSnapshot().notices).toMatchObject([{ task: "stop" }]);
  });

  const asked = {
    role: "user",
    mainContent: "what?",
    attachments: [{ blob_id: "b", media_type: "x", bytes: 1 }],
  } as unknown as MessageView;

  it("is tried again as it was asked for", () => {
    const { kit, effects } = setUp();
    kit.open("s");
    effects.retryTurn(createTurn({ runId: "r", agent: "got", messages: [asked] }));
    const command = { message: "what?", agent: "got", attachments: [{ blob_id: "b" }] };
    expect(kit.asked[0]).toEqual(["run", "s", expect.objectContaining(command)]);
  });

  it("is asked differently in a fork from before it", async () => {
    const { kit, effects } = setUp(undefined, () => ({ session_id: "fork" }));
    kit.open("s");
    await effects.editTurn(createTurn({ runId: "r", agent: "got", messages: [asked] }), "instead");
    expect(kit.asked[0]?.slice(0, 3)).toEqual(["forkBefore", "s", "r"]);
    expect(kit.opened.at(-1)).toBe("fork");
    expect(kit.asked[1]).toEqual(["run", "fork", expect.objectContaining({ message: "instead", agent: "got" })]);
  });

  it("tells when it could not be asked differently, and calls nobody back who has gone elsewhere", async () => {
    let answer: () => unknown = () => {
      throw new Error("no");
    };
    const { kit, effects } = setUp(undefined, () => answer());
    kit.open("s");
    const turn = createTurn({ runId: "r", messages: [asked] });
    expect(await effects.editTurn(turn, "instead")).toBe(false);
    answer = () => ({ session_id: "fork" });
    const edited = effects.editTurn(turn, "instead");
    kit.open("other");
    expect(await edited).toBe(true);
    expect(kit.opened).toEqual(["s", "other"]);
    expect(kit.asked.at(-1)?.slice(0, 2)).toEqual(["run", "fork"]);
  });

  it("passes on answers and changes", async () => {
    const { kit, effects } = setUp();
    expect(await effects.approve({ callId: "c", decision: "approved" })).toMatchObject({ kind: "refused" });
    kit.open("s");
    await effects.approve({ callId: "c", runId: "r", decision: "rejected", reason: "no" });
    await effects.approve({ callId: "c", decision: "approved", digest: "d1" });
    await effects.changeTodo({ listId: "l", itemId: "i", completed: true });
    expect(kit.asked).toEqual([
      ["approve", "s", { call_id: "c", run_id: "r", decision: "rejected", reason: "no" }],
      ["approve", "s", { call_id: "c", decision: "approved", digest: "d1" }],
      ["todo", "s", { list_id: "l", item_id: "i", completed: true }],
    ]);
  });
});
