// The observers of an agent receive the runs it starts, executes or resumes, each once, whatever other observers there
// are.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Agent, agent, type AgentOptions } from "../../src/agents/index.ts";
import { openSession, type Session } from "../../src/engine/index.ts";
import { createLog } from "../contracts/sender.ts";
import type { Log } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { type Callback, MetricsCollector, Observation, type Observer } from "../../src/observe/index.ts";
import { createTools } from "../agents/counted-tools.ts";
import { LONG } from "../sampling.ts";

interface Fixture {
  readonly log: Log;
  readonly metrics: MetricsCollector;
  readonly received: string[];
  make(options?: AgentOptions): Agent;
  keep(session: Session): Session;
}

/** Agents that share their metrics and callback. */
async function createFixture(): Promise<Fixture> {
  const log = await createLog();
  const metrics = new MetricsCollector();
  const received: string[] = [];
  const callback: Callback = { onEvent: (type, { request_id }) => received.push(`${request_id} ${type}`) };
  return {
    log,
    metrics,
    received,
    make: (options = {}) =>
      agent({
        model: new ScriptedModel(() => ({ text: "Well." })),
        metrics,
        callbacks: [callback],
        ...options,
      }),
    keep(session) {
      onTestFinished(() => session.close());
      return session;
    },
  };
}

const RUN = ["r request_start", "r agent_finish"];

describe("a run that two agents could observe", () => {
  it("is observed once, by the agent that answers", async () => {
    const { log, metrics, received, make, keep } = await createFixture();
    const quiet = new MetricsCollector();
    const [owner, other] = [make({ metrics: quiet }), make()];
    const session = keep(await owner.openSession(log, "s"));
    await (
      await other.answer(session, "Hello", { requestId: "r" })
    ).ended;
    await Promise.all([owner.flush(), other.flush()]);
    expect(received).toEqual(RUN);
    expect(metrics.summary().runs).toMatchObject({ started: 1, completed: 1 });
    expect(quiet.summary().runs).toMatchObject({ started: 0, completed: 0 });
  });

  it("is observed once by an observer shared through the server", async () => {
    const { log, metrics, received, make, keep } = await createFixture();
    const actor = make();
    const session = keep(await actor.openSession(log, "s", new Observation([metrics]).tap(log)));
    await (
      await actor.answer(session, "Hello", { requestId: "r" })
    ).ended;
    await actor.flush();
    expect(received).toEqual(RUN);
    expect(metrics.summary().runs).toMatchObject({ started: 1, completed: 1 });
  });

  it("is observed by the agent that executes it, in a session without observers", async () => {
    const { log, metrics, received, make, keep } = await createFixture();
    const actor = make();
    const session = keep(await openSession(log, "s"));
    const run = await session.startRun({ message: "Hello", requestId: "r" });
    await actor.executeRun(log, run);
    await actor.flush();
    expect(received).toEqual(RUN);
    expect(metrics.summary().runs).toMatchObject({ started: 1, completed: 1 });
  });
});

it("calls the listeners passed to an agent's `openSession`", async () => {
  const { log, received, make } = await createFixture();
  const heard: string[] = [];
  const session = await make().openSession(log, "s", {
    onCommit: (entries) => heard.push(...entries.map(({ record }) => record.event.type)),
    onEnd: (sessionId) => heard.push(`end of ${sessionId}`),
  });
  const actor = make();
  await (
    await actor.answer(session, "Hello", { requestId: "r" })
  ).ended;
  await session.close();
  await actor.flush();
  expect(received).toEqual(RUN);
  expect([heard[0], heard.at(-2), heard.at(-1)]).toEqual(["run_start", "reply", "end of s"]);
});

it("observes a recreated session while the old one is still open", async () => {
  const { log, received, make, keep } = await createFixture();
  const actor = make();
  for (const requestId of ["one", "two", "three"]) {
    const session = keep(await actor.openSession(log, "s"));
    for (const turn of [1, 2])
      await (
        await actor.answer(session, "Hello", { requestId: `${requestId} ${turn}` })
      ).ended;
    await log.deleteSession("s");
  }
  await actor.flush();
  expect(received).toEqual(
    ["one 1", "one 2", "two 1", "two 2", "three 1", "three 2"].flatMap((id) => [
      `${id} request_start`,
      `${id} agent_finish`,
    ]),
  );
});

