import { ReadableStream as WebStream } from "node:stream/web";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { z as mini } from "zod/mini";
import { isLoomError } from "../protocol/index.ts";
import { defineTool, type ToolDefinition } from "./define-tool.ts";
import { describeFailure } from "./describe-failure.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { toolResult } from "./tool-result.ts";

const anything: StandardSchema<unknown, { n: number }> = {
  "~standard": { version: 1, vendor: "by-hand", validate: (value) => ({ value: value as { n: number } }) },
};

function contextWith(
  print: (text: string) => void = () => undefined,
  signal = new AbortController().signal,
): ToolContext {
  return {
    callId: "c1",
    sessionId: "s1",
    runId: "r1",
    signal,
    print,
    report: () => undefined,
    show: () => undefined,
    ready: async () => undefined,
  };
}

function define(
  execute: ToolDefinition<typeof anything>["execute"],
  more: Partial<ToolDefinition<typeof anything>> = {},
): Tool {
  return defineTool({
    name: "tool",
    description: "d",
    input: anything,
    inputSchema: { type: "object" },
    execute,
    ...more,
  });
}

/** The message of the refusal; fails when nothing is refused. */
function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (isLoomError(error, "tool_invalid")) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a definition", () => {
  it("takes what the arguments are from zod", async () => {
    const tool = defineTool({
      name: "add",
      description: "Adds",
      input: z.object({
        a: z.number().describe("the first"),
        b: z.coerce.number().default(1),
        tags: z.array(z.object({ id: z.string() })).optional(),
      }),
      // The types are those of the schema: this compiles.
      approval: ({ a }) => a > 10,
      execute: ({ a, b }) => (a + b).toFixed(1),
    });
    expect(tool.inputSchema).toEqual({
      type: "object",
      properties: {
        a: { type: "number", description: "the first" },
        b: { default: 1, type: "number" },
        tags: { type: "array", items: { type: "object", properties: { id: { type: "string" } }, required: ["id"] } },
      },
      required: ["a"],
    });
    expect(await tool.validate({ a: 1 })).toEqual({ ok: true, value: { a: 1, b: 1 } });
    expect(await tool.validate({ a: "x", tags: [{ id: "1" }, { id: 2 }] })).toEqual({
      ok: false,
      message:
        "The arguments do not fit the tool:\n" +
        "- `a`: Invalid input: expected number, received string\n" +
        "- `tags[1].id`: Invalid input: expected string, received number",
    });
    expect([await tool.needsApproval({ a: 11, b: 0 }), await tool.needsApproval({ a: 10, b: 0 })]).toEqual([
      true,
      false,
    ]);
    expect(await tool.execute({ a: 1, b: 2 }, contextWith())).toEqual({ text: "3.0" });
  });

  it("works with another library, and asks for JSON Schema where there is none", async () => {
    const input = mini.object({ n: mini.number() });
    const tool = defineTool({
      name: "t",
      description: "d",
      input,
      inputSchema: { type: "object" },
      execute: ({ n }) => n,
    });
    expect((await tool.validate({ n: "x" })).ok).toBe(false);
    expect(refusal(() => defineTool({ name: "t", description: "d", input: anything, execute: () => 1 }))).toBe(
      'tool "t": by-hand does not give JSON Schema; say `inputSchema` too',
    );
    const odd = z.object({ when: z.date() });
    expect(refusal(() => defineTool({ name: "t", description: "d", input: odd, execute: () => 1 }))).toMatch(
      /zod has no JSON Schema for its input \(.*\); say `inputSchema` too/,
    );
  });

  it.each<[string, Partial<ToolDefinition<typeof anything>>]>([
    ["a name has 1 to 64 letters", { name: "two words" }],
    ["a name has 1 to 64 letters", { name: "" }],
    ["a name has 1 to 64 letters", { name: "x".repeat(65) }],
    ["a name has 1 to 64 letters", { name: "名字" }],
    ["the title must be a text", { title: 1 as unknown as string }],
    ["the description must be a text", { description: 1 as unknown as string }],
    ['must have the type "object"', { inputSchema: { type: "string" } }],
    ['must have the type "object"', { inputSchema: { anyOf: [] } }],
    ["`input` must be a Standard Schema", { input: {} as StandardSchema<unknown, { n: number }> }],
    ["`execute` or `approval` is not", { approval: "sometimes" as "always" }],
    ["`timeoutMs` must be a whole number", { timeoutMs: 0 }],
    ["`timeoutMs` must be a whole number", { timeoutMs: Infinity }],
    ["`concurrency` must be a whole number", { concurrency: 1.5 }],
    ["`maxResultCharacters` must be a whole number", { maxResultCharacters: -1 }],
  ])("is refused: %s", (message, wrong) => {
    expect(refusal(() => define(() => 1, wrong))).toContain(message);
  });

  it("tells the model when a schema itself throws", async () => {
    const input: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "odd",
        validate: () => {
          throw new Error("oh no");
        },
      },
    };
    const tool = defineTool({ name: "t", description: "d", input, inputSchema: { type: "object" }, execute: () => 1 });
    expect(await tool.validate({})).toEqual({ ok: false, message: "The arguments could not be checked: oh no" });
  });

  it("names at most twenty faults", async () => {
    const tool = defineTool({
      name: "t",
      description: "d",
      input: z.object({ list: z.array(z.string()) }),
      execute: () => 1,
    });
    const result = await tool.validate({ list: Array.from({ length: 100 }, () => 1) });
    expect(result.ok ? [] : result.message.split("\n")).toHaveLength(22);
    expect(!result.ok && result.message).toContain("- and 80 more");
  });
});

