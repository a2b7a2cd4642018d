import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { callOf, createToolRecorder, type ToolRecorder, run, toolOf } from "../../test/tool-recorder.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import { ConcurrencyLimit } from "../protocol/concurrency-limit.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";
import type { ToolApprovalAnswer } from "./tool-host.ts";
import type { Tool, ToolCallRequest, ToolContext } from "./tool.ts";

describe("a call that runs", () => {
  it("writes its events in order", async () => {
    const host = createToolRecorder();
    const tool = toolOf(({ n }, { print, report, show }) => {
      print("a");
      report(50, "half");
      show({ type: "custom", value: { n } });
      print("b");
      return { n };
    });
    expect(await run(tool, host)).toEqual({
      callId: "c1",
      name: "tool",
      result: '{"n":1}',
      isError: false,
      output: { n: 1 },
    });
    expect(host.events).toEqual([
      { type: "tool_start", call_id: "c1", name: "tool" },
      { type: "tool_output", call_id: "c1", name: "tool", content: "a" },
      { type: "tool_progress", call_id: "c1", name: "tool", progress: 50, message: "half" },
      { type: "custom", value: { n: 1 } },
      { type: "tool_output", call_id: "c1", name: "tool", content: "b" },
      {
        type: "tool_end",
        call_id: "c1",
        name: "tool",
        result: '{"n":1}',
        is_error: false,
        output: { n: 1 },
        duration_ms: 5,
      },
    ]);
  });

  it("starts the tool after tool_start is durable", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const host = createToolRecorder({ emit: () => promise });
    const execute = vi.fn(() => "x");
    const done = run(toolOf(execute), host);
    await turn();
    expect(execute).not.toHaveBeenCalled();
    resolve();
    await done;
    expect(execute).toHaveBeenCalledOnce();
  });

  it("reports an error result without an error event", async () => {
    const host = createToolRecorder();
    const tool: Tool = { ...toolOf(() => ""), execute: async () => ({ text: "no luck", isError: true }) };
    const failed = { callId: "c1", name: "tool", result: "no luck", isError: true, errorCode: "tool_failed" };
    expect(await run(tool, host)).toEqual(failed);
    expect(host.types()).toEqual(["tool_start", "tool_end"]);
  });

  it("accepts any return value of a tool not created by defineTool", async () => {
    for (const value of [undefined, null, 42, "x", { output: 1 }, { text: 5 }, { text: "t", code: "x", thrown: {} }]) {
      const host = createToolRecorder();
      const tool: Tool = { ...toolOf(() => ""), execute: async () => value as never };
      expect((await run(tool, host)).isError).toBe(false);
      expect(host.types()).toEqual(["tool_start", "tool_end"]);
    }
  });

  it("truncates a result that is too long", async () => {
    const host = createToolRecorder();
    const { result } = await run(
      toolOf(() => "x".repeat(50), { maxResultCharacters: 10 }),
      host,
    );
    expect(result).toBe(`${"x".repeat(10)}\n[truncated: showing the first 10 of 50 characters]`);
    const { result: long } = await run(
      toolOf(() => "x".repeat(200_000)),
      createToolRecorder(),
    );
    expect(long).toMatch(/^x{100000}\n\[truncated: showing the first 100000 of 200000 characters]$/);
  });

  it("writes a tool_end that fits into one event", async () => {
    for (const text of ["\u0000".repeat(1_000_000), "龍".repeat(1_000_000), "🙂".repeat(400_000)]) {
      const host = createToolRecorder();
      const tool: Tool = {
        ...toolOf(() => "", { maxResultCharacters: 2 ** 30 }),
        execute: async () => ({ text, output: { text: text.slice(0, 60_000) } }),
      };
      await run(tool, host);
      expect(Buffer.byteLength(JSON.stringify(host.events[1]))).toBeLessThan(1_040_000);
      expect(JSON.stringify(host.events[1])).not.toMatch(/\\ud[89a-f]/);
    }
  });

  it("omits data that is too large for an event", async () => {
    const host = createToolRecorder();
    await run(
      toolOf(() => ({ list: "x".repeat(500_000) })),
      host,
    );
    expect(host.events[1]).not.toHaveProperty("output");
  });
});

