// The list of runs of all sessions: when it is loaded, what it reports, and how runs are answered.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { type ActiveRun, countWaiting, findActiveSessions } from "../store/activity.ts";
import { createActivityEffects } from "./activity-effects.ts";
import { createFakeContext } from "../../../test/contracts/fake-context.ts";

function createRun(given: Partial<ActiveRun>): ActiveRun {
  return { run_id: "r", session_id: "s", state: "running", since: 0, approvals: [], ...given };
}

const APPROVAL = { call_id: "c", name: "remove", arguments: {}, event_id: 3 };
const WAITING = createRun({ state: "waiting", approvals: [APPROVAL] });

function setUp() {
  let answer: () => unknown = () => ({ runs: [] });
  let isVisible = true;
  let fault: Error | undefined;
  const context = createFakeContext((what) => {
    if (what === "listActiveRuns") return answer();
    if (fault !== undefined) throw fault;
    return undefined;
  });
  const alerted: string[] = [];
  const ended: string[] = [];
  const effects = createActivityEffects(context, {
    isVisible: () => isVisible,
    isConnected: (session) => session === "connected",
    onEnd: (session) => void ended.push(session),
    alerts: {
      alert: ({ session, detail }) => void alerted.push(`${session} ${detail}`),
      clear: (session) => void alerted.push(`${session} cleared`),
    },
  });
  return {
    ...effects,
    context,
    alerted,
    ended,
    setAnswer: (next: () => unknown) => void (answer = next),
    setFault: (next: Error) => void (fault = next),
    setVisible: (next: boolean) => void (isVisible = next),
    countLoads: () => context.calls.filter(([what]) => what === "listActiveRuns").length,
    activity: () => context.store.getSnapshot().activity,
  };
}

describe("the list of runs", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("marks live and waiting sessions, and reports those of other pages that ended", async () => {
    const { refreshActivity, setAnswer, activity, ended } = setUp();
    const others = ["connected", "b", "b"].map((session_id) => createRun({ session_id }));
    const foreign = createRun({ session_id: "c", owner: "someone" });
    setAnswer(() => ({ runs: [WAITING, ...others, foreign] }));
    refreshActivity();
    await vi.advanceTimersByTimeAsync(1000);
    expect([...findActiveSessions(activity())]).toEqual([
      ["s", "waiting"],
      ["connected", "live"],
      ["b", "live"],
    ]);
    setAnswer(() => ({ runs: [WAITING] }));
    refreshActivity();
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["b"]);
  });

  it("is loaded often while it is open, once a minute while nothing runs, and not by a hidden tab", async () => {
    const { refreshActivity, context, countLoads, setAnswer, setVisible } = setUp();
    refreshActivity();
    refreshActivity();
    await vi.advanceTimersByTimeAsync(1000);
    expect(countLoads()).toBe(1);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(countLoads()).toBe(1);
    setAnswer(() => ({ runs: [createRun({})] }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(countLoads()).toBe(2);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(countLoads()).toBe(3);
    context.store.dispatch({ type: "dialog/opened", dialog: "activity" });
    refreshActivity();
    await vi.advanceTimersByTimeAsync(9500);
    expect(countLoads()).toBe(7);
    setVisible(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(countLoads()).toBe(7);
    setVisible(true);
    refreshActivity();
    await vi.advanceTimersByTimeAsync(1000);
    expect(countLoads()).toBe(8);
  });

  it("is loaded less often while the server fails", async () => {
    const { refreshActivity, countLoads, setAnswer, activity } = setUp();
    setAnswer(() => {
      throw new ApiError("connection_lost", "");
    });
    refreshActivity();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(activity().status).toBe("failed");
    expect(countLoads()).toBeLessThan(15);
  });

  it("keeps its identity if nothing changed, and has waiting runs of further pages", async () => {
    const { refreshActivity, setAnswer, activity, context } = setUp();
    const first = createRun({ run_id: "first" });
    setAnswer(() => {
      const [, query] = context.calls.findLast(([what]) => what === "listActiveRuns") ?? [];
      return (query as { state?: string }).state === "waiting" ? { runs: [WAITING] } : { runs: [first], next: "x" };
    });
    refreshActivity();
    await vi.advanceTimersByTimeAsync(500);
    const before = activity();
    expect([before.runs, before.hasMore, countWaiting(before)]).toEqual([[first, WAITING], true, 1]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(activity()).toBe(before);
  });

  it("alerts about new approvals of the user's sessions that are not connected", async () => {
    const { refreshActivity, setAnswer, alerted, activity } = setUp();
    setAnswer(() => ({ runs: [WAITING] }));
    refreshActivity();
    await vi.advanceTimersByTimeAsync(500);
    // They waited before the page was opened.
    expect(alerted).toEqual([]);
    const runs = ["new", "connected", "s"].map((session_id) => ({ ...WAITING, session_id }));
    setAnswer(() => ({ runs: [...runs, { ...WAITING, session_id: "other", owner: "bob" }] }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(alerted).toEqual(["new remove"]);
    expect(countWaiting(activity())).toBe(3);
    setAnswer(() => ({ runs: [] }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(alerted).toEqual(["new remove", "new cleared", "s cleared"]);
  });

  it("sends an answer to the session of the run, and reports why it was refused", async () => {
    const { answerRun, stopRun, context, setFault, countLoads } = setUp();
    const answer = { callId: "c", decision: "approved", digest: "d" } as const;
    expect(await answerRun(WAITING, answer)).toEqual({ kind: "done" });
    expect(context.calls).toContainEqual([
      "answerApproval",
      "s",
      "c",
      { decision: "approved", run_id: "r", digest: "d" },
      "id1",
    ]);
    await vi.advanceTimersByTimeAsync(500);
    expect(countLoads()).toBe(1);
    expect(await stopRun(WAITING)).toBe(true);
    expect(context.calls).toContainEqual(["cancelRun", "s", "r", "id2"]);
    setFault(new ApiError("already_answered", "Too late"));
    const refused = { kind: "refused", code: "already_answered", message: "Too late" };
    expect(await answerRun(WAITING, answer)).toEqual(refused);
    expect(await stopRun(WAITING)).toBe(false);
    expect(context.store.getSnapshot().notices).toMatchObject([{ task: "stop", code: "already_answered" }]);
  });
});
