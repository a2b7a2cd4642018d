// Calls that end early, wherever they are: each leaves nothing running and nothing open.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  collect,
  countTimers,
  expectNothingLeft,
  failureOf,
  type FacadeStage,
  setFacade,
} from "../../test/agents/facade-stage.ts";
import { SAMPLES } from "../../test/sampling.ts";
import { createLog, waitUntil, wrapLog } from "../engine/sender.contract.ts";
import { openSession } from "../engine/index.ts";
import type { Script } from "../models/scripted-model.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentOptions } from "./agent.ts";
import type { AskOptions } from "./ask.ts";

const SESSION = "chat-1";
const calls = (name: string, input = {}): Script => [{ calls: [{ name, input, id: "c1" }] }, { text: "Done." }];
const stalls: Script = [{ text: "One two three", fault: { kind: "stall", after: 1 } }];

interface Place {
  readonly script: Script;
  readonly options?: Partial<AgentOptions>;
  /** Resolves when the call is there. */
  arrive(stage: FacadeStage, arrived: Promise<void>): Promise<unknown>;
}

/** Places a call can be at, and how one knows; `here` is told by what the agent was given. */
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
    "at the model, which says nothing": {
      script: () => {
        here();
        return { fault: { kind: "stall" } };
      },
      arrive: (_, arrived) => arrived,
    },
    "at the model, in the middle of a word": {
      script: stalls,
      arrive: ({ log }) => waitUntil(log, async () => ((await log.getSession(SESSION))?.lastId ?? 0) > 5, SESSION),
    },
    "in a tool": {
      script: calls("hold"),
      options: { tools: [createHold(here)] },
      arrive: (_, arrived) => arrived,
    },
    "in a tool that does not listen": {
      script: calls("hold"),
      options: { tools: [createHold(here, new Promise(() => undefined))] },
      arrive: (_, arrived) => arrived,
    },
    "waiting for the program's consent": {
      script: calls("remove", { path: "/a" }),
      options: {
        approve: () => {
          here();
          return new Promise(() => undefined);
        },
      },
      arrive: (_, arrived) => arrived,
    },
    "waiting for somebody else's consent": {
      script: calls("remove", { path: "/a" }),
      options: { approve: "wait" },
      arrive: ({ log }) => waitUntil(log, async () => hasRecord(log, "tool_approval"), SESSION),
    },
  };
}

/** A tool that says that it was called, and goes on when it is let, or when it is told to stop. */
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

async function hasRecord(log: FacadeStage["log"], type: string): Promise<boolean> {
  if ((await log.getSession(SESSION)) === undefined) return false;
  const { records } = await log.read(SESSION, { after: 0 });
  return records.some(({ event }) => event.type === type);
}

/** A call by either path, as what came of it. */
function call(stage: FacadeStage, path: "run" | "stream", options: AskOptions) {
  if (path === "stream") return collect(stage.agent.stream("Go", options));
  return failureOf(stage.agent.run("Go", options)).then((error) => ({ events: [], error }));
}

const paths = ["run", "stream"] as const;
const names = Object.keys(createPlaces(() => undefined));