describe("what a tool returns", () => {
  const nothing = "Done. The tool returned nothing.";
  it.each<[string, () => unknown, object]>([
    ["a text", () => "yes", { text: "yes" }],
    ["an empty text", () => "", { text: "" }],
    ["a promise", async () => "later", { text: "later" }],
    ["nothing", () => undefined, { text: nothing }],
    ["null", () => null, { text: nothing }],
    ["a number", () => 42, { text: "42", output: 42 }],
    ["an object", () => ({ a: [1] }), { text: '{"a":[1]}', output: { a: [1] } }],
    ["an object with a text of its own", () => ({ text: "x" }), { text: '{"text":"x"}', output: { text: "x" } }],
    ["a bigint", () => 2n ** 70n, { text: "1180591620717411303424", output: "1180591620717411303424" }],
    [
      "a result",
      () => toolResult({ text: "t", output: { a: 1 }, isError: true }),
      { text: "t", output: { a: 1 }, isError: true },
    ],
    ["a result of data", () => toolResult({ output: { a: 1 } }), { text: '{"a":1}', output: { a: 1 } }],
    ["an empty result", () => toolResult({}), { text: nothing }],
  ])("%s", async (_name, execute, expected) => {
    expect(await define(execute).execute({ n: 1 }, contextWith())).toEqual(expected);
  });

  it("is what a generator returns, and what it yields is printed", async () => {
    const print = vi.fn();
    const tool = define(async function* ({ n }) {
      yield "a";
      yield { b: n };
      return { done: true };
    });
    expect(await tool.execute({ n: 1 }, contextWith(print))).toEqual({ text: '{"done":true}', output: { done: true } });
    expect(print.mock.calls).toEqual([["a"], ['{"b":1}']]);
  });

  it("is what a generator has printed, where it returns nothing", async () => {
    const tool = define(
      async function* () {
        for (let i = 0; i < 5; i++) yield "abc";
      },
      { maxResultCharacters: 7 },
    );
    // One more than may be told: then it is cut, and said so.
    expect(await tool.execute({ n: 1 }, contextWith())).toEqual({ text: "abcabcab" });
  });

  it("comes bit by bit from whatever gives it so", async () => {
    function* steps() {
      yield "a";
      yield "b";
      return 5;
    }
    const bytes = new TextEncoder().encode("龍 and 🙂");
    const stream = () => WebStream.from([bytes.slice(0, 2), bytes.slice(2, 8), bytes.slice(8)]);
    const iterable = { [Symbol.asyncIterator]: () => stream()[Symbol.asyncIterator]() };
    for (const [make, text, printed] of [
      [steps, "5", "ab"],
      [stream, "龍 and 🙂", "龍 and 🙂"],
      [() => iterable, "龍 and 🙂", "龍 and 🙂"],
    ] as const) {
      let heard = "";
      const context = contextWith((said) => void (heard += said));
      expect((await define(make).execute({}, context)).text).toBe(text);
      expect(heard).toBe(printed);
    }
    expect((await define(() => [1, 2]).execute({}, contextWith())).text).toBe("[1,2]");
  });

  it("ends although a generator never does", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("late")), 20);
    const tool = define(function* () {
      for (;;) yield "x";
    });
    await expect(tool.execute({}, contextWith(undefined, abort.signal))).rejects.toThrow("late");
  });

  it.each<[string, () => unknown, string]>([
    ["an error", () => new Error("no such city"), "no such city"],
    ["a response", () => new Response("hidden"), "The tool returned Response, which has no form in JSON."],
    ["a blob", () => new Blob(["hidden"]), "The tool returned Blob, which has no form in JSON."],
    ["data without a form", () => toolResult({ output: /x/ }), "The tool returned RegExp, which has no form in JSON."],
  ])("is no success where it is %s", async (_name, make, message) => {
    await expect(define(make).execute({}, contextWith())).rejects.toThrow(message);
  });

  it("says what was thrown, and no more than its message", () => {
    expect(describeFailure({ message: "out of stock", key: "sk-1" })).toBe("out of stock");
    expect(describeFailure({ code: 5, key: "sk-1" })).toBe("an error without words");
    expect(describeFailure("plain")).toBe("plain");
  });

  it("comes from a generator that is left when the signal says so", async () => {
    const abort = new AbortController();
    let isLeft = false;
    const tool = define(async function* () {
      try {
        yield "a";
        abort.abort(new Error("stop"));
        yield "b";
      } finally {
        isLeft = true;
      }
    });
    const print = vi.fn();
    await expect(tool.execute({ n: 1 }, contextWith(print, abort.signal))).rejects.toThrow("stop");
    expect(print.mock.calls).toEqual([["a"]]);
    expect(isLeft).toBe(true);
  });
});
