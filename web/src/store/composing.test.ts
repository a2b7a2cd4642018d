// Drafts, attachments and pending messages.
import { describe, expect, it } from "vitest";
import {
  type ComposingAction,
  type ComposingState,
  findDraft,
  findWaiting,
  MAX_ATTACHMENTS,
  NO_DRAFT,
  EMPTY_COMPOSING,
  NO_WAITING_MESSAGES,
  reduceComposing,
  type WaitingMessage,
} from "./composing.ts";

const run = (actions: readonly ComposingAction[], from: ComposingState = EMPTY_COMPOSING): ComposingState =>
  actions.reduce(reduceComposing, from);

const message = (runId: string, status: WaitingMessage["status"] = "sending"): WaitingMessage => ({
  commandId: `c-${runId}`,
  runId,
  text: runId,
  files: [],
  status,
});

const sent = (runId: string, status?: WaitingMessage["status"]): ComposingAction => ({
  type: "message/sent",
  session: "s",
  message: message(runId, status),
  clearsDraft: false,
});

const queued = (...runIds: string[]): ComposingAction => ({
  type: "queue/loaded",
  session: "s",
  queued: runIds.map((runId) => ({ command_id: `c-${runId}`, run_id: runId, message: runId, created_at: 0 })),
});

const file = { name: "a.png", bytes: 1, mediaType: "image/png", progress: 0 };

describe("drafts", () => {
  it("are kept per session, and move to a created session", () => {
    const typed = run([{ type: "draft/typed", session: "", text: "hi" }]);
    const moved = run([{ type: "draft/moved", from: "", to: "s" }], typed);
    expect([...moved.drafts]).toEqual([["s", { text: "hi", attachments: [] }]]);
  });

  it("are removed when sent or emptied", () => {
    const typed = run([{ type: "draft/typed", session: "s", text: "hi" }]);
    expect(run([{ type: "draft/typed", session: "s", text: "" }], typed).drafts.size).toBe(0);
    const after = run([{ type: "message/sent", session: "s", message: message("r"), clearsDraft: true }], typed);
    expect([after.drafts.size, after.waiting.get("s")?.length]).toEqual([0, 1]);
  });

  it("are bounded, and work for any session ID", () => {
    const names = ["constructor", "__proto__", "0", "toString"];
    expect(names.map((session) => findDraft(EMPTY_COMPOSING, session))).toEqual(names.map(() => NO_DRAFT));
    expect(names.map((session) => findWaiting(EMPTY_COMPOSING, session))).toEqual(names.map(() => NO_WAITING_MESSAGES));
    const all = [...Array.from({ length: 80 }, (_, index) => `${80 - index}`), ...names];
    const { drafts } = run(all.map((session) => ({ type: "draft/typed", session, text: "x" })));
    expect([...drafts.keys()]).toEqual(all.slice(-50));
  });

  it("have a bounded number of attachments, each updated separately", () => {
    const files = Array.from({ length: 30 }, (_, index) => ({ ...file, id: `f${index}` }));
    const added = run([
      { type: "attachments/added", session: "s", files },
      { type: "attachment/updated", session: "s", id: "f1", changes: { progress: 40 } },
      { type: "attachment/removed", session: "s", id: "f0" },
    ]);
    const attached = added.drafts.get("s")?.attachments ?? [];
    expect(attached).toHaveLength(MAX_ATTACHMENTS - 1);
    expect(attached[0]).toMatchObject({ id: "f1", progress: 40 });
  });

  it("ignore updates of a removed attachment", () => {
    expect(run([{ type: "attachment/updated", session: "s", id: "f", changes: { progress: 9 } }]).drafts.size).toBe(0);
  });
});

describe("pending messages", () => {
  it("are removed when their run appears", () => {
    const state = run([sent("r1"), sent("r2"), { type: "message/removed", session: "s", runIds: ["r1"] }]);
    expect(state.waiting.get("s")?.map(({ runId }) => runId)).toEqual(["r2"]);
    expect(run([{ type: "message/removed", session: "s", runIds: ["r2"] }], state).waiting.size).toBe(0);
  });

  it("follow the server's queue, and unconfirmed ones stay", () => {
    const state = run([sent("mine"), sent("lost", "failed"), sent("removed elsewhere", "queued"), queued("old")]);
    expect(state.waiting.get("s")?.map(({ runId, status }) => [runId, status])).toEqual([
      ["old", "queued"],
      ["mine", "sending"],
      ["lost", "failed"],
    ]);
    const after = run([queued("old", "mine")], state);
    expect(after.waiting.get("s")?.map(({ runId, status }) => [runId, status])).toEqual([
      ["old", "queued"],
      ["mine", "queued"],
      ["lost", "failed"],
    ]);
    expect(run([queued("old", "mine")], after)).toBe(after);
    // It was delivered after all.
    expect(
      run([queued("lost")], after)
        .waiting.get("s")
        ?.map(({ status }) => status),
    ).toEqual(["queued"]);
  });

  it("keep their error until they are sent again", () => {
    const failed = run([
      sent("r"),
      { type: "message/updated", session: "s", runId: "r", status: "failed", error: "no" },
    ]);
    expect(failed.waiting.get("s")?.[0]).toMatchObject({ status: "failed", error: "no" });
    const again = run([{ type: "message/updated", session: "s", runId: "r", status: "queued" }], failed);
    expect(again.waiting.get("s")?.[0]).not.toHaveProperty("error");
  });

  it("are removed with their session", () => {
    const state = run([sent("r"), { type: "draft/typed", session: "s", text: "x" }]);
    expect(run([{ type: "session/deleted", session: "s" }], state)).toEqual(EMPTY_COMPOSING);
  });
});

describe("stopping runs", () => {
  it("are listed until they stop", () => {
    const state = run([
      { type: "run/stopping", runId: "r" },
      { type: "run/stopping", runId: "r" },
    ]);
    expect(state.stopping).toEqual(["r"]);
    expect(run([{ type: "run/stopped", runId: "r" }], state).stopping).toEqual([]);
    expect(run([{ type: "run/stopped", runId: "other" }], state)).toBe(state);
  });
});
