import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Json } from "./index.ts";
import { MAX_JSON_DEPTH } from "./json.ts";
import { PartialJson } from "./partial-json.ts";
import { LONG } from "../../test/sampling.ts";

/** Share of the random inputs that this run tries. */
const SHARE = LONG ? 1 : 0.2;

function read(...deltas: string[]): PartialJson {
  const json = new PartialJson();
  for (const delta of deltas) json.push(delta);
  return json;
}

function cut(text: string, points: readonly number[]): string[] {
  const edges = [0, ...points.map((point) => point % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return edges.slice(1).map((edge, i) => text.slice(edges[i], edge));
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Compares as JSON text, which includes key order and a key `__proto__`; -0 and infinities are also distinguished. */
function print(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === "number" ? `${1 / item} ${item}` : item));
}

/**
 * A text with the value known after each of its characters. Undefined means none, for example within a number or
 * literal.
 */
type Steps = [character: string, known: Json | undefined][];

const withoutHalf = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text);

/** Writes a string, escaping each character as `escape` says, with the value expected after each character. */
function writeString(text: string, escape: (at: number) => boolean): Steps {
  const steps: Steps = [['"', ""]];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    const hex = `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const plain = JSON.stringify(unit).slice(1, -1);
    const isHalf = /[\uD800-\uDFFF]/.test(unit);
    const before = withoutHalf(text.slice(0, at));
    for (const character of escape(at) ? hex : isHalf ? unit : plain) steps.push([character, before]);
    (steps.at(-1) as Steps[number])[1] = withoutHalf(text.slice(0, at + 1));
  }
  return [...steps, ['"', text]];
}

/** Writes a value with whitespace between its tokens, independently of the parser. */
function write(value: Json, blank: string, escape: (at: number) => boolean): Steps {
  if (typeof value === "string") return writeString(value, escape);
  if (typeof value !== "object" || value === null) {
    const text = Object.is(value, -0) ? "-0" : JSON.stringify(value);
    const certain = typeof value !== "number";
    return Array.from(text, (character, at) => [character, certain && at === text.length - 1 ? value : undefined]);
  }
  const isArray = Array.isArray(value);
  const settled: [string, Json][] = [];
  const build = (last: [string, Json][]): Json =>
    isArray ? [...settled, ...last].map(([, item]) => item) : Object.fromEntries([...settled, ...last]);
  const steps: Steps = [[isArray ? "[" : "{", build([])]];
  const add = (text: string): unknown => steps.push(...Array.from(text, (c): Steps[number] => [c, build([])]));
  for (const [key, item] of Object.entries(value)) {
    if (settled.length > 0) add(`,${blank}`);
    if (!isArray) {
      for (const [character] of writeString(key, escape)) steps.push([character, build([])]);
      add(`${blank}:${blank}`);
    }
    for (const [c, known] of write(item, blank, escape)) {
      steps.push([c, build(known === undefined ? [] : [[key, known]])]);
    }
    settled.push([key, item]);
    add(blank === "" ? "" : blank);
  }
  return [...steps, [isArray ? "]" : "}", build([])]];
}

/** The same text with random formatting. `write` accepts numbers that JSON.stringify writes in only one way. */
const number = fc.oneof(
  fc.constantFrom(
    "-0",
    "0",
    "1e400",
    "-1e400",
    "9007199254740993",
    "1E+2",
    "0.1e-7",
    "5e-324",
    "1.0",
    "123456789012345678",
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
);
const unit = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "binary", maxLength: 3 }) },
  { weight: 4, arbitrary: fc.constantFrom("\ud83d", "\ude00", "😀", '"', "\\", "\n", "\u2028", "\0", "/", "é", "汉") },
);
const text = fc.array(unit, { maxLength: 6 }).map((units) => units.join(""));
/**
 * No key is a single backslash. After an object with such a key was created, JSON.parse of Node 26 reads escaped keys
 * at the same position as that backslash, so it cannot be used for comparison.
 */
const key = fc
  .oneof(text, fc.constantFrom("a", "b", "1", "0", "__proto__", "constructor", "toString", ""))
  .filter((name) => name !== "\\");
const quoted = fc.tuple(text, fc.boolean()).map(([content, escaped]) =>
  writeString(content, () => escaped)
    .map(([character]) => character)
    .join(""),
);
const jsonText = fc.letrec<{ value: string; list: string; entries: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    number,
    quoted,
    fc.constantFrom("true", "false", "null"),
    tie("list"),
    tie("entries"),
  ),
  list: fc.array(tie("value"), { maxLength: 5 }).map((items) => `[${items.join(" ,\n")}]`),
  entries: fc
    .array(fc.tuple(key, tie("value")), { maxLength: 5 })
    .map((entries) => `{ ${entries.map(([name, value]) => `${JSON.stringify(name)}\t: ${value}`).join(",\r")}}`),
})).value;
const points = fc.array(fc.nat(), { maxLength: 12 });

describe("a text in pieces", () => {
  test("gives exactly the result of JSON.parse, however it is cut and read", () => {
    fc.assert(
      fc.property(jsonText, points, fc.boolean(), (source, cuts, reads) => {
        const json = new PartialJson();
        for (const delta of cut(` ${source}\n`, cuts)) {
          json.push(delta);
          if (reads) void json.value;
        }
        expect(json.state).toBe("complete");
        const expected = JSON.parse(source) as unknown;
        expect(print(json.value)).toBe(print(expected));
        expect(isDeepStrictEqual(json.value, expected)).toBe(true);
      }),
      { numRuns: 1500 * SHARE },
    );
  });

  test("shows what is certain after every character", () => {
    const value = fc
      .jsonValue({ maxDepth: 3, stringUnit: unit })
      .filter((made) => !JSON.stringify(made).includes('"\\\\":'));
    fc.assert(
      fc.property(value, fc.constantFrom("", " ", "\n\t"), fc.boolean(), (source, blank, escaped) => {
        const isContainer = typeof source === "object" && source !== null;
        const json = new PartialJson();
        for (const [character, known] of write(source as Json, blank, (at) => escaped && at % 3 === 0)) {
          json.push(character);
          if (isContainer || typeof source === "string") expect(print(json.value)).toBe(print(known));
        }
        expect(json.state).toBe("complete");
        expect(print(json.value)).toBe(print(source));
      }),
      { numRuns: 400 * SHARE },
    );
  });

  const pieces = fc.constantFrom(
    ...'{}[],:"\\/ \n'.split(""),
    "-",
    "0",
    "1",
    "12",
    ".",
    "e",
    "E+",
    "true",
    "nul",
    "l",
    "\\u",
    "00",
    "d83d",
    "a",
    "\0",
    "\uFEFF",
    "\u00a0",
    '"a":',
    "NaN",
  );
  test("is complete exactly when JSON.parse accepts it, and never throws", () => {
    const garbage = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary", maxLength: 10 }),
      // A valid text in which one character was removed, doubled or changed.
      fc
        .tuple(jsonText, fc.nat(), fc.nat({ max: 1 }), fc.oneof(pieces, fc.constant("")))
        .map(([source, at, removed, added]) => {
          const place = at % (source.length + 1);
          return source.slice(0, place) + added + source.slice(place + removed);
        }),
    );
    fc.assert(
      fc.property(garbage, points, (source, cuts) => {
        const json = read(...cut(source, cuts));
        const parsed = parse(source);
        expect(json.state === "complete").toBe(parsed !== undefined);
        if (parsed !== undefined) expect(print(json.value)).toBe(print(parsed.value));
        // The result equals that of one piece, also if partial or invalid.
        const whole = read(source);
        expect([json.state, print(json.value)]).toEqual([whole.state, print(whole.value)]);
      }),
      { numRuns: 6000 * SHARE },
    );
  });

  it("continues from any state that is not invalid", () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const source = parts.join("");
        const json = new PartialJson();
        let isInvalid = false;
        for (let at = 0; at < source.length; at++) {
          json.push(source.charAt(at));
          // The error is at the same character as in one piece, and later text does not fix it.
          expect(json.state === "invalid").toBe(read(source.slice(0, at + 1)).state === "invalid");
          if (isInvalid) expect(json.state).toBe("invalid");
          isInvalid = json.state === "invalid";
        }
      }),
      { numRuns: 1500 * SHARE },
    );
  });
});

describe("the grammar", () => {
  it("accepts the numbers JSON.parse accepts, and fails as early as possible", () => {
    const wrong: string[] = [];
    const visit = (source: string): void => {
      const lone = parse(source);
      // One more digit makes it complete.
      const canFollow = lone !== undefined || parse(`${source}0`) !== undefined || parse(`${source}1`) !== undefined;
      const expected = lone !== undefined ? "complete" : canFollow ? "partial" : "invalid";
      if (read(source).state !== expected) wrong.push(source);
      if ((read("[", source, "]").state === "complete") !== (lone !== undefined)) wrong.push(`[${source}]`);
      if (source.length < 6 && canFollow) for (const character of "019.eE+-") visit(source + character);
    };
    for (const character of "019.eE+-") visit(character);
    expect(wrong).toEqual([]);
    expect(read("-1.5e+").state).toBe("partial");
  });

  it("decodes escapes like JSON.parse", () => {
    const wrong: string[] = [];
    const check = (source: string): void => {
      const parsed = parse(source);
      const json = read(...source.split(""));
      if ((json.state === "complete") !== (parsed !== undefined) || (parsed && json.value !== parsed.value))
        wrong.push(source);
    };
    for (let code = 0; code < 0x180; code++) {
      const character = String.fromCharCode(code);
      for (const escape of [
        character,
        `u${character}FfA`,
        `u0${character}09`,
        `u0a${character}9`,
        `ud8A${character}`,
      ]) {
        check(`"\\${escape}"`);
        check(`"${escape}"`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("the value shown", () => {
  it.each<[text: string, value: Json | undefined]>([
    ["", undefined],
    ["  ", undefined],
    ["{", {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":12', {}],
    ['{"a":12 ', { a: 12 }],
    ['{"a":tru', {}],
    ['{"a":true', { a: true }],
    ['{"a":"', { a: "" }],
    ['{"a":"b\\', { a: "b" }],
    ['{"a":"b\\u00e', { a: "b" }],
    ['{"a":"b\\u00e9', { a: "bé" }],
    ['{"a":"b\\ud83d', { a: "b" }],
    ['{"a":"b\\ud83d\\ude00', { a: "b😀" }],
    ['{"a":"b\\ud83d"', { a: "b\ud83d" }],
    ['{"a":1,"a":"x', { a: "x" }],
    ["[[1,2", [[1]]],
    ["-", undefined],
    ["12", 12],
    ["12.", undefined],
    ['"text', "text"],
  ])("of %s", (source, value) => {
    expect(read(source).value).toStrictEqual(value);
  });

  it("keeps what precedes the error", () => {
    const cases: [text: string, offset: number, value: Json | undefined][] = [
      ['{"a":"b\n"}', 7, { a: "b" }],
      ['["a\\x"]', 4, ["a"]],
      ['["\\u00g0"]', 6, [""]],
      ["[1,]", 3, [1]],
      ['{"a":1}}', 7, { a: 1 }],
      ["[01]", 2, []],
      ["[1.]", 3, []],
      ["[1e+]", 4, []],
      ["[1.e1]", 3, []],
      ["[1-2]", 2, []],
      ["[trve]", 3, []],
      ["[truefalse]", 5, [true]],
      ["\uFEFF{}", 0, undefined],
    ];
    for (const [source, offset, value] of cases) {
      for (const json of [read(source), read(...source.split("")), read(source, "[1]")]) {
        expect([source, json.state, json.value]).toStrictEqual([source, "invalid", value]);
      }
      // The error is at that character.
      expect([source, read(source.slice(0, offset)).state]).not.toEqual([source, "invalid"]);
      expect([source, read(source.slice(0, offset + 1)).state]).toEqual([source, "invalid"]);
    }
  });

  it("does not touch prototypes", () => {
    const json = read('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    expect(Object.keys(json.value as object)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(json.value)).toBe(Object.prototype);
    expect("polluted" in {}).toBe(false);
  });

  it("is rejected if nested too deeply or if a number is too long", () => {
    const deepest = "[".repeat(MAX_JSON_DEPTH) + "]".repeat(MAX_JSON_DEPTH);
    expect(read(deepest).state).toBe("complete");
    expect(read(`[${deepest}]`).state).toBe("invalid");
    expect(read("9".repeat(4096)).value).toBe(Infinity);
    expect(read("9".repeat(4000), "9".repeat(200)).state).toBe("invalid");
    expect(read(`[${"9".repeat(4096)}]`).state).toBe("complete");
    expect(read(`[${"9".repeat(5000)}]`).state).toBe("invalid");
  });
});

describe("snapshots", () => {
  test("never change, and share unchanged parts", () => {
    fc.assert(
      fc.property(jsonText, (source) => {
        const json = new PartialJson();
        const given: [value: Json | undefined, copy: string | undefined][] = [];
        // A repeated key creates the value again, possibly an equal one.
        const keys = source.match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g) ?? [];
        const isPlain = new Set(keys).size === keys.length;
        for (const character of source.split("")) {
          json.push(character);
          const { value } = json;
          expect(json.value).toBe(value);
          const copy = print(value);
          // Nothing visible changed, so the object is the same.
          const last = given.at(-1);
          if (isPlain && last?.[1] === copy && typeof value === "object") expect(value).toBe(last?.[0]);
          given.push([value, copy]);
        }
        for (const [value, copy] of given) expect(print(value)).toBe(copy);
      }),
      { numRuns: 400 * SHARE },
    );
  });

  it("share complete parts", () => {
    const json = read('{"a":{"b":[1]},"c":["x');
    const before = json.value as { a: Json; c: Json };
    json.push('y"');
    const after = json.value as { a: Json; c: Json };
    expect(after).toEqual({ a: { b: [1] }, c: ["xy"] });
    expect(after.a).toBe(before.a);
    json.push("]}");
    expect(json.value).toBe(after);
  });
});

/** 64 KB of arguments in several shapes. */
const BIG: [shape: string, text: string][] = [
  ["one long string", JSON.stringify({ content: "some text\n".repeat(6000) })],
  ["10,000 numbers", JSON.stringify({ list: Array.from({ length: 10_000 }, (_, i) => (i * 7919) % 100_000) })],
  [
    "nested objects",
    JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ id: i, at: { x: { y: { z: [`${i}`.repeat(40)] } } } }))),
  ],
  ["many keys", JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key${i}`, i])))],
  [
    "a long text after many keys",
    JSON.stringify({
      ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, i])),
      last: "word ".repeat(12_000),
    }),
  ],
  ["deep and long", `${'{"a":'.repeat(200)}"${"x".repeat(62_000)}"${"}".repeat(200)}`],
];

