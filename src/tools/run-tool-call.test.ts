import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { callOf, record, type Recording, run, toolOf } from "../../test/tool-recorder.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";
import type { ToolApprovalAnswer } from "./tool-host.ts";
import type { Tool, ToolCall, ToolContext } from "./tool.ts";

describe("a call that is run", () => {
  it("starts, prints, reports, shows and ends, in this order", async () => {
    const host = record();
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

  it("begins when its start is durable", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const host = record({ emit: () => promise });
    const execute = vi.fn(() => "x");
    const done = run(toolOf(execute), host);
    await turn();
    expect(execute).not.toHaveBeenCalled();
    resolve();
    await done;
    expect(execute).toHaveBeenCalledOnce();
  });

  it("tells bad news without an error", async () => {
    const host = record();
    const tool: Tool = { ...toolOf(() => ""), execute: async () => ({ text: "no luck", isError: true }) };
    expect(await run(tool, host)).toEqual({ callId: "c1", name: "tool", result: "no luck", isError: true });
    expect(host.types()).toEqual(["tool_start", "tool_end"]);
  });

  it("takes whatever a tool made by hand returns", async () => {
    for (const value of [undefined, null, 42, "x", { output: 1 }, { text: 5 }, { text: "t", code: "x", thrown: {} }]) {
      const host = record();
      const tool: Tool = { ...toolOf(() => ""), execute: async () => value as never };
      expect((await run(tool, host)).isError).toBe(false);
      expect(host.types()).toEqual(["tool_start", "tool_end"]);
    }
  });

  it("cuts a result that is too long, and says so", async () => {
    const host = record();
    const { result } = await run(
      toolOf(() => "x".repeat(50), { maxResultCharacters: 10 }),
      host,
    );
    expect(result).toBe(`${"x".repeat(10)}\n[cut: the result has 50 characters; these are the first 10]`);
    const { result: long } = await run(
      toolOf(() => "x".repeat(200_000)),
      record(),
    );
    expect(long).toMatch(/^x{100000}\n\[cut: the result has 200000 characters; these are the first 100000]$/);
  });

  it("fits its end into one event, whatever it returns", async () => {
    for (const text of ["\u0000".repeat(1_000_000), "龍".repeat(1_000_000), "🙂".repeat(400_000)]) {
      const host = record();
      const tool: Tool = {
        ...toolOf(() => "", { maxResultCharacters: 2 ** 30 }),
        execute: async () => ({ text, output: { text: text.slice(0, 60_000) } }),
      };
      await run(tool, host);
      expect(Buffer.byteLength(JSON.stringify(host.events[1]))).toBeLessThan(1_040_000);
      expect(JSON.stringify(host.events[1])).not.toMatch(/\\ud[89a-f]/);
    }
  });

  it("leaves data out that is too large for an event", async () => {
    const host = record();
    await run(
      toolOf(() => ({ list: "x".repeat(500_000) })),
      host,
    );
    expect(host.events[1]).not.toHaveProperty("output");
  });
});

describe("a call that is not run", () => {
  const execute = vi.fn(() => "ran");
  const outcomeOf = async (call: ToolCall, host = record(), more: Parameters<typeof toolOf>[1] = {}) => {
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

  it("names a tool nobody knows", async () => {
    expect(await outcomeOf(callOf({}, "tol"))).toBe('unknown_tool: There is no tool "tol". There are: tool.');
    const many = Array.from({ length: 900 }, (_, index): Tool => ({
      ...toolOf(() => 1),
      name: `tool_number_${index}`,
    }));
    const { result } = await runToolCall(callOf({}, "x".repeat(1000)), createToolbox(many), record());
    expect(result.length).toBeLessThan(2500);
    expect(result).toMatch(/^There is no tool "x+…\. There are: tool_number_0, .*, and \d+ more\.$/);
    expect((await runToolCall(callOf({}), createToolbox([]), record())).result).toContain("there are no tools");
  });

  it("has arguments that are no JSON object", async () => {
    expect(await outcomeOf(callOf('{"n": }'))).toContain("invalid_arguments: The arguments are not valid JSON");
    expect(await outcomeOf(callOf("[1]"))).toContain("must be a JSON object, not an array");
  });

  it("has arguments that do not fit", async () => {
    expect(await outcomeOf(callOf({ n: "x" }))).toBe(
      "invalid_arguments: The arguments do not fit the tool:\n- `n`: Invalid input: expected number, received string",
    );
  });

  const answering = (answer: Partial<ToolApprovalAnswer>): Recording =>
    record({
      requestApproval: async ({ arguments: asked }) => ({ decision: "approved", arguments: asked, ...answer }),
    });

  it("was refused by the user, who may say why", async () => {
    const always = { approval: "always" } as const;
    expect(await outcomeOf(callOf({ n: 1 }), answering({ decision: "rejected" }), always)).toBe(
      "tool_rejected: The user refused this call; it was not run.",
    );
    const withReason = answering({ decision: "rejected", reason: "not on a Friday" });
    expect(await outcomeOf(callOf({ n: 1 }), withReason, always)).toBe(
      "tool_rejected: The user refused this call; it was not run. The reason given: not on a Friday",
    );
    expect(await outcomeOf(callOf({ n: 1 }), answering({ decision: "expired" }), always)).toBe(
      "approval_expired: Nobody agreed to this call in time; it was not run.",
    );
    const edited = answering({ arguments: { n: "seven" } });
    expect(await outcomeOf(callOf({ n: 1 }), edited, always)).toContain("invalid_arguments");
  });

  it("is refused when the answer is none that is known", async () => {
    const odd = answering({ decision: "maybe" as "approved" });
    expect(await outcomeOf(callOf({ n: 1 }), odd, { approval: "always" })).toContain("tool_rejected");
  });

  it("finds too many calls waiting", async () => {
    const toolbox = createToolbox([toolOf(() => new Promise(() => undefined), { concurrency: 1 })], { maxWaiting: 1 });
    const host = record();
    const calls = [1, 2].map((n) => runToolCall(callOf({ n }), toolbox, host));
    await turn();
    const { errorCode } = await runToolCall({ ...callOf({ n: 3 }), callId: "c3" }, toolbox, host);
    expect(errorCode).toBe("queue_full");
    host.abort.abort(new Error("over"));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

describe("approval", () => {
  it("asks about the arguments as the model gave them, and runs with those agreed to", async () => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 2 } }));
    const host = record({ requestApproval: asked });
    const tool = toolOf(({ n }) => `ran with ${n}`, { approval: "always", approvalMs: 77 });
    expect((await run(tool, host)).result).toBe('The user changed the arguments to {"n":2}.\nran with 2');
    expect(asked.mock.calls).toEqual([[{ callId: "c1", name: "tool", arguments: { n: 1 }, expiresInMs: 77 }]]);
  });

  it.each<[string, (given: { n: number }) => unknown, boolean]>([
    ["says no", () => false, false],
    ["says yes", () => true, true],
    ["says no later", async () => false, false],
    [
      "throws",
      () => {
        throw new Error("oops");
      },
      true,
    ],
    ["fails later", async () => Promise.reject(new Error("oops")), true],
    ["says nothing", () => undefined, true],
    ["looks at the arguments", ({ n }) => n > 5, false],
  ])("is asked for where the policy %s", async (_name, approval, isAsked) => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 1 } }));
    await run(
      toolOf(() => 1, { approval: approval as () => boolean }),
      record({ requestApproval: asked }),
    );
    expect(asked.mock.calls.length).toBe(isAsked ? 1 : 0);
  });

  it("is asked for where the policy never answers", async () => {
    vi.useFakeTimers();
    try {
      const host = record();
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

  it("stays asked for after a restart, and a start that was written is not written again", async () => {
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: { n: 9 } }));
    const host = record({ requestApproval: asked, recall: () => ({ asked: { n: 1 }, started: true }) });
    const tool = toolOf(({ n }) => n);
    expect((await run(tool, host)).result).toBe('The user changed the arguments to {"n":9}.\n9');
    expect(host.types()).toEqual(["tool_end"]);
  });

  it("stays asked as it was, though the tool is another now, or gone", async () => {
    const before = { n: "as it was" };
    const asked = vi.fn(async (): Promise<ToolApprovalAnswer> => ({ decision: "approved", arguments: before }));
    const host = record({ requestApproval: asked, recall: () => ({ asked: before, started: false }) });
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
  it("ends the call with its message alone, and the host has the rest", async () => {
    const error = new Error("cannot reach the printer\n    at print (/home/me/secret.ts:1:2)");
    const host = record();
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
    ["a text", "plain", "plain"],
    ["nothing", undefined, "undefined"],
    ["an error without words", new Error(""), "an error without words"],
    ["what cannot be read", Object.create(null), "an error without words"],
    ["very much", new Error("x".repeat(10_000)), `${"x".repeat(2000)}…`],
  ])("may throw %s", async (_name, thrown, expected) => {
    const outcome = await run(
      toolOf(() => {
        throw thrown;
      }),
      record(),
    );
    expect(outcome).toMatchObject({ result: expected, errorCode: "tool_failed" });
  });

  it("keeps the code of an error of ours", async () => {
    const outcome = await run(
      toolOf(() => {
        throw new LoomError("path_refused", "outside of the workspace");
      }),
      record(),
    );
    expect(outcome).toMatchObject({ result: "outside of the workspace", errorCode: "path_refused" });
  });

  it("is not disturbed by whoever is told", async () => {
    const host = record({
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

  it("runs out of time; what it does later goes nowhere", async () => {
    vi.useFakeTimers();
    try {
      const host = record();
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
          throw new Error("nobody hears this");
        },
        { timeoutMs: 100 },
      );
      const done = run(tool, host);
      await vi.advanceTimersByTimeAsync(100);
      expect(await done).toMatchObject({ errorCode: "tool_timeout", result: "The tool did not finish within 100 ms." });
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

  it("may take its time with the arguments no longer than with the rest", async () => {
    vi.useFakeTimers();
    try {
      const host = record();
      const done = run({ ...toolOf(() => 1, { timeoutMs: 50 }), validate: () => new Promise(() => undefined) }, host);
      await vi.advanceTimersByTimeAsync(50);
      expect((await done).errorCode).toBe("tool_timeout");
      expect(host.types()).toEqual(["tool_end", "error"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("fails for showing what is no event", async () => {
    for (const shown of [{ type: "tool_end" }, { type: "data" }, undefined, { type: "custom", value: 1n }]) {
      const host = record();
      const outcome = await run(
        toolOf((_input, { show }) => show(shown as never)),
        host,
      );
      expect(outcome.errorCode).toBe("invalid_event");
      expect(host.types()).toEqual(["tool_start", "tool_end", "error"]);
    }
  });

  it("fails for what the run refuses to show, though it does not look", async () => {
    const refuse = new LoomError("unknown_todo", "there is no list l9");
    for (const isLate of [false, true]) {
      const host: Recording = record({
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

  it("may not show without end", async () => {
    const large = "x".repeat(500_000);
    const tool = toolOf((_input, { show }) => {
      for (let i = 0; i < 20; i++) show({ type: "custom", value: large });
    });
    const host = record();
    expect((await run(tool, host)).errorCode).toBe("event_too_large");
    expect(host.types().filter((type) => type === "custom")).toHaveLength(16);
  });

  it("is told what is too large to show, and can go on", async () => {
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
    expect((await run(show(170_000), record())).result).toBe("shown");
    const host = record();
    expect((await run(show(180_000), host)).result).toBe(
      "Too much to show: 540028 bytes of `custom`; one thing may have 524288.",
    );
    expect(host.types()).toEqual(["tool_start", "custom", "tool_end"]);
    expect((await run(show(180_000, { maxShownBytes: 600_000 }), record())).result).toBe("shown");
  });
});
