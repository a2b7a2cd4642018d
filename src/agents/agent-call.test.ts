// Calls that end early, at any point, leave nothing running and nothing open.
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import {
  collect,
  countTimers,
  expectNothingLeft,
  failureOf,
  type FacadeFixture,
  createFacadeFixture,
} from "../../test/agents/facade-fixture.ts";
import { SAMPLES } from "../../test/sampling.ts";
import { createLog, waitUntil, wrapLog } from "../../test/contracts/sender.ts";
import { openSession } from "../engine/index.ts";
import type { Script } from "../models/scripted-model.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentOptions } from "./agent.ts";
import type { AgentCallOptions } from "./agent-call.ts";

const SESSION = "chat-1";
const calls = (name: string, input = {}): Script => [{ calls: [{ name, input, id: "c1" }] }, { text: "Done." }];
const stalls: Script = [{ text: "One two three", fault: { kind: "stall", after: 1 } }];

interface Place {
  readonly script: Script;
  readonly options?: AgentOptions;
  /** Resolves when the call has reached this point. */
  arrive(fixture: FacadeFixture, arrived: Promise<void>): Promise<unknown>;
}

/** Points that a call can reach, and how to detect them. */
function createPlaces(here: () => void): Record<string, Place> {
  return {
    "in retrieval": {
      script: [],
      options: {
        retriever: {
          name: "library",
          retrieve: (_query, { signal }) => {
            here();
            return new Promise((_, reject) => {
              signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
            });
          },
        },
      },
      arrive: (_, arrived) => arrived,
    },
    "before the first output of the model": {
      script: () => {
        here();
        return { fault: { kind: "stall" } };
      },
      arrive: (_, arrived) => arrived,
    },
    "in the middle of the model output": {
      script: stalls,
      arrive: ({ log }) => waitUntil(log, async () => ((await log.getSession(SESSION))?.lastId ?? 0) > 5, SESSION),
    },
    "in a tool": {
      script: calls("hold"),
      options: { tools: [createHold(here)] },
      arrive: (_, arrived) => arrived,
    },
    "in a tool that ignores the signal": {
      script: calls("hold"),
      options: { tools: [createHold(here, new Promise(() => undefined))] },
      arrive: (_, arrived) => arrived,
    },
    "waiting for approve": {
      script: calls("remove", { path: "/a" }),
      options: {
        approve: () => {
          here();
          return new Promise(() => undefined);
        },
      },
      arrive: (_, arrived) => arrived,
    },
    "waiting for approval by another process": {
      script: calls("remove", { path: "/a" }),
      options: { approve: "wait" },
      arrive: ({ log }) => waitUntil(log, async () => hasRecord(log, "tool_approval"), SESSION),
    },
  };
}

/** A tool that reports its call, and returns when released or aborted. */
function createHold(here: () => void, until?: Promise<unknown>): Tool {
  return defineTool({
    name: "hold",
    description: "Holds.",
    input: z.object({}),
    execute: async (_, { signal }) => {
      here();
      await (until ??
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        }));
      return "held";
    },
  });
}

async function hasRecord(log: FacadeFixture["log"], type: string): Promise<boolean> {
  if ((await log.getSession(SESSION)) === undefined) return false;
  const { records } = await log.read(SESSION, { after: 0 });
  return records.some(({ event }) => event.type === type);
}

/** A call of `run` or `stream`, settled. */
function call(fixture: FacadeFixture, path: "run" | "stream", options: AgentCallOptions) {
  if (path === "stream") return collect(fixture.agent.stream("Go", options));
  return failureOf(fixture.agent.run("Go", options)).then((error) => ({ events: [], error }));
}

const paths = ["run", "stream"] as const;
const names = Object.keys(createPlaces(() => undefined));

