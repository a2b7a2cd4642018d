import { ReadableStream as WebStream } from "node:stream/web";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
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
  execute: NonNullable<ToolDefinition<typeof anything>["execute"]>,
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

/** Returns the message of the error. Fails if nothing is thrown. */
function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (isLoomError(error, "tool_invalid")) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("defineTool", () => {
  it("leaves a tool without `execute` to the client", async () => {
    const definition = { name: "locate", description: "d", input: anything, inputSchema: { type: "object" } };
    const tool = defineTool({ ...definition, timeoutMs: 1000 });
    expect(tool).toMatchObject({ executor: "client", timeoutMs: 1000 });
    await expect(tool.execute({ n: 1 }, contextWith())).rejects.toMatchObject({ code: "unsupported" });
    expect(define(() => 1).executor).toBeUndefined();
    for (const option of [{ concurrency: 1 }, { idempotent: true }, { maxResultCharacters: 10 }])
      expect(refusal(() => defineTool({ ...definition, ...option }))).toContain("has no effect without `execute`");
    expect(refusal(() => defineTool({ ...definition, execute: "run" as never }))).toContain("must be a function");
  });

  it("infers the arguments of all its functions from the schema", async () => {
    const input = z.object({ to: z.string(), amount: z.coerce.number() });
    const tool = defineTool({
      name: "pay",
      description: "Pays",
      input,
      needsApproval: async (payment) => {
        expectTypeOf(payment).toEqualTypeOf<{ to: string; amount: number }>();
        return payment.amount > 10;
      },
      async *execute(payment, { signal }) {
        expectTypeOf(payment).toEqualTypeOf<{ to: string; amount: number }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        yield "paying";
      },
    });
    // @ts-expect-error The schema has no such field.
    defineTool({ name: "x", description: "X", input, execute: ({ currency }) => void currency });
    expect(await tool.needsApproval({ to: "Ann", amount: 5 })).toBe(false);
    expect(await tool.needsApproval({ to: "Ann", amount: 50 })).toBe(true);
    expect(await define(() => 1, { needsApproval: true }).needsApproval({ n: 1 })).toBe(true);
    expect(await define(() => 1).needsApproval({ n: 1 })).toBe(false);
  });

  it("reports the progress that a generator yields", async () => {
    const done: unknown[] = [];
    const tool = define(async function* () {
      yield { progress: 10 };
      yield { progress: 60, message: "more than half" };
      yield { progress: 99, eta: 1 };
    });
    const context = {
      ...contextWith((text) => done.push(text)),
      report: (...progress: unknown[]) => void done.push(progress),
    };
    const { text } = await tool.execute({ n: 1 }, context);
    expect(done).toEqual([[10, undefined], [60, "more than half"], '{"progress":99,"eta":1}']);
    expect(text).toBe('{"progress":99,"eta":1}');
  });

  it("reads the schema and types from zod", async () => {
    const tool = defineTool({
      name: "add",
      description: "Adds",
      input: z.object({
        a: z.number().describe("the first"),
        b: z.coerce.number().default(1),
        tags: z.array(z.object({ id: z.string() })).optional(),
      }),
      // Compiles only with the types of the schema.
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
        "The arguments do not match the schema of the tool:\n" +
        "- `a`: Invalid input: expected number, received string\n" +
        "- `tags[1].id`: Invalid input: expected string, received number",
    });
    expect([await tool.needsApproval({ a: 11, b: 0 }), await tool.needsApproval({ a: 10, b: 0 })]).toEqual([
      true,
      false,
    ]);
    expect(await tool.execute({ a: 1, b: 2 }, contextWith())).toEqual({ text: "3.0" });
  });

  it("works with other libraries, and requires inputSchema if one has no JSON Schema", async () => {
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
      'Tool "t": by-hand does not produce JSON Schema; pass `inputSchema` too',
    );
    const odd = z.object({ when: z.date() });
    expect(refusal(() => defineTool({ name: "t", description: "d", input: odd, execute: () => 1 }))).toMatch(
      /zod cannot express its input as JSON Schema \(.*\); pass `inputSchema` too/,
    );
  });

  it.each<[string, Partial<ToolDefinition<typeof anything>>]>([
    ["the name must have 1 to 64 letters", { name: "two words" }],
    ["the name must have 1 to 64 letters", { name: "" }],
    ["the name must have 1 to 64 letters", { name: "x".repeat(65) }],
    ["the name must have 1 to 64 letters", { name: "名字" }],
    ["`title` must be a string", { title: 1 as unknown as string }],
    ["`description` must be a string", { description: 1 as unknown as string }],
    ['must have the type "object"', { inputSchema: { type: "string" } }],
    ['must have the type "object"', { inputSchema: { anyOf: [] } }],
    ["`input` must be a Standard Schema", { input: {} as StandardSchema<unknown, { n: number }> }],
    ["`inputSchema` is for JSON Schema", { input: undefined as never, inputSchema: z.object({}) as never }],
    ["unknown field `parameters`; did you mean `input`?", { parameters: z.object({}) } as object],
    ["unknown field `needsAproval`; did you mean `needsApproval`?", { needsAproval: true } as object],
    ["unknown field `quantum`", { quantum: true } as object],
    ["`approval` must be", { approval: "sometimes" as "always" }],
    ["`needsApproval` must be", { needsApproval: "always" as unknown as true }],
    ["exclude each other", { approval: "always", needsApproval: true }],
    ["`timeoutMs` must be an integer", { timeoutMs: 0 }],
    ["`timeoutMs` must be an integer", { timeoutMs: Infinity }],
    ["`concurrency` must be an integer", { concurrency: 1.5 }],
    ["`maxResultCharacters` must be an integer", { maxResultCharacters: -1 }],
  ])("rejects a definition: %s", (message, wrong) => {
    expect(refusal(() => define(() => 1, wrong))).toContain(message);
  });

  it("reports an error thrown by the schema to the model", async () => {
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

  it("lists at most twenty issues", async () => {
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

describe("the return value of a tool", () => {
  const nothing = "Done. The tool returned nothing.";
  it.each<[string, () => unknown, object]>([
    ["a text", () => "yes", { text: "yes" }],
    ["an empty string", () => "", { text: "" }],
    ["a promise", async () => "later", { text: "later" }],
    ["nothing", () => undefined, { text: nothing }],
    ["null", () => null, { text: nothing }],
    ["a number", () => 42, { text: "42", output: 42 }],
    ["an object", () => ({ a: [1] }), { text: '{"a":[1]}', output: { a: [1] } }],
    ["an object with a field text", () => ({ text: "x" }), { text: '{"text":"x"}', output: { text: "x" } }],
    ["a bigint", () => 2n ** 70n, { text: "1180591620717411303424", output: "1180591620717411303424" }],
    [
      "a result",
      () => toolResult({ text: "t", output: { a: 1 }, isError: true }),
      { text: "t", output: { a: 1 }, isError: true },
    ],
    ["a toolResult with data", () => toolResult({ output: { a: 1 } }), { text: '{"a":1}', output: { a: 1 } }],
    ["an empty toolResult", () => toolResult({}), { text: nothing }],
  ])("%s", async (_name, execute, expected) => {
    expect(await define(execute).execute({ n: 1 }, contextWith())).toEqual(expected);
  });

  it("is what a generator returns, and yielded values are printed", async () => {
    const print = vi.fn();
    const tool = define(async function* ({ n }) {
      yield "a";
      yield { b: n };
      return { done: true };
    });
    expect(await tool.execute({ n: 1 }, contextWith(print))).toEqual({ text: '{"done":true}', output: { done: true } });
    expect(print.mock.calls).toEqual([["a"], ['{"b":1}']]);
  });

  it("is the printed text if a generator returns nothing", async () => {
    const tool = define(
      async function* () {
        for (let i = 0; i < 5; i++) yield "abc";
      },
      { maxResultCharacters: 7 },
    );
    // One character more than the limit, so that the truncation is noticed.
    expect(await tool.execute({ n: 1 }, contextWith())).toEqual({ text: "abcabcab" });
  });

  it("can come from any iterator or stream", async () => {
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

  it("ends even if a generator never does", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("late")), 20);
    const tool = define(function* () {
      for (;;) yield "x";
    });
    await expect(tool.execute({}, contextWith(undefined, abort.signal))).rejects.toThrow("late");
  });

  it.each<[string, () => unknown, string]>([
    ["an error", () => new Error("no such city"), "no such city"],
    ["a response", () => new Response("hidden"), "The tool returned Response, which cannot be converted to JSON"],
    ["a blob", () => new Blob(["hidden"]), "The tool returned Blob, which cannot be converted to JSON"],
    [
      "data without a JSON form",
      () => toolResult({ output: /x/ }),
      "The tool returned RegExp, which cannot be converted to JSON",
    ],
  ])("fails for %s", async (_name, make, message) => {
    await expect(define(make).execute({}, contextWith())).rejects.toThrow(message);
  });

  it("reports only the message of a thrown error", () => {
    expect(describeFailure({ message: "out of stock", key: "sk-1" })).toBe("out of stock");
    expect(describeFailure({ code: 5, key: "sk-1" })).toBe("unknown error");
    expect(describeFailure("plain")).toBe("plain");
  });

  it("closes a generator when the signal aborts", async () => {
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
