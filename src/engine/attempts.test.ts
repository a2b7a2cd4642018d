// The attempts of a run whose process dies again and again.
import { describe, expect, it } from "vitest";
import { forkSession } from "../log/fork-session.ts";
import type { Log } from "../log/log.ts";
import type { EventOf } from "../protocol/index.ts";
import { ask, checkpoint, die } from "../../test/contracts/dead-run.ts";
import type { Run } from "./run.ts";
import { createLog, expectValid, readRecords, SESSION, typesOf } from "../../test/contracts/sender.ts";
import { sendCommand } from "./send-command.ts";
import { openSession } from "./session.ts";

const NEVER = new Promise<never>(() => undefined);

describe("the attempts of a run whose process died", () => {
  it.each<["request" | "session"]>([["request"], ["session"]])("ends if the %s says so", async (who) => {
    const log = await createLog();
    const choice = { onInterruption: "fail" } as const;
    const work = async (run: Run) => {
      await run.emit(checkpoint);
      await run.enter("answer").write("half a sen");
    };
    await die(log, work, SESSION, who === "request" ? choice : {});
    const session = await openSession(log, SESSION, {
      resume: () => Promise.resolve(),
      ...(who === "session" ? choice : {}),
    });
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "ended" }]);
    const records = await expectValid(log);
    expect(typesOf(records).slice(-4)).toEqual(["error", "node_exit", "run_end", "reply"]);
    expect(records.at(-4)?.event).not.toHaveProperty("attempt");
    expect(records.at(-2)?.event).toMatchObject({ status: "error", code: "interrupted" });
  });

  it.each([
    ["from its start", 3, async () => undefined],
    ["from its checkpoint", 3, async (run: Run) => void (await run.emit(checkpoint))],
    ["from its checkpoint, with a limit of 1", 1, async (run: Run) => void (await run.emit(checkpoint))],
  ])("ends after too many attempts %s", async (_, maxAttempts, work) => {
    const log = await createLog();
    await die(log, work);
    let tries = 1;
    const crash = async (run: Run): Promise<void> => {
      tries++;
      void run.enter("answer").think("hm");
      await new Promise(() => undefined);
    };
    for (;;) {
      const session = await openSession(log, SESSION, {
        takeover: true,
        maxAttempts,
        resume: ({ run }) => crash(run),
        restart: crash,
      });
      await session.liveRun?.settled();
      if (session.recovered[0]?.outcome !== "resumed") break;
    }
    expect(tries).toBe(maxAttempts);
    const records = await expectValid(log);
    const errors = records.flatMap(({ event }) => (event.type === "error" ? [event] : []));
    expect(errors.slice(0, -1)).toMatchObject(
      Array.from({ length: maxAttempts - 1 }, (_item, index) => ({ code: "interrupted", attempt: index + 2 })),
    );
    expect(errors.at(-1)).toMatchObject({ code: "too_many_attempts", recoverable: false });
    expect(records.at(-2)?.event).toMatchObject({ status: "error", code: "too_many_attempts" });
  });

  it("does not count attempts that were handed over", async () => {
    const log = await createLog();
    const work = async (run: Run): Promise<void> => void run.enter("answer").write("half a sen");
    const first = await openSession(log, SESSION);
    await (await first.startRun({ runId: "r", agent: "react" })).emit(checkpoint);
    await first.close({ run: "leave" });
    for (let restart = 0; restart < 5; restart++) {
      const session = await openSession(log, SESSION, {
        maxAttempts: 2,
        resume: ({ run }) => work(run).then(() => NEVER),
      });
      expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
      await session.liveRun?.settled();
      await session.close({ run: "leave" });
    }
    // A process that only opens the session to execute a command does not change who left the run.
    await (await openSession(log, SESSION, { deadRuns: "leave" })).close();
    const crash = () => openSession(log, SESSION, { takeover: true, maxAttempts: 2, resume: () => NEVER });
    expect((await crash()).recovered).toMatchObject([{ outcome: "resumed" }]);
    expect((await crash()).recovered).toMatchObject([{ outcome: "resumed" }]);
    expect((await crash()).recovered).toMatchObject([{ outcome: "ended" }]);
    const errors = (await expectValid(log)).flatMap(({ event }) => (event.type === "error" ? [event] : []));
    const handed = { message: expect.stringContaining("stopped") as unknown, details: { handed_over: true } };
    expect(errors).toMatchObject([
      ...Array.from({ length: 6 }, (_, index) => ({ code: "interrupted", attempt: index + 2, ...handed })),
      { code: "interrupted", attempt: 8, message: expect.stringContaining("unexpectedly") as unknown },
      { code: "too_many_attempts", message: expect.stringContaining("2 times") as unknown },
    ]);
  });

  it("counts attempts that were handed over too often", async () => {
    const log = await createLog();
    const first = await openSession(log, SESSION);
    await (await first.startRun({ runId: "r", agent: "react" })).emit(checkpoint);
    await first.close({ run: "leave" });
    const outcomes: unknown[] = [];
    for (let restart = 0; restart < 5; restart++) {
      const options = { maxAttempts: 2, maxHandOvers: 3, resume: () => NEVER };
      await using session = await openSession(log, SESSION, options);
      outcomes.push(session.recovered[0]?.outcome);
      await session.liveRun?.settled();
      await session.close({ run: "leave" });
    }
    expect(outcomes).toEqual(["resumed", "resumed", "resumed", "resumed", "ended"]);
    const [end] = (await expectValid(log)).flatMap(({ event }) => (event.type === "run_end" ? [event] : []));
    expect(end).toMatchObject({ status: "error", code: "too_many_attempts" });
  });

  it("a process that cannot continue a dead run does not hide that it died", async () => {
    const log = await createLog();
    await die(log, async (run) => void (await run.emit(checkpoint)));
    await (await openSession(log, SESSION, { deadRuns: "leave" })).close();
    const session = await openSession(log, SESSION, { maxAttempts: 1, resume: () => NEVER });
    expect(session.recovered).toMatchObject([{ outcome: "ended" }]);
  });

  it("counts only attempts that did something", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.emit(checkpoint);
      await ask(run);
    });
    for (let restart = 0; restart < 5; restart++) {
      const session = await openSession(log, SESSION, { takeover: true, resume: () => new Promise(() => undefined) });
      await session.liveRun?.settled();
      expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
    }
    expect(typesOf(await readRecords(log, SESSION))).not.toContain("error");
  });

  it("does not count the first attempt after a decision of the user", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.emit(checkpoint);
      await ask(run);
    });
    const body = { run_id: "dead", call_id: "c", decision: "approved" };
    // A process that has no agent passes the decision on.
    const passing = await openSession(log, SESSION, { deadRuns: "leave" });
    await sendCommand(log, { commandId: "approve", sessionId: SESSION, kind: "approve", body });
    await passing.close();
    for (let restart = 0; restart < 3; restart++) {
      const session = await openSession(log, SESSION, {
        takeover: true,
        resume: ({ run }) =>
          run
            .enter("act")
            .think("hm")
            .then(() => NEVER),
      });
      await session.liveRun?.settled();
      expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
    }
    const errors = (await expectValid(log)).flatMap(({ event }) => (event.type === "error" ? [event] : []));
    expect(errors).toMatchObject([{ attempt: 2 }, { attempt: 3 }]);
  });
});

