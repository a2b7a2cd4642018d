import { describe, expect, it } from "vitest";
import type { CommandState, RunInfo } from "../../../log/index.ts";
import { createLiveRuns, type LiveRunsOptions } from "./live-runs.ts";
import { LOCAL, NOBODY, type Principal } from "../principal.ts";

type Fate = "unwritten" | "waits" | "live" | "withdrawn" | "over" | "pruned" | "gone";

const token = (id: string, maxRuns?: number): Principal => ({
  ...NOBODY,
  kind: "token",
  id,
  limits: maxRuns === undefined ? {} : { maxRuns },
});

/** A log of which only the fate of each message matters. */
function setStage(options: Omit<LiveRunsOptions, "log"> = {}) {
  const fates = new Map<string, Fate>();
  let now = 1_000_000;
  let asked = 0;
  const fateOf = (command: string): Fate => fates.get(command) ?? "unwritten";
  const log = {
    getSession: async (session: string) => ({ sessionId: session }),
    getCommand: async (_session: string, command: string) => {
      asked++;
      const fate = fateOf(command);
      if (fate === "unwritten" || fate === "gone") return undefined;
      const code = fate === "withdrawn" ? "cancelled" : "done";
      const body = { run_id: `run of ${command}` };
      return { body, ...(fate === "waits" ? {} : { outcome: { code } }) } as unknown as CommandState;
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
    asked: () => asked,
    admit: (principal: Principal, command: string) =>
      runs.admit(principal, { session: "s", run: `run of ${command}`, command }),
    /** Of one that no message begins. */
    admitFork: (principal: Principal, name: string) => runs.admit(principal, { session: "s", run: `run of ${name}` }),
  };
}

const TOO_MANY: unknown = expect.objectContaining({ code: "too_many_runs" });

describe("live runs", () => {
  const endings: readonly (readonly [Fate, boolean])[] = [
    ["waits", true],
    ["live", true],
    ["withdrawn", false],
    ["over", false],
    ["pruned", false],
    ["gone", false],
  ];
  it.each(endings)("one that %s: takes a place, %s", async (fate, isCounted) => {
    const { fates, admit, pass } = setStage({ maxRuns: 2 });
    await admit(token("a"), "1");
    await admit(token("a"), "2");
    for (const command of ["1", "2"]) fates.set(command, fate);
    pass(60_000);
    const third = admit(token("a"), "3");
    if (isCounted) await expect(third).rejects.toEqual(TOO_MANY);
    else await third;
    await admit(token("b"), "4");
  });

  it("one that no message begins takes a place as long as it is live", async () => {
    const { admitFork, fates, pass } = setStage({ maxRuns: 1 });
    await admitFork(token("a"), "1");
    fates.set("1", "live");
    pass(60_000);
    await expect(admitFork(token("a"), "2")).rejects.toEqual(TOO_MANY);
    fates.set("1", "over");
    await admitFork(token("a"), "2");
  });

  it("what is being written counts, until it is plain that it was not", async () => {
    const { admit, pass } = setStage({ maxRuns: 2 });
    const all = await Promise.allSettled(["1", "2", "3", "4"].map((command) => admit(token("a"), command)));
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    pass(5001);
    await admit(token("a"), "5");
  });

  it("no two of those that come at once get the last place", async () => {
    const { admit, fates } = setStage({ maxRuns: 2 });
    for (const command of ["1", "2"]) await admit(token("a"), command);
    fates.set("1", "over").set("2", "live");
    const all = await Promise.allSettled(["3", "4", "5"].map((command) => admit(token("a"), command)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("the same message again is let through, and the log is asked only at the limit", async () => {
    const { admit, fates, asked } = setStage();
    for (let at = 0; at < 20; at++) {
      await admit(token("a"), String(at));
      fates.set(String(at), "live");
    }
    expect(asked()).toBe(0);
    await admit(token("a"), "7");
    await expect(admit(token("a"), "20")).rejects.toEqual(TOO_MANY);
    await expect(admit(token("b", 0), "1")).rejects.toEqual(TOO_MANY);
    for (let at = 0; at < 50; at++) await admit(LOCAL, String(at));
  });
});