/** Counts the values in containers that are new since the last read. Only the last value of a container can be open. */
function countCopied(before: Json | undefined, now: Json | undefined): number {
  if (before === now || typeof now !== "object" || now === null) return 0;
  const values = Object.values(now);
  const open = typeof before === "object" && before !== null ? Object.values(before).at(-1) : undefined;
  return 1 + values.length + countCopied(open, values.at(-1));
}

describe.each(BIG)("64 KB: %s", (_, source) => {
  it("is shown the same however it was cut and read, and never far behind", () => {
    const whole = new PartialJson();
    const small = new PartialJson();
    let shown = "";
    for (let at = 0; at < source.length; at += 997) {
      whole.push(source.slice(at, at + 997));
      for (let i = at; i < Math.min(at + 997, source.length); i += 3) {
        small.push(source.slice(i, Math.min(i + 3, at + 997)));
        void small.value;
      }
      expect(small.value).toEqual(whole.value);
      const now = JSON.stringify(whole.value);
      expect(now.length).toBeGreaterThanOrEqual(shown.length);
      // Behind by the unfinished token and one step at most.
      if (whole.state === "partial") expect(now.length).toBeGreaterThan((at + 997) * 0.9 - 1500);
      shown = now;
    }
    expect(shown).toBe(source);
  });

  it("is copied in proportion to its length in pieces of 4, read after each", () => {
    const json = new PartialJson();
    let copied = 0;
    let before: Json | undefined;
    for (let at = 0; at < source.length; at += 4) {
      json.push(source.slice(at, at + 4));
      copied += countCopied(before, json.value);
      before = json.value;
    }
    expect(json.state).toBe("complete");
    // Copying on each read would take 500 to 1,000 values per character for the wide shapes.
    expect(copied).toBeLessThan(64 * source.length);
  });
});