it.each(["its own", "a plain"])("closes an unfinished run when %s session closes", async (whose) => {
  const { log, make } = await createFixture();
  const ends: string[] = [];
  const begun = Promise.withResolvers<void>();
  const observer: Observer = {
    name: "witness",
    openRun: () => ({
      take: ({ event }) => (event.type === "tool_approval" ? begun.resolve() : undefined),
      close: (isUnfinished) => ends.push(isUnfinished ? "left" : "over"),
    }),
  };
  const actor = make({
    model: new ScriptedModel([{ calls: [{ name: "remove", input: { path: "a" }, id: "c" }] }]),
    tools: createTools().tools,
    observers: [observer],
  });
  const session = whose === "its own" ? await actor.openSession(log, "s") : await openSession(log, "s");
  await actor.answer(session, "Hello");
  await begun.promise;
  await session.close({ run: "leave" });
  await actor.flush();
  expect(ends).toEqual(["left"]);
});

const BUSY = {
  fault: { kind: "throw", error: Object.assign(new Error("busy"), { statusCode: 429, isRetryable: true }) },
} as const;

it.each([
  ["one answer", [{ text: "Well." }], { iterations: 1, calls: 1 }],
  ["two failed attempts and an answer", [BUSY, BUSY, { text: "Well." }], { iterations: 1, calls: 3 }],
  ["three failed attempts", [BUSY, BUSY, BUSY], { iterations: 0, calls: 3 }],
] as const)("%s: failed attempts are not iterations", async (_what, script, expected) => {
  const { metrics, make } = await createFixture();
  const actor = make({ model: new ScriptedModel(script), callOptions: { maxRetries: 2, retryMs: 1, maxRetryMs: 2 } });
  await actor.run("Hello").catch(() => undefined);
  const { iterations, llm } = metrics.summary();
  expect({ iterations, calls: llm.calls }).toEqual(expected);
});

it("contains the rejection of an asynchronous observer", async () => {
  const errors: unknown[] = [];
  const fail = async (): Promise<never> => Promise.reject(new Error("no disk"));
  const observer = {
    name: "late",
    expectRun: fail,
    openRun: () => ({ take: fail, close: fail }),
  } as unknown as Observer;
  const { make } = await createFixture();
  const actor = make({ observers: [observer], onError: (error) => void errors.push(error) });
  await actor.run("Hello");
  await actor.close();
  expect(errors).toMatchObject([{ message: "no disk" }]);
});

it("lets a callback close its agent while another caller closes it", async () => {
  const { make } = await createFixture();
  const done: string[] = [];
  const callback: Callback = {
    async onEvent(type) {
      await actor.close({ flushMs: 60_000 });
      done.push(type);
    },
  };
  // The closed callback did not receive the remaining events.
  const actor: Agent = make({ callbacks: [callback], callbackOptions: { onError: () => undefined } });
  await actor.run("Hello").catch(() => undefined);
  await actor.close({ flushMs: 60_000 });
  expect(done[0]).toBe("request_start");
});

it.runIf(LONG)("keeps the process alive until a hanging callback of a replay times out", async () => {
  const program = `
    import { openSession } from "${new URL("../../src/engine/index.ts", import.meta.url).href}";
    import { MemoryLog } from "${new URL("../../src/log/index.ts", import.meta.url).href}";
    import { replayCallbacks } from "${new URL("../../src/observe/index.ts", import.meta.url).href}";
    const log = new MemoryLog();
    const session = await openSession(log, "s");
    await (await session.startRun({ message: "Hello" })).finish({ reply: "Well" });
    await session.close();
    const hanging = { onEvent: () => new Promise(() => undefined) };
    await replayCallbacks(log, "s", [hanging], { timeoutMs: 5, onError: ({ code }) => console.log(code) });
    console.log("done");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout.trim().split("\n")).toEqual(["callback_timeout", "callback_timeout", "done"]);
});