describe("a call that does not run", () => {
  const execute = vi.fn(() => "ran");
  const outcomeOf = async (
    call: ToolCallRequest,
    host = createToolRecorder(),
    more: Parameters<typeof toolOf>[1] = {},
  ) => {
    execute.mockClear();
    const outcome = await run(toolOf(execute, more), host, call);
    expect(execute).not.toHaveBeenCalled();
    expect(host.types()).toEqual(["tool_end"]);
    expect(host.events[0]).toEqual({
      type: "tool_end",
      call_id: "c1",
      name: call.name,
      result: outcome.result,
      is_error: true,
      error_code: outcome.errorCode,
    });
    expect(host.errors).toEqual([]);
    return `${outcome.errorCode}: ${outcome.result}`;
  };

  it("has an unknown tool", async () => {
    expect(await outcomeOf(callOf({}, "tol"))).toBe('unknown_tool: Unknown tool "tol". Available tools: tool.');
    const many = Array.from({ length: 900 }, (_, index): Tool => ({
      ...toolOf(() => 1),
      name: `tool_number_${index}`,
    }));
    const { result } = await runToolCall(callOf({}, "x".repeat(1000)), createToolbox(many), createToolRecorder());
    expect(result.length).toBeLessThan(2500);
    expect(result).toMatch(/^Unknown tool "x+…\. Available tools: tool_number_0, .*, and \d+ more\.$/);
    expect((await runToolCall(callOf({}), createToolbox([]), createToolRecorder())).result).toContain(
      "No tools are available",
    );
  });

  it("has arguments that are not a JSON object", async () => {
    expect(await outcomeOf(callOf('{"n": }'))).toContain("invalid_arguments: The arguments are not valid JSON");
    expect(await outcomeOf(callOf("[1]"))).toContain("must be a JSON object, not an array");
  });

  it("has arguments that do not match the schema", async () => {
    expect(await outcomeOf(callOf({ n: "x" }))).toBe(
      "invalid_arguments: The arguments do not match the schema of the tool:\n- `n`: Invalid input: expected number, received string",
    );
  });

  const answering = (answer: Partial<ToolApprovalAnswer>): ToolRecorder =>
    createToolRecorder({
      requestApproval: async ({ arguments: asked }) => ({ decision: "approved", arguments: asked, ...answer }),
    });

  it("was rejected by the user, or its approval expired", async () => {
    const always = { approval: "always" } as const;
    expect(await outcomeOf(callOf({ n: 1 }), answering({ decision: "rejected" }), always)).toBe(
      "tool_rejected: The user rejected this call; it was not run.",
    );
    const withReason = answering({ decision: "rejected", reason: "not on a Friday" });
    expect(await outcomeOf(callOf({ n: 1 }), withReason, always)).toBe(
      "tool_rejected: The user rejected this call; it was not run. Reason: not on a Friday",
    );
    expect(await outcomeOf(callOf({ n: 1 }), answering({ decision: "expired" }), always)).toBe(
      "approval_expired: Approval for this call expired; it was not run.",
    );
    const edited = answering({ arguments: { n: "seven" } });
    expect(await outcomeOf(callOf({ n: 1 }), edited, always)).toContain("invalid_arguments");
  });

  it("is rejected if the decision is unknown", async () => {
    const odd = answering({ decision: "maybe" as "approved" });
    expect(await outcomeOf(callOf({ n: 1 }), odd, { approval: "always" })).toContain("tool_rejected");
  });

  it("fails if too many calls wait", async () => {
    const gate = new ConcurrencyLimit(1, { maxWaiting: 1 });
    const tools = createToolbox([toolOf(() => new Promise(() => undefined))]);
    const toolbox = { ...tools, enter: (_name: string, signal: AbortSignal) => gate.enter(signal) };
    const host = createToolRecorder();
    const calls = [1, 2].map((n) => runToolCall(callOf({ n }), toolbox, host));
    await turn();
    const { errorCode } = await runToolCall({ ...callOf({ n: 3 }), callId: "c3" }, toolbox, host);
    expect(errorCode).toBe("queue_full");
    host.abort.abort(new Error("over"));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

describe("approval", () => {
  it("shows the arguments of the model, and runs with the approved ones", async () => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 2 } }));
    const host = createToolRecorder({ requestApproval: asked });
    const tool = toolOf(({ n }) => `ran with ${n}`, { approval: "always", approvalMs: 77 });
    expect((await run(tool, host)).result).toBe('The user changed the arguments to {"n":2}.\nran with 2');
    expect(asked.mock.calls).toEqual([[{ callId: "c1", name: "tool", arguments: { n: 1 }, expiresInMs: 77 }]]);
  });

  it.each<[string, (given: { n: number }) => unknown, boolean]>([
    ["returns false", () => false, false],
    ["returns true", () => true, true],
    ["resolves to false", async () => false, false],
    [
      "throws",
      () => {
        throw new Error("oops");
      },
      true,
    ],
    ["rejects", async () => Promise.reject(new Error("oops")), true],
    ["returns undefined", () => undefined, true],
    ["checks the arguments", ({ n }) => n > 5, false],
  ])("is decided by a policy that %s", async (_name, approval, isAsked) => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 1 } }));
    await run(
      toolOf(() => 1, { approval: approval as () => boolean }),
      createToolRecorder({ requestApproval: asked }),
    );
    expect(asked.mock.calls.length).toBe(isAsked ? 1 : 0);
  });

  it("is required if the policy never returns", async () => {
    vi.useFakeTimers();
    try {
      const host = createToolRecorder();
      const done = run(
        toolOf(() => "ran", { timeoutMs: 50, approval: () => new Promise<boolean>(() => undefined) }),
        host,
      );
      await vi.advanceTimersByTimeAsync(50);
      expect((await done).result).toBe("ran");
    } finally {
      vi.useRealTimers();
    }
  });

  it("is requested again after a restart, without a second tool_start", async () => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 9 } }));
    const host = createToolRecorder({
      requestApproval: asked,
      recall: () => ({ approvalArguments: { n: 1 }, started: true }),
    });
    const tool = toolOf(({ n }) => n);
    expect((await run(tool, host)).result).toBe('The user changed the arguments to {"n":9}.\n9');
    expect(host.types()).toEqual(["tool_end"]);
  });

  it("keeps its arguments after a restart, even if the tool has changed or is gone", async () => {
    const before = { n: "as it was" };
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: before }));
    const host = createToolRecorder({
      requestApproval: asked,
      recall: () => ({ approvalArguments: before, started: false }),
    });
    expect(
      await run(
        toolOf(({ n }) => n),
        host,
      ),
    ).toMatchObject({ errorCode: "invalid_arguments" });
    const call = { callId: "c", name: "gone", input: {}, rawInput: "{}" };
    expect(await runToolCall(call, createToolbox([]), host)).toMatchObject({ errorCode: "unknown_tool" });
    expect(asked.mock.calls).toHaveLength(2);
    expect(asked).toHaveBeenLastCalledWith({ callId: "c", name: "gone", arguments: before });
  });
});

