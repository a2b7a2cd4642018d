/** Time travel end to end: a graph's run can be forked at each of its checkpoints and resumed from there. */
import { describe, expect, it } from "vitest";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { openSession } from "../src/engine/index.ts";
import { append, defineGraph, END, replace, resumeGraph, runGraph } from "../src/graph/index.ts";
import { forkSession, listCheckpoints, type Log, openStream, readCheckpoint } from "../src/log/index.ts";
import type { JsonObject } from "../src/protocol/index.ts";
import { gather, LOGS } from "./log-sessions.ts";

const LAST = 5;

function makeGraph(ran: number[]) {
  return defineGraph({
    name: "count",
    channels: { n: replace(0), trail: append<string>() },
    nodes: {
      work: ({ n }, node) => {
        ran.push(n + 1);
        node.custom({ at: n + 1 });
        return { n: n + 1, trail: [`${n + 1}`] };
      },
    },
    start: "work",
    edges: { work: ({ n }) => (n < LAST ? "work" : END) },
  });
}

async function runOnce(log: Log): Promise<void> {
  const session = await openSession(log, "s");
  const run = await session.startRun({ runId: "r" });
  await runGraph(makeGraph([]), { run });
  await run.finish({ reply: "done" });
  await session.close();
}

/** Resumes the live run of a session; returns its final state and the steps that ran. */
async function resumeSession(log: Log, sessionId: string) {
  const ran: number[] = [];
  let state: unknown;
  const session = await openSession(log, sessionId, {
    resume: async (dead) => {
      state = await resumeGraph(makeGraph(ran), dead, { log });
      await dead.run.finish({ reply: "again" });
    },
  });
  await session.idle();
  const outcomes = session.recovered.map(({ outcome }) => outcome);
  await session.close();
  return { state, ran, outcomes, run: (await log.listRuns(sessionId))[0] };
}

async function expectSound(log: Log, sessionId: string): Promise<void> {
  for (const modes of [undefined, "all"] as const) {
    const check = createStreamCheck(DIALECTS.loom);
    const frames = (await gather(openStream(log, sessionId, { dialect: "loom", modes }))).flat();
    expect([...frames.flatMap(({ text }) => check.check(text).issues), ...check.end()]).toEqual([]);
  }
}

const countUp = (from: number): number[] => Array.from({ length: LAST - from }, (_, index) => from + 1 + index);

describe.each(LOGS)("on a $name log", ({ open }) => {
  it("a fork at any checkpoint ends like the original run and repeats no finished node", async () => {
    const log = await open();
    await runOnce(log);
    const all = await listCheckpoints(log, "s");
    expect(all.map(({ step }) => step)).toEqual([5, 4, 3, 2, 1, 0]);
    for (const { checkpointId, step } of all) {
      const to = `fork ${step}`;
      await forkSession(log, { from: "s", checkpointId, to });
      const { state, ran, outcomes, run } = await resumeSession(log, to);
      expect(outcomes).toEqual(["resumed"]);
      expect(state).toEqual({ n: LAST, trail: countUp(0).map(String) });
      expect(ran).toEqual(countUp(Number(step)));
      expect(run).toMatchObject({ runId: "r", status: "completed" });
      await expectSound(log, to);
      expect((await listCheckpoints(log, to)).map((each) => each.step)).toEqual([5, 4, 3, 2, 1, 0]);
    }
    await log.close();
  });

  it("a fork with a replaced state continues from that state", async () => {
    const log = await open();
    await runOnce(log);
    const state: JsonObject = { n: 3, trail: ["another past"] };
    const { checkpointId } = await forkSession(log, { from: "s", checkpointId: "r:1", to: "fork", state });
    expect((await readCheckpoint(log, "fork", checkpointId)).state).toEqual(state);
    const { state: last, ran } = await resumeSession(log, "fork");
    expect(ran).toEqual([4, 5]);
    expect(last).toEqual({ n: 5, trail: ["another past", "4", "5"] });
    await expectSound(log, "fork");
    expect((await readCheckpoint(log, "s", "r:5")).state).toEqual({ n: LAST, trail: countUp(0).map(String) });
    await log.close();
  });
});