describe("a run at the checkpoint where its session was forked", () => {
  const FAIL = { onInterruption: "fail" } as const;
  const saved = (step: number) => ({ ...checkpoint, checkpoint_id: `cp ${step}`, step });
  const fork = (log: Log, from: string, step: number, to: string) =>
    forkSession(log, { from, checkpointId: `cp ${step}`, to });
  const errorsOf = async (log: Log, sessionId: string) =>
    (await readRecords(log, sessionId)).flatMap(({ event }) => (event.type === "error" ? [event] : []));

  /** Continues the run up to its next checkpoint, in a process that then dies. */
  async function crashAt(log: Log, sessionId: string, step: number): Promise<void> {
    const resume = ({ run }: { readonly run: Run }) => run.emit(saved(step)).then(() => NEVER);
    const session = await openSession(log, sessionId, { takeover: true, resume });
    expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
    await session.liveRun?.settled();
    await log.release(await log.acquire(sessionId, { holder: "other", ttlMs: 1, takeover: true }));
  }

  it("continues in a fork of a fork, and counts only attempts since the last fork", async () => {
    const log = await createLog();
    await die(log, async (run) => void (await run.emit(saved(0))));
    for (let depth = 0; depth < 5; depth++) {
      await fork(log, depth === 0 ? SESSION : `fork ${depth}`, depth, `fork ${depth + 1}`);
      await crashAt(log, `fork ${depth + 1}`, depth + 1);
    }
    // The second and the third attempt of the last fork.
    await crashAt(log, "fork 5", 6);
    await crashAt(log, "fork 5", 7);
    const last = await openSession(log, "fork 5", { resume: () => NEVER });
    expect(last.recovered).toMatchObject([{ outcome: "ended" }]);
    const continued = {
      code: "interrupted",
      message: "The run continues from a checkpoint",
      details: { forked: true },
    };
    const died = { code: "interrupted", message: expect.stringContaining("unexpectedly") as unknown };
    expect(await errorsOf(log, "fork 5")).toMatchObject([
      ...Array.from({ length: 5 }, (_, index) => ({ ...continued, attempt: index + 2 })),
      { ...died, attempt: 7 },
      { ...died, attempt: 8 },
      { code: "too_many_attempts", message: expect.stringContaining("3 times") as unknown },
    ]);
  });

  it.each<["request" | "session"]>([["request"], ["session"]])("continues if the %s says fail", async (who) => {
    const log = await createLog();
    await die(log, async (run) => void (await run.emit(saved(0))), SESSION, who === "request" ? FAIL : {});
    await fork(log, SESSION, 0, "fork");
    const more = who === "session" ? FAIL : {};
    // A process that cannot continue the run leaves it as it is.
    await (await openSession(log, "fork", { deadRuns: "leave" })).close();
    const session = await openSession(log, "fork", { resume: () => NEVER, ...more });
    expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
    await session.liveRun?.settled();
    // From there on, the choice applies.
    const next = await openSession(log, "fork", { takeover: true, resume: () => NEVER, ...more });
    expect(next.recovered).toMatchObject([{ outcome: "ended" }]);
  });

  it("says if the state was edited", async () => {
    const log = await createLog();
    await die(log, async (run) => void (await run.emit({ ...saved(0), state: { n: 1 } })));
    await forkSession(log, { from: SESSION, checkpointId: "cp 0", to: "fork", state: { n: 2 } });
    await crashAt(log, "fork", 1);
    await crashAt(log, "fork", 2);
    expect(await errorsOf(log, "fork")).toMatchObject([
      {
        message: "The run continues from a checkpoint with an edited state",
        details: { forked: true, state_edited: true },
      },
      { message: expect.stringContaining("unexpectedly") as unknown },
    ]);
  });

  it.each([["at once"], ["after a crash"]])("measures its time from the fork if it ends %s", async (when) => {
    const log = await createLog();
    await die(log, async (run) => void (await run.emit(saved(0))));
    await fork(log, SESSION, 0, "fork");
    // An hour later.
    const now = () => Date.now() + 3_600_000;
    if (when === "after a crash") {
      const dead = await openSession(log, "fork", { now, resume: () => NEVER });
      await dead.liveRun?.settled();
    }
    const resume = async ({ run }: { readonly run: Run }) => void (await run.finish({ reply: "done" }));
    await using session = await openSession(log, "fork", { takeover: true, now, resume });
    await session.idle();
    const { event } = (await readRecords(log, "fork")).findLast((one) => one.event.type === "run_end") ?? {};
    const { duration_ms = Infinity } = (event as EventOf<"run_end">).summary ?? {};
    expect(duration_ms).toBeLessThan(1_800_000);
  });
});