describe("a tool that fails", () => {
  it("ends the call with its message only, and passes the error to the host", async () => {
    const error = new Error("cannot reach the printer\n    at print (/home/me/secret.ts:1:2)");
    const host = createToolRecorder();
    const outcome = await run(
      toolOf(() => {
        throw error;
      }),
      host,
    );
    expect(outcome).toEqual({
      callId: "c1",
      name: "tool",
      result: "cannot reach the printer",
      isError: true,
      errorCode: "tool_failed",
    });
    const [[told, errorId] = []] = host.errors;
    expect(told).toBe(error);
    expect(host.events.slice(1)).toEqual([
      {
        type: "tool_end",
        call_id: "c1",
        name: "tool",
        result: outcome.result,
        is_error: true,
        error_code: "tool_failed",
        duration_ms: 5,
      },
      {
        type: "error",
        message: outcome.result,
        code: "tool_failed",
        stage: "tool_execute",
        recoverable: true,
        call_id: "c1",
        details: { error_id: errorId },
      },
    ]);
    expect(JSON.stringify(host.events)).not.toContain("secret.ts");
  });

  it.each<[string, unknown, string]>([
    ["a string", "plain", "plain"],
    ["nothing", undefined, "undefined"],
    ["an error without a message", new Error(""), "unknown error"],
    ["an unreadable object", Object.create(null), "unknown error"],
    ["a long message", new Error("x".repeat(10_000)), `${"x".repeat(1999)}…`],
  ])("can throw %s", async (_name, thrown, expected) => {
    const outcome = await run(
      toolOf(() => {
        throw thrown;
      }),
      createToolRecorder(),
    );
    expect(outcome).toMatchObject({ result: expected, errorCode: "tool_failed" });
  });

  it("keeps the code of a LoomError", async () => {
    const outcome = await run(
      toolOf(() => {
        throw new LoomError("path_refused", "outside of the workspace");
      }),
      createToolRecorder(),
    );
    expect(outcome).toMatchObject({ result: "outside of the workspace", errorCode: "path_refused" });
  });

  it("is not affected by an error in onError", async () => {
    const host = createToolRecorder({
      onError: () => {
        throw new Error("no");
      },
    });
    expect(
      (
        await run(
          toolOf(async () => Promise.reject(new Error("x"))),
          host,
        )
      ).errorCode,
    ).toBe("tool_failed");
  });

  it("times out, and its later output is ignored", async () => {
    vi.useFakeTimers();
    try {
      const host = createToolRecorder();
      const late = Promise.withResolvers<void>();
      let seen: ToolContext | undefined;
      const tool = toolOf(
        async (_input, context) => {
          seen = context;
          context.print("early");
          await late.promise;
          context.print("late");
          context.report(100);
          context.show({ type: "custom", value: 1 });
          throw new Error("ignored");
        },
        { timeoutMs: 100 },
      );
      const done = run(tool, host);
      await vi.advanceTimersByTimeAsync(100);
      expect(await done).toMatchObject({ errorCode: "tool_timeout", result: "The tool did not finish within 100 ms" });
      expect(seen?.signal.aborted).toBe(true);
      expect(isLoomError(seen?.signal.reason, "tool_timeout")).toBe(true);
      late.resolve();
      await vi.advanceTimersByTimeAsync(10);
      expect(host.types()).toEqual(["tool_start", "tool_output", "tool_end", "error"]);
      await expect(seen?.ready()).rejects.toMatchObject({ code: "tool_timeout" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("applies its timeout to validation", async () => {
    vi.useFakeTimers();
    try {
      const host = createToolRecorder();
      const done = run({ ...toolOf(() => 1, { timeoutMs: 50 }), validate: () => new Promise(() => undefined) }, host);
      await vi.advanceTimersByTimeAsync(50);
      expect((await done).errorCode).toBe("tool_timeout");
      expect(host.types()).toEqual(["tool_end", "error"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("fails if it shows an invalid event", async () => {
    for (const shown of [{ type: "tool_end" }, { type: "data" }, undefined, { type: "custom", value: 1n }]) {
      const host = createToolRecorder();
      const outcome = await run(
        toolOf((_input, { show }) => show(shown as never)),
        host,
      );
      expect(outcome.errorCode).toBe("invalid_event");
      expect(host.types()).toEqual(["tool_start", "tool_end", "error"]);
    }
  });

  it("fails if the run rejects a shown event, even if the tool ignores it", async () => {
    const refuse = new LoomError("unknown_todo", "there is no list l9");
    for (const isLate of [false, true]) {
      const host: ToolRecorder = createToolRecorder({
        emit: (event) => {
          if (event.type !== "todo_update") host.events.push(event);
          else if (isLate) return Promise.reject(refuse);
          else throw refuse;
          return undefined;
        },
      });
      const tool = toolOf((_input, { show }) => {
        try {
          show({ type: "todo_update", list_id: "l9", item_id: "1", completed: true });
        } catch {
          // It does not care.
        }
        return "done";
      });
      expect(await run(tool, host)).toMatchObject({
        result: "there is no list l9",
        errorCode: "unknown_todo",
        isError: true,
      });
    }
  });

  it("cannot show more than the total limit", async () => {
    const large = "x".repeat(500_000);
    const tool = toolOf((_input, { show }) => {
      for (let i = 0; i < 20; i++) show({ type: "custom", value: large });
    });
    const host = createToolRecorder();
    expect((await run(tool, host)).errorCode).toBe("event_too_large");
    expect(host.types().filter((type) => type === "custom")).toHaveLength(16);
  });

  it("can catch the error for an event that is too large", async () => {
    const show = (characters: number, options = {}) =>
      toolOf((_input, context) => {
        try {
          // Three bytes each.
          context.show({ type: "custom", value: "龍".repeat(characters) });
          return "shown";
        } catch (error) {
          context.show({ type: "custom", value: "a summary" });
          return (error as Error).message;
        }
      }, options);
    expect((await run(show(170_000), createToolRecorder())).result).toBe("shown");
    const host = createToolRecorder();
    expect((await run(show(180_000), host)).result).toBe(
      "The tool tried to show 540028 bytes of `custom`, but one event can have at most 524288",
    );
    expect(host.types()).toEqual(["tool_start", "custom", "tool_end"]);
    expect((await run(show(180_000, { maxShownBytes: 600_000 }), createToolRecorder())).result).toBe("shown");
  });
});
