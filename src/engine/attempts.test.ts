// The attempts of a run whose process dies again and again.
import { describe, expect, it } from "vitest";
import { ask, checkpoint, die } from "./dead-run.contract.ts";
import type { Run } from "./run.ts";
import { createLog, expectValid, readRecords, SESSION, typesOf } from "./sender.contract.ts";
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
    expect(typesOf(records).slice(-3)).toEqual(["error", "node_exit", "run_end"]);
    expect(records.at(-3)?.event).not.toHaveProperty("attempt");
    expect(records.at(-1)?.event).toMatchObject({ status: "error", code: "interrupted" });
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
    expect(records.at(-1)?.event).toMatchObject({ status: "error", code: "too_many_attempts" });
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
});
