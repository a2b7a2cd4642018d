import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callOf, createToolRecorder, run, toolOf } from "../../test/tool-recorder.ts";
import type { Json, JsonObject } from "../protocol/index.ts";
import { refineInput } from "./define-tool.ts";
import type { Tool } from "./tool.ts";

const approved = (given: JsonObject) =>
  createToolRecorder({ requestApproval: async () => ({ decision: "approved", arguments: given }) });

describe("the note to the model about edited arguments", () => {
  const tool = toolOf(({ n }) => `ran with ${n}`, { approval: "always" });

  it("is absent if the arguments are equal", async () => {
    expect((await run(tool, approved({ n: 1 }))).result).toBe("ran with 1");
    expect((await run(tool, approved({ n: 0 }), callOf({ n: -0 }))).result).toBe("ran with 0");
    const two: Tool = { ...tool, validate: async (value) => ({ ok: true, value }) };
    expect((await run(two, approved({ b: [2], n: 1 }), callOf({ n: 1, b: [2] }))).result).toBe("ran with 1");
  });

  it("comes first, also for invalid arguments and a failing tool", async () => {
    const note = 'The user changed the arguments to {"n":"two"}.\n';
    const wrong = await run(tool, approved({ n: "two" }));
    expect(wrong).toMatchObject({ errorCode: "invalid_arguments", isError: true });
    expect(wrong.result.startsWith(note)).toBe(true);
    const host = approved({ n: 2 });
    const failing = toolOf(
      () => {
        throw new Error("no luck");
      },
      { approval: "always", maxResultCharacters: 1 },
    );
    const { result } = await run(failing, host);
    // The limit of the tool applies to its result, not to the note.
    expect(result).toMatch(/^The user changed the arguments to \{"n":2\}\.\nn\n\[truncated/);
    expect(host.events.find(({ type }) => type === "error")).toMatchObject({ message: "no luck" });
    expect(host.events.find(({ type }) => type === "tool_end")).toMatchObject({ result });
  });

  it("has a maximum length", async () => {
    const open: Tool = { ...tool, validate: async (value) => ({ ok: true, value }) };
    const { result } = await run(open, approved({ n: 1, text: "x".repeat(1_000_000) }));
    expect(result.length).toBeLessThan(2100);
  });
});

it("writes a tool_end of any content that fits into one event", async () => {
  const long = (unit: string) => fc.nat(210_000).map((count) => unit.repeat(count));
  const text = fc.constantFrom("a", "龍", "🙂", "\u0001", '"', "\ud83d").chain(long);
  await fc.assert(
    fc.asyncProperty(text, fc.oneof(text, fc.constant(undefined)), text, async (result, output, changed) => {
      const host = approved({ n: 1, changed });
      const tool: Tool = {
        ...toolOf(() => "", { approval: "always", maxResultCharacters: 2 ** 30 }),
        validate: async (value) => ({ ok: true, value }),
        execute: async () => ({ text: result, ...(output === undefined ? {} : { output: [output] as Json }) }),
      };
      const outcome = await run(tool, host);
      const end = host.events.at(-1);
      expect(Buffer.byteLength(JSON.stringify(end))).toBeLessThan(1_040_000);
      expect(end).toMatchObject({ type: "tool_end", result: outcome.result });
      expect(outcome.output).toEqual((end as { output?: Json }).output);
    }),
    { numRuns: 30 },
  );
});

it("uses the same normalized arguments for the policy, the approval and the tool", async () => {
  const seen: unknown[] = [];
  const plain = refineInput<{ n: number }>(
    toolOf((input) => void seen.push(["ran", input]), {
      approval: (input) => {
        seen.push(["decided", input]);
        return true;
      },
    }),
    ({ n }) => ({ n: Math.abs(n) }),
  );
  const host = createToolRecorder({
    requestApproval: async ({ arguments: asked }) => {
      seen.push(["asked", asked]);
      return { decision: "approved", arguments: { n: -7 } };
    },
  });
  await run(plain, host, callOf({ n: -5 }));
  expect(seen).toEqual([
    ["decided", { n: 5 }],
    ["asked", { n: 5 }],
    ["ran", { n: 7 }],
  ]);
});