describe("an aborted call", () => {
  it.each(paths.flatMap((path) => names.map((name) => [path, name] as const)))("by %s, %s", async (path, name) => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const place = createPlaces(resolve)[name] as Place;
    const log = await createLog();
    await log.createSession(SESSION);
    const fixture = await createFacadeFixture(place.script, { log, ...place.options });
    const timers = countTimers();
    const aborter = new AbortController();
    const pending = call(fixture, path, { sessionId: SESSION, requestId: "r1", signal: aborter.signal });
    await place.arrive(fixture, arrived);
    const reason = new Error("no longer needed");
    aborter.abort(reason);
    const { events, error } = await pending;
    if (path === "run") {
      expect(error).toMatchObject({
        code: "cancelled",
        cause: reason,
        details: { request_id: "r1", session_id: SESSION },
      });
    } else {
      expect(error).toBeUndefined();
      expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "cancelled", request_id: "r1" });
    }
    for (const { abortSignal } of fixture.model.requests.slice(-1)) {
      const isAsked = name.includes("model");
      if (isAsked) expect(abortSignal?.aborted).toBe(true);
    }
    await expectNothingLeft(log, aborter.signal);
    expect(countTimers()).toBeLessThanOrEqual(timers);
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["cancelled"]);
  });

  it.each(paths)("by %s, before it starts", async (path) => {
    const fixture = await createFacadeFixture([]);
    const reason = new Error("never mind");
    const { events, error } = await call(fixture, path, { signal: AbortSignal.abort(reason) });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled", cause: reason });
    expect(await fixture.log.listSessions()).toEqual([]);
  });

  it.each(paths)("by %s, while its session is being opened", async (path) => {
    const log = await createLog();
    const aborter = new AbortController();
    const slow = new Proxy(log, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        if (key !== "acquire") return value.bind(target) as unknown;
        return async (...args: Parameters<typeof log.acquire>) => {
          const lease = await target.acquire(...args);
          aborter.abort();
          return lease;
        };
      },
    });
    const fixture = await createFacadeFixture([], { log: slow });
    const { events, error } = await call(fixture, path, { sessionId: SESSION, signal: aborter.signal });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled" });
    expect(await log.listRuns(SESSION)).toEqual([]);
    await expectNothingLeft(log, aborter.signal);
  });

  it.each(paths)("by %s, while it waits for another run", async (path) => {
    const { promise: hold, resolve: release } = Promise.withResolvers<void>();
    const fixture = await createFacadeFixture((_, turn) =>
      turn === 0 ? { text: "First.", until: hold } : { text: "Third." },
    );
    const { log } = fixture;
    await log.createSession(SESSION);
    const first = fixture.agent.run("First", { sessionId: SESSION });
    await waitUntil(log, async () => (await log.listRuns(SESSION)).length === 1, SESSION);
    const aborter = new AbortController();
    const second = call(fixture, path, { sessionId: SESSION, signal: aborter.signal });
    await new Promise(setImmediate);
    const third = fixture.agent.run("Third", { sessionId: SESSION });
    aborter.abort();
    const { events, error } = await second;
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled" });
    release();
    expect([(await first).reply, (await third).reply]).toEqual(["First.", "Third."]);
    await expectNothingLeft(log, aborter.signal);
    expect(await log.listRuns(SESSION)).toHaveLength(2);
  });

  it.each(paths)("by %s, at the moment its run starts", async (path) => {
    const aborter = new AbortController();
    const log = wrapLog(await createLog());
    log.onAppend = (batch, next) => {
      if (batch.entries.some(({ record }) => record.event.type === "run_start")) aborter.abort();
      return next();
    };
    const fixture = await createFacadeFixture([{ text: "Too late." }], { log });
    const { error, events } = await call(fixture, path, { sessionId: SESSION, signal: aborter.signal });
    if (path === "run") expect(error).toMatchObject({ code: "cancelled" });
    else expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "cancelled" });
    await expectNothingLeft(log, aborter.signal);
    expect(fixture.model.requests).toEqual([]);
  });

  it("is not affected by an abort after its end", async () => {
    const fixture = await createFacadeFixture([{ text: "Hello." }, { text: "Again." }]);
    const aborter = new AbortController();
    const { reply } = await fixture.agent.run("Hi", { sessionId: SESSION, signal: aborter.signal });
    await expectNothingLeft(fixture.log, aborter.signal);
    aborter.abort();
    expect([reply, (await fixture.agent.run("Hi", { sessionId: SESSION })).reply]).toEqual(["Hello.", "Again."]);
  });
});