describe("a call that is aborted", () => {
  it.each(paths.flatMap((path) => names.map((name) => [path, name] as const)))("by %s, %s", async (path, name) => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const place = createPlaces(resolve)[name] as Place;
    const log = await createLog();
    await log.createSession(SESSION);
    const stage = await setFacade(place.script, { log, ...place.options });
    const timers = countTimers();
    const aborter = new AbortController();
    const going = call(stage, path, { sessionId: SESSION, requestId: "r1", signal: aborter.signal });
    await place.arrive(stage, arrived);
    const reason = new Error("no longer needed");
    aborter.abort(reason);
    const { events, error } = await going;
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
    for (const { abortSignal } of stage.model.requests.slice(-1)) {
      const isAsked = name.includes("model");
      if (isAsked) expect(abortSignal?.aborted).toBe(true);
    }
    await expectNothingLeft(log, aborter.signal);
    expect(countTimers()).toBeLessThanOrEqual(timers);
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["cancelled"]);
  });

  it.each(paths)("by %s, before it begins", async (path) => {
    const stage = await setFacade([]);
    const reason = new Error("never mind");
    const { events, error } = await call(stage, path, { signal: AbortSignal.abort(reason) });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled", cause: reason });
    expect(await stage.log.listSessions()).toEqual([]);
  });

  it.each(paths)("by %s, while its session is opened", async (path) => {
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
    const stage = await setFacade([], { log: slow });
    const { events, error } = await call(stage, path, { sessionId: SESSION, signal: aborter.signal });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled" });
    expect(await log.listRuns(SESSION)).toEqual([]);
    await expectNothingLeft(log, aborter.signal);
  });

  it.each(paths)("by %s, behind another run", async (path) => {
    const { promise: hold, resolve: letGo } = Promise.withResolvers<void>();
    const stage = await setFacade((_, turn) => (turn === 0 ? { text: "First.", until: hold } : { text: "Third." }));
    const { log } = stage;
    await log.createSession(SESSION);
    const first = stage.agent.run("First", { sessionId: SESSION });
    await waitUntil(log, async () => (await log.listRuns(SESSION)).length === 1, SESSION);
    const aborter = new AbortController();
    const second = call(stage, path, { sessionId: SESSION, signal: aborter.signal });
    await new Promise(setImmediate);
    const third = stage.agent.run("Third", { sessionId: SESSION });
    aborter.abort();
    const { events, error } = await second;
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "cancelled" });
    letGo();
    expect([(await first).reply, (await third).reply]).toEqual(["First.", "Third."]);
    await expectNothingLeft(log, aborter.signal);
    expect(await log.listRuns(SESSION)).toHaveLength(2);
  });

  it.each(paths)("by %s, at the very moment its run begins", async (path) => {
    const aborter = new AbortController();
    const log = wrapLog(await createLog());
    log.onAppend = (batch, next) => {
      if (batch.entries.some(({ record }) => record.event.type === "run_start")) aborter.abort();
      return next();
    };
    const stage = await setFacade([{ text: "Too late." }], { log });
    const { error, events } = await call(stage, path, { sessionId: SESSION, signal: aborter.signal });
    if (path === "run") expect(error).toMatchObject({ code: "cancelled" });
    else expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "cancelled" });
    await expectNothingLeft(log, aborter.signal);
    expect(stage.model.requests).toEqual([]);
  });

  it("is not harmed by an abort that comes too late", async () => {
    const stage = await setFacade([{ text: "Hello." }, { text: "Again." }]);
    const aborter = new AbortController();
    const { reply } = await stage.agent.run("Hi", { sessionId: SESSION, signal: aborter.signal });
    await expectNothingLeft(stage.log, aborter.signal);
    aborter.abort();
    expect([reply, (await stage.agent.run("Hi", { sessionId: SESSION })).reply]).toEqual(["Hello.", "Again."]);
  });
});

