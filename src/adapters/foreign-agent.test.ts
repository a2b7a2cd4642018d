import { setTimeout } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { MemoryLog } from "../log/index.ts";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { record } from "./record.ts";
import { LONG } from "../../test/sampling.ts";

describe("foreignAgent", () => {
  it("yields the events of its runs", async () => {
    await using helper = foreignAgent(() => fromAsyncIterable(["Hel", "lo"] as never));
    const types: string[] = [];
    for await (const { type } of helper.events("Hi")) types.push(type);
    const chunks = ["message_chunk", "message_chunk"];
    expect(types).toEqual(["run_start", "node_enter", ...chunks, "node_exit", "run_end", "reply"]);
  });

  it.each([true, false])("reports errors to the session, unless it has its own `onError`: %s", async (hasOwn) => {
    const [own, onError] = [vi.fn(), vi.fn()];
    const fail = (): never => {
      throw new Error("the cable is loose");
    };
    await using helper = foreignAgent(fail, hasOwn ? { onError: own } : {});
    await using session = await helper.openSession(new MemoryLog(), "s", { onError });
    await (
      await helper.answer(session, "Hi")
    ).ended;
    const [called, other] = hasOwn ? [own, onError] : [onError, own];
    expect(called).toHaveBeenCalledExactlyOnceWith(new Error("the cable is loose"), expect.any(String));
    expect(other).not.toHaveBeenCalled();
  });

  it("receives the instructions of the client", async () => {
    const received: unknown[] = [];
    await using helper = foreignAgent((_message, context) => {
      received.push(context.instructions);
      return fromAsyncIterable(["Oui."]);
    });
    await helper.run("Is it?", { instructions: "Answer in French." });
    await helper.run("Is it?");
    expect(received).toEqual(["Answer in French.", undefined]);
  });

  it("suggests the option that was probably meant", () => {
    const make = (): unknown => foreignAgent(() => fromAsyncIterable([] as never), { maxIdelMs: 10 } as object);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }));
    expect(make).toThrow("did you mean `maxIdleMs`?");
  });

  it.each([{ maxIdleMs: 0 }, { maxIdleMs: "1" }, { approvalMs: Infinity }])(
    "refuses %j, like `record`",
    async (wrong) => {
      const source = fromAsyncIterable([] as never);
      const [option] = Object.keys(wrong);
      const error = expect.objectContaining({ code: "invalid_arguments", details: { option } }) as Error;
      expect(() => foreignAgent(() => source, wrong as object)).toThrow(error);
      const request = { sessionId: "s", message: "Hi", ...(wrong as object) };
      await expect(record(new MemoryLog(), request, source)).rejects.toThrow(error);
    },
  );

  it.runIf(LONG)("does not read the answer of an attempt that was interrupted, also from a slow log", async () => {
    const log = new MemoryLog();
    const roles: string[] = [];
    const helper = foreignAgent(async (_message, { attempt, conversation }) => {
      roles.push((await conversation()).messages.map(({ role }) => role).join());
      return fromAsyncIterable(attempt === 1 ? hang("Half an answer") : ["An answer"]);
    });
    const first = await helper.openSession(log, "s");
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body: { message: "Hi", run_id: "r" } });
    await vi.waitFor(async () => expect((await log.read("s", { after: 0 })).texts.join()).toContain("Half"), 10_000);
    await log.release(await log.acquire("s", { holder: "other", ttlMs: 1000, takeover: true }));
    await first.closed;
    const append = log.append.bind(log);
    vi.spyOn(log, "append").mockImplementation(async (batch) => {
      await setTimeout(50);
      return append(batch);
    });
    await using _second = await helper.openSession(log, "s");
    await vi.waitFor(async () => expect(await log.getRun("s", "r")).toMatchObject({ status: "completed" }), 10_000);
    expect(roles).toEqual(["user", "user"]);
  });
});

async function* hang(text: string): AsyncGenerator<string> {
  yield text;
  await new Promise(() => undefined);
}
