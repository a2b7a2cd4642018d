import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AssistantPart } from "../../models/model.ts";
import { fitText, joinParsed, readProposals, readSample, type ModelOutput } from "./read-thoughts.ts";

const LIMITS = { max: 16, maxCharacters: 4000, maxBytes: 16_000 };

function say(...content: (string | { readonly id: string; readonly input?: object | string })[]): ModelOutput {
  const parts = content.map((part): AssistantPart => {
    if (typeof part === "string") return { type: "text", text: part };
    const input = typeof part.input === "object" ? (part.input as Record<string, number>) : {};
    return { type: "tool-call", toolCallId: part.id, toolName: "add", input };
  });
  const calls = content.flatMap((part, index) =>
    typeof part === "string"
      ? []
      : [
          {
            callId: part.id,
            name: "add",
            index,
            input: typeof part.input === "string" ? undefined : { ...part.input },
            rawInput: typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {}),
          },
        ],
  ) as ModelOutput["calls"];
  return { content: parts, calls };
}

function texts(text: string): readonly string[] {
  return readProposals(say(text), LIMITS).candidates.map((candidate) => candidate.text);
}

describe("a list of next steps", () => {
  it.each([
    ["1. one\n2) two\n(3) three", ["one", "two", "three"]],
    ["- one\n* two\n• three\n– four", ["one", "two", "three", "four"]],
    ["a) one\nB. two", ["one", "two"]],
    ["\n\n one \r\n\ttwo\n\n", ["one", "two"]],
    ["```\none\n```\n---\n***", ["one"]],
    ["one\none\n one\n1. one", ["one"]],
    ["10 - 4 = 6 (left: 6 9 13)", ["10 - 4 = 6 (left: 6 9 13)"]],
    ["1.5 * 4 = 6\n-3 + 4 = 1\n2 * 3 = 6", ["1.5 * 4 = 6", "-3 + 4 = 1", "2 * 3 = 6"]],
    ["3. 4 * 6 = 24", ["4 * 6 = 24"]],
    ["13 - 9 = 4（剩下：4 4 10）", ["13 - 9 = 4（剩下：4 4 10）"]],
    ["1、先加\n2. 再减\n3.后乘\n（4）除\n(5)平方\n6）开方", ["先加", "再减", "后乘", "除", "平方", "开方"]],
    ["一、先加\n十二、再减\n（三）后乘\n① 除\n②平方", ["先加", "再减", "后乘", "除", "平方"]],
    ["3、8 相加\n一、二两步都行\n1、 4 * 6 = 24", ["3、8 相加", "一、二两步都行", "4 * 6 = 24"]],
    ["Here are some steps:\n1. one\n\nOr else:\n- two", ["one", "two"]],
    ["**可能的步骤：**\n1. one:\n2. two", ["one:", "two"]],
    ["Add them up:", ["Add them up:"]],
    ["**Step 1: Boil**\nHeat water.\n\n**Step 2: Fry**\nFry it.", ["Boil", "Fry"]],
    ['{"steps": ["one", "", "two"]}', ["one", "two"]],
    ['{"steps": {"1": "one", "2": "two"}}', ["one", "two"]],
    ['{"steps": [["one"], ["two"]]}', ["one", "two"]],
    ['{"steps": "1. one\\n2. two"}', ["one", "two"]],
  ])("of %j", (text, expected) => {
    expect(texts(text)).toEqual(expected);
  });

  it.each([
    ["one\ntw", "length", ["one"], true],
    ["one\ntwo\n", "length", ["one", "two"], false],
    ["on", "content_filter", [], true],
    ["one\ntwo", "stop", ["one", "two"], false],
  ] as const)("of %j that ended with %s", (text, finishReason, expected, isHalf) => {
    const reading = readProposals({ ...say(text), result: { finishReason } }, LIMITS);
    expect([reading.candidates.map((candidate) => candidate.text), reading.isHalf]).toEqual([expected, isHalf]);
    expect(readSample({ ...say(text), result: { finishReason } }, LIMITS).candidates).toHaveLength(1);
  });

  it("assigns calls to the line before, or makes them thoughts", () => {
    const input = { a: 1 };
    const { candidates, left } = readProposals(
      say("one\ntwo", { id: "c1", input }, { id: "c2", input }, "three", "four", { id: "c3", input: "{" }),
      LIMITS,
    );
    expect(candidates).toEqual([
      { text: "one" },
      { text: "two", calls: [{ id: "c1", name: "add", input }] },
      { text: 'add({"a":1})', calls: [{ id: "c2", name: "add", input }] },
      { text: "three" },
      { text: "four", calls: [{ id: "c3", name: "add", input: {}, raw: "{" }] },
    ]);
    expect(left).toEqual([]);
  });

  it("is cut to the requested number", () => {
    const list = Array.from({ length: 20 }, (_, index) => `step ${index}`).join("\n");
    expect(readProposals(say(list), LIMITS)).toMatchObject({ cut: 0 });
    expect(readProposals(say(list), LIMITS).candidates).toHaveLength(16);
  });

  it.each([
    ["深", 100],
    ["\u0001", 1],
    ['"', 10],
  ])("measures bytes as %j has them in a record", (mark, maxBytes) => {
    const text = fitText(mark.repeat(500), maxBytes);
    expect(text.length === 1 || Buffer.byteLength(JSON.stringify(text)) <= maxBytes).toBe(true);
    expect(fitText("ab", 4)).toBe("ab");
  });

  it("respects its limits for any output and loses no call", () => {
    const part = fc.oneof(
      fc.array(fc.integer({ max: 0xffff, min: 0 }), { maxLength: 60 }).map((codes) => String.fromCharCode(...codes)),
      fc.constantFrom("a\nb\nc", "- x\n- x\n", "\u0000\ud800", "深".repeat(100)),
      fc.record({ id: fc.uuid(), input: fc.oneof(fc.constant("{"), fc.record({ a: fc.integer() })) }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), (content, max) => {
        const said = say(...content);
        for (const read of [readProposals, readSample]) {
          const { candidates, left } = read(said, { max, maxCharacters: 50, maxBytes: 300 });
          expect(candidates.length).toBeLessThanOrEqual(read === readSample ? 1 : max);
          expect(new Set(candidates.map(({ text }) => text)).size).toBe(candidates.length);
          for (const { calls = [] } of candidates)
            expect(calls.reduce((sum, call) => sum + Buffer.byteLength(JSON.stringify(call)), 0)).toBeLessThan(301);
          const isRight = (text: string): boolean => text.length <= 50 && text.isWellFormed() && text.trim() !== "";
          expect(candidates.every(({ text }) => isRight(text))).toBe(true);
          const kept = candidates.flatMap(({ calls = [] }) => calls.map(({ id }) => id));
          expect([...kept, ...left].toSorted()).toEqual(said.calls.map(({ callId }) => callId).toSorted());
        }
      }),
    );
  });
});

describe("a sample", () => {
  it("is the whole answer with all its calls", () => {
    expect(readSample(say("First\nthis.", { id: "c1" }, { id: "c2" }), LIMITS).candidates).toMatchObject([
      { text: "First\nthis.", calls: [{ id: "c1" }, { id: "c2" }] },
    ]);
    expect(readSample(say({ id: "c1", input: { a: 1 } }), LIMITS).candidates).toMatchObject([{ text: 'add({"a":1})' }]);
    expect(readSample(say(" \n"), LIMITS).candidates).toEqual([]);
  });

  it("is merged with an equal one, unless its calls differ", () => {
    const one = readSample(say("x  y", { id: "c1", input: { a: 1 } }), LIMITS);
    const twin = readSample(say("x y", { id: "c2", input: { a: 1 } }), LIMITS);
    const other = readSample(say("x y", { id: "c3", input: { a: 2 } }), LIMITS);
    expect(joinParsed([one, twin, other])).toEqual({
      candidates: [...one.candidates, ...other.candidates],
      left: ["c2"],
      cut: 0,
      isHalf: false,
    });
  });
});
