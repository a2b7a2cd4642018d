import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { callOf, record, type Recording, run, toolOf } from "../../test/tool-recorder.ts";
import { LoomError } from "../protocol/index.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";
import type { ToolApprovalAnswer, ToolHost } from "./tool-host.ts";
import type { Tool } from "./tool.ts";

describe("a run that ends", () => {
  const stop = new Error("cancelled by the user");

  it.each<[string, (host: Recording) => Tool, Partial<ToolHost>]>([
    ["in the tool", () => toolOf(() => new Promise(() => undefined)), {}],
    ["in the policy", () => toolOf(() => 1, { approval: () => new Promise<boolean>(() => undefined) }), {}],
    [
      "while the user is asked",
      () => toolOf(() => 1, { approval: "always" }),
      { requestApproval: () => new Promise(() => undefined) },
    ],
    ["before the start is durable", () => toolOf(() => 1), { emit: () => new Promise(() => undefined) }],
    [
      "while the log is full",
      () => toolOf((_input, { print }) => print("x".repeat(500_000))),
      { ready: () => new Promise(() => undefined) },
    ],
  ])("%s stops the wait at once", async (_name, make, more) => {
    const host = record(more);
    const done = run(make(host), host);
    await turn();
    host.abort.abort(stop);
    await expect(done).rejects.toBe(stop);
    expect(host.types()).not.toContain("tool_end");
    expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
  });

  it("before the call begins it not", async () => {
    const host = record();
    host.abort.abort(stop);
    await expect(
      run(
        toolOf(() => 1),
        host,
      ),
    ).rejects.toBe(stop);
    expect(host.events).toEqual([]);
  });

  it("while arguments are checked asks nobody any more", async () => {
    const checked = Promise.withResolvers<{ ok: true; value: unknown }>();
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 1 } }));
    const host = record({ requestApproval: asked });
    const done = run({ ...toolOf(() => 1, { approval: "always" }), validate: () => checked.promise }, host);
    host.abort.abort(stop);
    await expect(done).rejects.toBe(stop);
    checked.resolve({ ok: true, value: { n: 1 } });
    await turn();
    expect(asked).not.toHaveBeenCalled();
  });

  it("leaves no timer behind", async () => {
    vi.useFakeTimers();
    try {
      const host = record();
      const tools = [
        toolOf(() => 1, { approval: () => new Promise<boolean>(() => undefined) }),
        toolOf(() => new Promise(() => undefined)),
      ];
      for (const tool of tools) run(tool, host).catch(() => undefined);
      await vi.advanceTimersByTimeAsync(1);
      expect(vi.getTimerCount()).toBe(2);
      host.abort.abort(stop);
      await vi.advanceTimersByTimeAsync(1);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("aborts the tool's signal with the same reason, and what the tool does then is not heard", async () => {
    const host = record();
    let seen: unknown;
    const tool = toolOf(async (_input, { signal, print }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      seen = signal.reason;
      print("late");
      return "late";
    });
    const done = run(tool, host);
    await turn();
    host.abort.abort(stop);
    await expect(done).rejects.toBe(stop);
    await turn();
    expect(seen).toBe(stop);
    expect(host.types()).toEqual(["tool_start"]);
  });

  it("frees the place of a call that waits, and of one that runs", async () => {
    const toolbox = createToolbox([
      toolOf(({ n }) => (n === 1 ? new Promise(() => undefined) : "ran"), { concurrency: 1 }),
    ]);
    const [first, second, third] = [record(), record(), record()];
    const calls = [runToolCall(callOf({ n: 1 }), toolbox, first), runToolCall(callOf({ n: 2 }), toolbox, second)];
    const last = runToolCall(callOf({ n: 3 }), toolbox, third);
    await turn();
    second.abort.abort(stop);
    await expect(calls[1]).rejects.toBe(stop);
    expect(third.events).toEqual([]);
    first.abort.abort(stop);
    await expect(calls[0]).rejects.toBe(stop);
    expect((await last).result).toBe("ran");
  });

  it.each(["tool_start", "tool_output", "tool_end"])("is not hidden where %s cannot be written", async (type) => {
    const failure = new LoomError("store_failed", "disk full");
    for (const isLate of [false, true]) {
      const host = record({
        emit: (event) => {
          if (event.type !== type) return undefined;
          if (isLate) return Promise.reject(failure);
          throw failure;
        },
      });
      const tool = toolOf(async (_input, { print }) => {
        print("x");
        await turn();
        return "done";
      });
      await expect(run(tool, host)).rejects.toBe(failure);
    }
  });
});

it("leaves nothing behind over 10,000 calls of one run", async () => {
  const host = record({ emit: () => undefined });
  const toolbox = createToolbox([toolOf(({ n }, { print }) => print(`${n}`), { concurrency: 3 })]);
  for (let n = 0; n < 10_000; n += 10)
    await Promise.all(Array.from({ length: 10 }, (_, i) => runToolCall(callOf({ n: n + i }), toolbox, host)));
  expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
});