describe("calls aborted at any time", () => {
  it("leave nothing open and do not affect other calls", async () => {
    const calling: Script = ({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? { text: "Done, I think." } : { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    const moment = fc.record({ path: fc.constantFrom(...paths), turns: fc.nat({ max: 60 }), isLate: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 4 }), async (moments) => {
        const fixture = await createFacadeFixture(calling);
        const { log } = fixture;
        const others = [fixture.agent.run("First", { sessionId: SESSION })];
        const aborters = moments.map(() => new AbortController());
        const pending = moments.map(async ({ path, turns, isLate }, index) => {
          const { signal } = aborters[index] as AbortController;
          const outcome =
            path === "stream"
              ? collect(fixture.agent.stream("Go", { sessionId: SESSION, signal }))
              : fixture.agent.run("Go", { sessionId: SESSION, signal }).catch((error: unknown) => ({ error }));
          for (let turn = 0; turn < turns; turn++) await (isLate ? new Promise(setImmediate) : undefined);
          aborters[index]?.abort();
          return outcome;
        });
        others.push(fixture.agent.run("Last", { sessionId: SESSION }));
        for (const outcome of await Promise.all(pending)) {
          const code = "error" in outcome && isLoomError(outcome.error) ? outcome.error.code : undefined;
          expect([undefined, "cancelled"]).toContain(code);
          // An answer, an error, or all events: never nothing.
          if ("events" in outcome && code === undefined) expect(outcome.events.at(-1)?.type).toBe("agent_finish");
        }
        for (const { reply } of await Promise.all(others)) expect(reply).toBe("Done, I think.");
        for (const { signal } of aborters) await expectNothingLeft(log, signal);
        await fixture.agent.close();
      }),
      { numRuns: SAMPLES.pairs, seed: 48 },
    );
  });
});

describe("a call whose log fails", () => {
  it.each(paths)("by %s: reports the error and ends the run", async (path) => {
    const log = wrapLog(await createLog());
    let isBroken = false;
    log.onAppend = async (batch, next) => {
      isBroken ||= batch.entries.some(({ record }) => record.event.type === "message_chunk");
      if (!isBroken) return next();
      isBroken = false;
      log.onAppend = undefined;
      throw new LoomError("store_failed", "the disk is gone");
    };
    const fixture = await createFacadeFixture([{ text: "One two three" }], { log });
    const { error, events } = await call(fixture, path, { sessionId: SESSION });
    expect(error).toMatchObject({ code: "store_failed", details: { session_id: SESSION } });
    if (path === "stream") expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "error" });
    await expectNothingLeft(log);
    expect((await log.listRuns(SESSION)).map(({ status, code }) => [status, code])).toEqual([
      ["error", "store_failed"],
    ]);
  });

  it.each(paths)("by %s: reports the error even if the end cannot be written", async (path) => {
    const log = wrapLog(await createLog());
    log.onAppend = (batch, next) => {
      if (!batch.entries.some(({ record }) => record.event.type === "message_chunk")) return next();
      log.onAppend = () => Promise.reject(new LoomError("store_failed", "the disk is gone"));
      return log.onAppend(batch, next);
    };
    const fixture = await createFacadeFixture([{ text: "One two three" }], { log });
    const timers = countTimers();
    const { error, events } = await call(fixture, path, { sessionId: SESSION });
    expect(error).toMatchObject({ code: "store_failed", details: { session_id: SESSION } });
    expect(events.map(({ type }) => type)).not.toContain("agent_finish");
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    expect(countTimers()).toBeLessThanOrEqual(timers);
  });

  it.each(paths.flatMap((path) => (["end", "leave"] as const).map((deadRuns) => [path, deadRuns] as const)))(
    "by %s: reports that another writer took over the session, whose dead runs %s",
    async (path, deadRuns) => {
      const { promise: arrived, resolve: here } = Promise.withResolvers<void>();
      const { promise: until, resolve: release } = Promise.withResolvers<void>();
      const fixture = await createFacadeFixture(calls("hold"), { tools: [createHold(here, until)] });
      const { log } = fixture;
      const pending = call(fixture, path, { sessionId: SESSION });
      await arrived;
      const other = await openSession(log, SESSION, { takeover: true, deadRuns });
      release();
      const { error, events } = await pending;
      // The end of the run is the one that the other writer wrote.
      const isEnded = path === "stream" && deadRuns === "end";
      if (isEnded) expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "error" });
      else expect(events.map(({ type }) => type)).not.toContain("agent_finish");
      expect(error).toMatchObject({ code: "fenced" });
      await other.close();
      expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    },
  );

  it.each(paths)("by %s: is rejected if another process writes the session and it may not wait", async (path) => {
    const fixture = await createFacadeFixture([], { sessionWaitMs: 0 });
    await using _held = await openSession(fixture.log, SESSION);
    for (const whenBusy of [undefined, "enqueue", "reject", "interrupt"] as const) {
      const { error } = await call(fixture, path, { sessionId: SESSION, ...(whenBusy && { whenBusy }) });
      expect(error).toMatchObject({ code: "lease_held" });
    }
  });

  it("waits while another process writes the session: all calls of two agents run, one at a time", async () => {
    const one = await createFacadeFixture(() => ({ text: "x" }));
    const two = await createFacadeFixture(() => ({ text: "x" }), { log: one.log });
    const calls = Array.from({ length: 20 }, (_, index) =>
      [one, two][index % 2]!.agent.run(`${index}`, { sessionId: SESSION }),
    );
    const results = await Promise.all(calls);
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => "completed"));
    await expectNothingLeft(one.log);
  });

  it("reports a long wait for another process once, and is rejected at the end of it", async () => {
    const onError = vi.fn();
    const { agent: actor, log } = await createFacadeFixture([], { onError, sessionWaitMs: 30_000 });
    await using _held = await openSession(log, SESSION);
    // A second in each 10 ms of the event loop: no step of the call misses ten of them.
    let ms = 0;
    const now = vi.spyOn(performance, "now").mockImplementation(() => ms);
    const clock = setInterval(() => (ms += 1000), 10);
    onTestFinished(() => {
      clearInterval(clock);
      now.mockRestore();
    });
    expect(await failureOf(actor.run("x", { sessionId: SESSION }))).toMatchObject({ code: "lease_held" });
    expect(onError.mock.calls.map(([error]) => error as unknown)).toMatchObject([{ code: "lease_held" }]);
  });

  it("can be cancelled while it waits for another process", async () => {
    const { agent: actor, log } = await createFacadeFixture([]);
    await using _held = await openSession(log, SESSION);
    const abort = new AbortController();
    const attempts = vi.spyOn(log, "acquire");
    onTestFinished(() => attempts.mockRestore());
    const run = failureOf(actor.run("x", { sessionId: SESSION, signal: abort.signal }));
    await vi.waitUntil(() => attempts.mock.calls.length > 1);
    abort.abort();
    expect(await run).toMatchObject({ code: "cancelled" });
  });

  it.each([1, 2])(
    "does not wait for a run around it, which another agent executes %i level(s) above",
    async (levels) => {
      const inner = await createFacadeFixture([]);
      const nested: unknown[] = [];
      const nest = (execute: () => Promise<unknown>) =>
        defineTool({ name: "nest", description: "Calls the next agent", input: z.object({}), execute });
      const last = nest(async () => {
        nested.push(await failureOf(inner.agent.run("x", { sessionId: SESSION })));
        return "done";
      });
      const middle = await createFacadeFixture(calls("nest"), { tools: [last] });
      const first = levels === 1 ? last : nest(async () => (await middle.agent.run("x")).reply);
      const outer = await createFacadeFixture(calls("nest"), { log: inner.log, tools: [first] });
      await outer.agent.run("x", { sessionId: SESSION });
      expect(nested).toMatchObject([{ code: "lease_held" }]);
    },
  );
});
