import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { callOf, createToolRecorder, type ToolRecorder, run, toolOf } from "../../test/tool-recorder.ts";
import { LoomError } from "../protocol/index.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";
import type { ToolApprovalAnswer, ToolHost } from "./tool-host.ts";
import type { Tool } from "./tool.ts";

describe("the end of a run", () => {
  const stop = new Error("cancelled by the user");

  it.each<[string, (host: ToolRecorder) => Tool, Partial<ToolHost>]>([
    ["while the tool runs", () => toolOf(() => new Promise(() => undefined)), {}],
    [
      "while the approval policy runs",
      () => toolOf(() => 1, { approval: () => new Promise<boolean>(() => undefined) }),
      {},
    ],
    [
      "while approval is pending",
      () => toolOf(() => 1, { approval: "always" }),
      { requestApproval: () => new Promise(() => undefined) },
    ],
    ["before the start is durable", () => toolOf(() => 1), { emit: () => new Promise(() => undefined) }],
    [
      "while the log is full",
      () => toolOf((_input, { print }) => print("x".repeat(500_000))),
      { ready: () => new Promise(() => undefined) },
    ],
  ])("rejects the call at once: %s", async (_name, make, more) => {
    const host = createToolRecorder(more);
    const done = run(make(host), host);
    await turn();
    host.abort.abort(stop);
    await expect(done).rejects.toBe(stop);
    expect(host.types()).not.toContain("tool_end");
    expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
  });

  it("rejects a call before it starts", async () => {
    const host = createToolRecorder();
    host.abort.abort(stop);
    await expect(
      run(
        toolOf(() => 1),
        host,
      ),
    ).rejects.toBe(stop);
    expect(host.events).toEqual([]);
  });

  it("requests no approval if it comes during validation", async () => {
    const checked = Promise.withResolvers<{ ok: true; value: unknown }>();
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 1 } }));
    const host = createToolRecorder({ requestApproval: asked });
    const done = run({ ...toolOf(() => 1, { approval: "always" }), validate: () => checked.promise }, host);
    host.abort.abort(stop);
    await expect(done).rejects.toBe(stop);
    checked.resolve({ ok: true, value: { n: 1 } });
    await turn();
    expect(asked).not.toHaveBeenCalled();
  });

  it("clears all timers", async () => {
    vi.useFakeTimers();
    try {
      const host = createToolRecorder();
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

  it("aborts the signal of the tool with the same reason, and ignores later output", async () => {
    const host = createToolRecorder();
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

  it("frees the slot of a waiting and of a running call", async () => {
    const toolbox = createToolbox([
      toolOf(({ n }) => (n === 1 ? new Promise(() => undefined) : "ran"), { concurrency: 1 }),
    ]);
    const [first, second, third] = [createToolRecorder(), createToolRecorder(), createToolRecorder()];
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

  it.each(["tool_start", "tool_output", "tool_end"])("rejects if %s cannot be written", async (type) => {
    const failure = new LoomError("store_failed", "disk full");
    for (const isLate of [false, true]) {
      const host = createToolRecorder({
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

it("leaves no listeners after 10,000 calls of one run", async () => {
  const host = createToolRecorder({ emit: () => undefined });
  const toolbox = createToolbox([toolOf(({ n }, { print }) => print(`${n}`), { concurrency: 3 })]);
  for (let n = 0; n < 10_000; n += 10)
    await Promise.all(Array.from({ length: 10 }, (_, i) => runToolCall(callOf({ n: n + i }), toolbox, host)));
  expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
});
