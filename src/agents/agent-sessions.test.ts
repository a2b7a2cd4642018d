// Which sessions calls use, what they share and how much is kept.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { expectNothingLeft, failureOf, createFacadeFixture } from "../../test/agents/facade-fixture.ts";
import { createLog } from "../../test/contracts/sender.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { ScriptedRequest } from "../models/scripted-model.ts";
import { agent } from "./agent.ts";
import { LONG } from "../../test/sampling.ts";

/** Answers with the number of messages in its prompt. */
const counts = ({ prompt }: ScriptedRequest) => ({ text: `${prompt.length}` });

describe("sessions of calls", () => {
  it("without a name are separate and discarded", async () => {
    await using actor = agent({ model: new ScriptedModel(counts) });
    const [one, two] = [await actor.run("a"), await actor.run("b")];
    expect([one.reply, two.reply]).toEqual(["1", "1"]);
    expect(one.sessionId).not.toBe(two.sessionId);
  });

  it("with a name continue, even without a log", async () => {
    await using actor = agent({ model: new ScriptedModel(counts) });
    const replies = [];
    for (const message of ["a", "b", "c"]) replies.push((await actor.run(message, { sessionId: "s" })).reply);
    expect(replies).toEqual(["1", "3", "5"]);
  });

  it("are written to the given log, named or not", async () => {
    const { agent: actor, log } = await createFacadeFixture(counts);
    const { sessionId } = await actor.run("a");
    await actor.run("b", { sessionId: "s" });
    expect((await log.listSessions()).map((info) => info.sessionId).toSorted()).toEqual([sessionId, "s"].toSorted());
    await expectNothingLeft(log);
  });

  it("are opened once for concurrent calls, which take turns", async () => {
    const inner = await createLog();
    let opened = 0;
    const log = new Proxy(inner, {
      get(target, key) {
        if (key === "acquire") opened++;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const { agent: actor } = await createFacadeFixture(counts, { log });
    const ask = (message: string) => actor.run(message, { sessionId: "s" });
    const together = await Promise.all(["a", "b", "c", "d"].map(ask));
    expect(together.map(({ reply }) => reply)).toEqual(["1", "3", "5", "7"]);
    expect(opened).toBe(1);
    await ask("e");
    expect(opened).toBe(2);
    await expectNothingLeft(inner);
  });

  it("survive calls that arrive while the last one is released", async () => {
    const { agent: actor, log } = await createFacadeFixture(counts);
    const replies: string[] = [];
    const chain = async (length: number): Promise<void> => {
      for (let n = 0; n < length; n++) replies.push((await actor.run("x", { sessionId: "s" })).reply);
    };
    await Promise.all([chain(20), chain(20), chain(20)]);
    expect(replies.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => 2 * n + 1));
    await expectNothingLeft(log);
  });

  it("are limited in number: the least recently used is evicted", async () => {
    await using actor = agent({ model: new ScriptedModel(counts), memory: { maxSessions: 2 } });
    const ask = async (sessionId: string): Promise<string> => (await actor.run("x", { sessionId })).reply;
    expect([await ask("a"), await ask("b"), await ask("a"), await ask("c")]).toEqual(["1", "1", "3", "1"]);
    // `b` was evicted, and its return evicts `a`.
    expect([await ask("b"), await ask("c"), await ask("a")]).toEqual(["1", "3", "1"]);
  });

  it("are not evicted while in use", async () => {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    await using actor = agent({ model: new ScriptedModel(() => ({ text: "x", until })), memory: { maxSessions: 1 } });
    const pending = actor.run("x", { sessionId: "a" });
    expect(await failureOf(actor.run("x", { sessionId: "b" }))).toMatchObject({ code: "too_many_open" });
    resolve();
    await pending;
    expect(await actor.run("x", { sessionId: "b" })).toMatchObject({ reply: "x" });
  });

  it("are limited in bytes: the oldest runs are removed", async () => {
    const model = new ScriptedModel(({ prompt }) => ({ text: `${prompt.length}${" ".repeat(10_000)}`, chunk: 20_000 }));
    await using actor = agent({ model, memory: { maxBytes: 60_000 } });
    let reply = "";
    for (let n = 0; n < 20; n++) ({ reply } = await actor.run("x", { sessionId: "s" }));
    expect(Number(reply)).toBeLessThan(10);
    expect(Number(reply)).toBeGreaterThan(1);
  });

  it.runIf(LONG)("can be garbage-collected", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const text = "x".repeat(200_000);
    const model = new ScriptedModel(() => ({ text, chunk: 200_000 }), { maxRequests: 1 });
    await using actor = agent({ model });
    const measure = async (): Promise<number> => {
      for (let n = 0; n < 12; n++) await actor.run("x");
      await new Promise(setImmediate);
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = await measure();
    // Together they have 2.4 million characters, and more in their records.
    expect((await measure()) - before).toBeLessThan(2_000_000);
  });

  it("are limited to a number of simultaneous calls", async () => {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    const { agent: actor } = await createFacadeFixture(() => ({ text: "x", until }), { maxCalls: 2 });
    const pending = [actor.run("a"), actor.run("b")];
    expect(await failureOf(actor.run("c"))).toMatchObject({ code: "too_many_open", details: { limit: 2 } });
    resolve();
    await Promise.all(pending);
    expect(await actor.run("c")).toMatchObject({ reply: "x" });
  });
});