describe("calls that are aborted at any time", () => {
  it("leave nothing, and harm none of the others", async () => {
    const calling: Script = ({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? { text: "Done, I think." } : { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    const moment = fc.record({ path: fc.constantFrom(...paths), turns: fc.nat({ max: 60 }), isLate: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 4 }), async (moments) => {
        const stage = await setFacade(calling);
        const { log } = stage;
        const others = [stage.agent.run("First", { sessionId: SESSION })];
        const aborters = moments.map(() => new AbortController());
        const going = moments.map(async ({ path, turns, isLate }, index) => {
          const { signal } = aborters[index] as AbortController;
          const told =
            path === "stream"
              ? collect(stage.agent.stream("Go", { sessionId: SESSION, signal }))
              : stage.agent.run("Go", { sessionId: SESSION, signal }).catch((error: unknown) => ({ error }));
          for (let turn = 0; turn < turns; turn++) await (isLate ? new Promise(setImmediate) : undefined);
          aborters[index]?.abort();
          return told;
        });
        others.push(stage.agent.run("Last", { sessionId: SESSION }));
        for (const told of await Promise.all(going)) {
          const code = "error" in told && isLoomError(told.error) ? told.error.code : undefined;
          expect([undefined, "cancelled"]).toContain(code);
          // An answer, an error, or events to the last: never nothing.
          if ("events" in told && code === undefined) expect(told.events.at(-1)?.type).toBe("agent_finish");
        }
        for (const { reply } of await Promise.all(others)) expect(reply).toBe("Done, I think.");
        for (const { signal } of aborters) await expectNothingLeft(log, signal);
        await stage.agent.close();
      }),
      { numRuns: SAMPLES.pairs, seed: 48 },
    );
  });
});

describe("a call whose log fails", () => {
  it.each(paths)("by %s: says so, and the run is over all the same", async (path) => {
    const log = wrapLog(await createLog());
    let isBroken = false;
    log.onAppend = async (batch, next) => {
      isBroken ||= batch.entries.some(({ record }) => record.event.type === "message_chunk");
      if (!isBroken) return next();
      isBroken = false;
      log.onAppend = undefined;
      throw new LoomError("store_failed", "the disk is gone");
    };
    const stage = await setFacade([{ text: "One two three" }], { log });
    const { error, events } = await call(stage, path, { sessionId: SESSION });
    if (path === "run") expect(error).toMatchObject({ code: "store_failed", details: { session_id: SESSION } });
    else expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "error" });
    await expectNothingLeft(log);
    expect((await log.listRuns(SESSION)).map(({ status, code }) => [status, code])).toEqual([
      ["error", "store_failed"],
    ]);
  });

  it.each(paths)("by %s: says so where the end cannot be written either", async (path) => {
    const log = wrapLog(await createLog());
    log.onAppend = (batch, next) => {
      if (!batch.entries.some(({ record }) => record.event.type === "message_chunk")) return next();
      log.onAppend = () => Promise.reject(new LoomError("store_failed", "the disk is gone"));
      return log.onAppend(batch, next);
    };
    const stage = await setFacade([{ text: "One two three" }], { log });
    const timers = countTimers();
    const { error, events } = await call(stage, path, { sessionId: SESSION });
    expect(error).toMatchObject({ code: "store_failed", details: { session_id: SESSION } });
    expect(events.map(({ type }) => type)).not.toContain("agent_finish");
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    expect(countTimers()).toBeLessThanOrEqual(timers);
  });

  it.each(paths.flatMap((path) => (["end", "leave"] as const).map((deadRuns) => [path, deadRuns] as const)))(
    "by %s: a session that passed to another writer, whose dead runs %s",
    async (path, deadRuns) => {
      const { promise: arrived, resolve: here } = Promise.withResolvers<void>();
      const { promise: until, resolve: letGo } = Promise.withResolvers<void>();
      const stage = await setFacade(calls("hold"), { tools: [createHold(here, until)] });
      const { log } = stage;
      const going = call(stage, path, { sessionId: SESSION });
      await arrived;
      const other = await openSession(log, SESSION, { takeover: true, deadRuns });
      letGo();
      const { error, events } = await going;
      // What the other writer has written of the run is its end.
      const isEnded = path === "stream" && deadRuns === "end";
      if (isEnded) expect(events.at(-1)).toMatchObject({ type: "agent_finish", status: "error" });
      else expect(events.map(({ type }) => type)).not.toContain("agent_finish");
      if (isEnded) expect(error).toBeUndefined();
      else expect(error).toMatchObject({ code: "fenced" });
      await other.close();
      expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    },
  );

  it.each(paths)("by %s: a session somebody else writes", async (path) => {
    const stage = await setFacade([]);
    await using _held = await openSession(stage.log, SESSION);
    const { error } = await call(stage, path, { sessionId: SESSION });
    expect(error).toMatchObject({ code: "lease_held" });
  });
});
