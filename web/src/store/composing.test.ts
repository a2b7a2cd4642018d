// Drafts, files and messages on their way.
import { describe, expect, it } from "vitest";
import {
  type ComposingAction,
  type ComposingState,
  findDraft,
  findWaiting,
  MAX_ATTACHMENTS,
  NO_DRAFT,
  NOTHING_COMPOSED,
  NOTHING_WAITS,
  reduceComposing,
  type WaitingMessage,
} from "./composing.ts";

const run = (actions: readonly ComposingAction[], from: ComposingState = NOTHING_COMPOSED): ComposingState =>
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
  type: "queue/told",
  session: "s",
  queued: runIds.map((runId) => ({ command_id: `c-${runId}`, run_id: runId, message: runId, created_at: 0 })),
});

const file = { name: "a.png", bytes: 1, mediaType: "image/png", progress: 0 };

describe("drafts", () => {
  it("are kept by session, and go with the session that was made for them", () => {
    const typed = run([{ type: "draft/typed", session: "", text: "hi" }]);
    const moved = run([{ type: "draft/moved", from: "", to: "s" }], typed);
    expect([...moved.drafts]).toEqual([["s", { text: "hi", attachments: [] }]]);
  });

  it("are gone when they are sent, and when nothing is left of them", () => {
    const typed = run([{ type: "draft/typed", session: "s", text: "hi" }]);
    expect(run([{ type: "draft/typed", session: "s", text: "" }], typed).drafts.size).toBe(0);
    const after = run([{ type: "message/sent", session: "s", message: message("r"), clearsDraft: true }], typed);
    expect([after.drafts.size, after.waiting.get("s")?.length]).toEqual([0, 1]);
  });

  it("are of so many sessions, whatever these are called", () => {
    const names = ["constructor", "__proto__", "0", "toString"];
    expect(names.map((session) => findDraft(NOTHING_COMPOSED, session))).toEqual(names.map(() => NO_DRAFT));
    expect(names.map((session) => findWaiting(NOTHING_COMPOSED, session))).toEqual(names.map(() => NOTHING_WAITS));
    const all = [...Array.from({ length: 80 }, (_, index) => `${80 - index}`), ...names];
    const { drafts } = run(all.map((session) => ({ type: "draft/typed", session, text: "x" })));
    expect([...drafts.keys()]).toEqual(all.slice(-50));
  });

  it("hold so many files, each told of by itself", () => {
    const files = Array.from({ length: 30 }, (_, index) => ({ ...file, id: `f${index}` }));
    const added = run([
      { type: "attachments/added", session: "s", files },
      { type: "attachment/told", session: "s", id: "f1", told: { progress: 40 } },
      { type: "attachment/removed", session: "s", id: "f0" },
    ]);
    const held = added.drafts.get("s")?.attachments ?? [];
    expect(held).toHaveLength(MAX_ATTACHMENTS - 1);
    expect(held[0]).toMatchObject({ id: "f1", progress: 40 });
  });

  it("know nothing of a file that was taken away while it went up", () => {
    expect(run([{ type: "attachment/told", session: "s", id: "f", told: { progress: 9 } }]).drafts.size).toBe(0);
  });
});

describe("messages on their way", () => {
  it("leave when their run is seen", () => {
    const state = run([sent("r1"), sent("r2"), { type: "message/gone", session: "s", runIds: ["r1"] }]);
    expect(state.waiting.get("s")?.map(({ runId }) => runId)).toEqual(["r2"]);
    expect(run([{ type: "message/gone", session: "s", runIds: ["r2"] }], state).waiting.size).toBe(0);
  });

  it("are as the server says, and those it has not heard of stay", () => {
    const state = run([sent("mine"), sent("lost", "failed"), sent("taken back elsewhere", "queued"), queued("old")]);
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
    // It had arrived all the same.
    expect(
      run([queued("lost")], after)
        .waiting.get("s")
        ?.map(({ status }) => status),
    ).toEqual(["queued"]);
  });

  it("tell why they failed, and no longer when they are sent again", () => {
    const failed = run([sent("r"), { type: "message/told", session: "s", runId: "r", status: "failed", error: "no" }]);
    expect(failed.waiting.get("s")?.[0]).toMatchObject({ status: "failed", error: "no" });
    const again = run([{ type: "message/told", session: "s", runId: "r", status: "queued" }], failed);
    expect(again.waiting.get("s")?.[0]).not.toHaveProperty("error");
  });

  it("are gone with their session", () => {
    const state = run([sent("r"), { type: "draft/typed", session: "s", text: "x" }]);
    expect(run([{ type: "session/deleted", session: "s" }], state)).toEqual(NOTHING_COMPOSED);
  });
});

describe("runs that are told to stop", () => {
  it("are so until they have", () => {
    const state = run([
      { type: "run/stopping", runId: "r" },
      { type: "run/stopping", runId: "r" },
    ]);
    expect(state.stopping).toEqual(["r"]);
    expect(run([{ type: "run/stopped", runId: "r" }], state).stopping).toEqual([]);
    expect(run([{ type: "run/stopped", runId: "other" }], state)).toBe(state);
  });
});
