/** Metrics of real agents: live, replayed from the log, and across a process that took over. */
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createLog } from "../contracts/sender.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createPrometheusObserver, MetricsCollector, Observation, replayObservers } from "../../src/observe/index.ts";
import { createTools } from "./counted-tools.ts";
import { eventsOf, SESSION, createAgentFixture, waitForEvent } from "./agent-fixture.ts";
import { playMove, playTrip } from "./thought-scripts.ts";

async function watch(script: Script, options: Parameters<typeof createAgentFixture>[1] = {}) {
  const log = await createLog();
  const metrics = new MetricsCollector();
  const prometheus = await createPrometheusObserver();
  const errors: unknown[] = [];
  const observation = new Observation([metrics, prometheus], { onError: (error) => errors.push(error) });
  const fixture = await createAgentFixture(script, { ...options, log, session: observation.tap(log) });
  onTestFinished(() => expect(errors).toEqual([]));
  return { fixture, log, metrics, prometheus };
}

async function expectReplaySame(log: Parameters<typeof replayObservers>[0], metrics: MetricsCollector): Promise<void> {
  const replayed = new MetricsCollector();
  await replayObservers(log, SESSION, [replayed]);
  expect(replayed.summary()).toEqual(metrics.summary());
}

it("counts a run with tools like its summary", async () => {
  const { fixture, log, metrics, prometheus } = await watch([
    { reasoning: "Two.", calls: [{ name: "add", input: { a: 1, b: 2 } }, { name: "fail" }] },
    { text: "3." },
  ]);
  await (
    await fixture.ask("Add")
  ).ended;
  const records = await fixture.read();
  const totals = eventsOf(records, "run_end")[0]?.summary;
  const { runs, iterations, llm, tools } = metrics.summary();
  expect(runs).toMatchObject({ started: 1, completed: 1, timeToFirstAnswer: { count: 1 } });
  expect(runs.duration.sumMs).toBe(totals?.duration_ms);
  expect(iterations).toBe(2);
  expect(llm).toMatchObject({ calls: 2, failed: 0, timeToFirstToken: { count: 2 } });
  expect(llm.tokens).toEqual({
    prompt: totals?.prompt_tokens,
    completion: totals?.completion_tokens,
    total: totals?.total_tokens,
  });
  expect(Object.keys(llm.byModel)).toEqual(["scripted/scripted"]);
  expect(tools).toMatchObject({ calls: totals?.tool_calls, failed: 1, duration: { count: 2 } });
  expect(Object.keys(tools.byTool)).toEqual(["add", "fail"]);
  await expectReplaySame(log, metrics);
  expect(await prometheus.register.metrics()).toContain('loom_tool_errors_total{tool="fail"} 1');
});

it("counts a failing model and a cancelled run", async () => {
  const { fixture, log, metrics } = await watch([
    { fault: { kind: "throw", error: new Error("no") } },
    { calls: [{ name: "wait" }] },
  ]);
  await (
    await fixture.ask("Fail")
  ).ended;
  const run = await fixture.ask("Wait");
  await fixture.wait("tool_start");
  await run.cancel();
  await run.ended;
  const { runs, llm, errors } = metrics.summary();
  expect(runs).toMatchObject({ started: 2, error: 1, cancelled: 1 });
  expect(llm.failed).toBeGreaterThanOrEqual(1);
  expect(errors.total).toBeGreaterThanOrEqual(1);
  await expectReplaySame(log, metrics);
});

it.each([
  ["trees", "tot", playMove],
  ["graphs", "got", playTrip],
] as const)("finds a first token in every model call of %s of thoughts", async (_name, kind, script) => {
  const { fixture, log, metrics } = await watch(script, { kind });
  await (
    await fixture.ask("Think")
  ).ended;
  const calls = eventsOf(await fixture.read(), "llm_start").length;
  expect(calls).toBeGreaterThan(3);
  expect(metrics.summary().llm).toMatchObject({ calls, timeToFirstToken: { count: calls } });
  await expectReplaySame(log, metrics);
});

it("counts everything once when another process takes over", async () => {
  const all = new MetricsCollector();
  const script = [{ calls: [{ name: "remove", input: { path: "a" }, id: "c" }] }];
  const { fixture, log, metrics: first } = await watch(script, { observers: [all] });
  await fixture.ask("Remove a");
  await fixture.wait("tool_approval");
  await fixture.session.close();

  const second = new MetricsCollector();
  const observation = new Observation([second, all]);
  const actor = agent({ model: new ScriptedModel([{ text: "Done." }]), tools: createTools().tools });
  const session = await actor.openSession(log, SESSION, observation.tap(log));
  onTestFinished(() => session.close());
  const over = waitForEvent(session, "reply");
  session.liveRun?.answerApproval({ callId: "c", decision: "approved" });
  await over;
  await observation.idle();

  expect(first.summary()).toMatchObject({ runs: { started: 1, completed: 0 }, approvals: { asked: 1, approved: 0 } });
  expect(second.summary()).toMatchObject({
    runs: { started: 0, completed: 1, duration: { count: 1 } },
    approvals: { asked: 0, approved: 1, wait: { count: 1 } },
  });
  await expectReplaySame(log, all);
});
