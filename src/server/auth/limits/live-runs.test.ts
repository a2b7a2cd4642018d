import { describe, expect, it } from "vitest";
import type { CommandState, RunInfo } from "../../../log/index.ts";
import { createLiveRuns, type LiveRunsOptions } from "./live-runs.ts";
import { LOCAL, ANONYMOUS, type Principal } from "../principal.ts";

type CommandFate = "unwritten" | "queued" | "live" | "withdrawn" | "ended" | "pruned" | "gone";

const token = (id: string, maxRuns?: number): Principal => ({
  ...ANONYMOUS,
  kind: "token",
  id,
  limits: maxRuns === undefined ? {} : { maxRuns },
});

/** A log that knows only the state of each command. */
function createFixture(options: Omit<LiveRunsOptions, "log"> = {}) {
  const fates = new Map<string, CommandFate>();
  let now = 1_000_000;
  let queries = 0;
  const fateOf = (command: string): CommandFate => fates.get(command) ?? "unwritten";
  const log = {
    getSession: async (session: string) => ({ sessionId: session }),
    getCommand: async (_session: string, command: string) => {
      queries++;
      const fate = fateOf(command);
      if (fate === "unwritten" || fate === "gone") return undefined;
      const code = fate === "withdrawn" ? "cancelled" : "done";
      const body = { run_id: `run of ${command}` };
      return { body, ...(fate === "queued" ? {} : { outcome: { code } }) } as unknown as CommandState;
    },
    getRun: async (_session: string, run: string) => {
      const fate = fateOf(run.replace("run of ", ""));
      if (fate === "pruned") return undefined;
      return { status: fate === "live" ? "live" : "completed" } as RunInfo;
    },
  } as unknown as LiveRunsOptions["log"];
  const runs = createLiveRuns({ ...options, log, now: () => now });
  return {
    fates,
    pass: (ms: number) => void (now += ms),
    queries: () => queries,
    admit: (principal: Principal, command: string) =>
      runs.admit(principal, { session: "s", run: `run of ${command}`, command }),
    /** A run that no command starts. */
    admitFork: (principal: Principal, name: string) => runs.admit(principal, { session: "s", run: `run of ${name}` }),
  };
}

const TOO_MANY: unknown = expect.objectContaining({ code: "too_many_runs" });

describe("live runs", () => {
  const endings: readonly (readonly [CommandFate, boolean])[] = [
    ["queued", true],
    ["live", true],
    ["withdrawn", false],
    ["ended", false],
    ["pruned", false],
    ["gone", false],
  ];
  it.each(endings)("a command in state %s counts: %s", async (fate, isCounted) => {
    const { fates, admit, pass } = createFixture({ maxRuns: 2 });
    await admit(token("a"), "1");
    await admit(token("a"), "2");
    for (const command of ["1", "2"]) fates.set(command, fate);
    pass(60_000);
    const third = admit(token("a"), "3");
    if (isCounted) await expect(third).rejects.toEqual(TOO_MANY);
    else await third;
    await admit(token("b"), "4");
  });

  it("count a run without a command while it is live", async () => {
    const { admitFork, fates, pass } = createFixture({ maxRuns: 1 });
    await admitFork(token("a"), "1");
    fates.set("1", "live");
    pass(60_000);
    await expect(admitFork(token("a"), "2")).rejects.toEqual(TOO_MANY);
    fates.set("1", "ended");
    await admitFork(token("a"), "2");
  });

  it("count a run that is not in the log yet, for a limited time", async () => {
    const { admit, pass } = createFixture({ maxRuns: 2 });
    const all = await Promise.allSettled(["1", "2", "3", "4"].map((command) => admit(token("a"), command)));
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    pass(5001);
    await admit(token("a"), "5");
  });

  it("admit only one of several concurrent runs to the last slot", async () => {
    const { admit, fates } = createFixture({ maxRuns: 2 });
    for (const command of ["1", "2"]) await admit(token("a"), command);
    fates.set("1", "ended").set("2", "live");
    const all = await Promise.allSettled(["3", "4", "5"].map((command) => admit(token("a"), command)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("admit the same run again and query the log only at the limit", async () => {
    const { admit, fates, queries } = createFixture();
    for (let at = 0; at < 20; at++) {
      await admit(token("a"), String(at));
      fates.set(String(at), "live");
    }
    expect(queries()).toBe(0);
    await admit(token("a"), "7");
    await expect(admit(token("a"), "20")).rejects.toEqual(TOO_MANY);
    await expect(admit(token("b", 0), "1")).rejects.toEqual(TOO_MANY);
    for (let at = 0; at < 50; at++) await admit(LOCAL, String(at));
  });
});
