import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findJsonFault } from "./find-json-fault.ts";
import { readArguments } from "./read-arguments.ts";
import { LONG } from "../../test/sampling.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("findJsonFault", () => {
  it.each([
    ['{"a": 1,}', 8, 'a string in "double quotes"'],
    ['{"a": tru}', 6, "a value"],
    ['{"a" 1}', 5, "a colon after the key"],
    ['{"a": 1 "b": 2}', 8, "a comma or }"],
    ['{"a": [1, 2}', 11, "a comma or ]"],
    ['{"a": "x', 8, 'a closing "'],
    ['{"a": "x\ny"}', 8, "no raw line break or control character in a string"],
    ['{"a": "\\x"}', 7, 'an escape such as \\n, \\" or \\u0041'],
    ["{'a': 1}", 1, 'a string in "double quotes"'],
    ['{"a": 01}', 7, "a comma or }"],
    ['{"a": 1} extra', 9, "nothing after the end of the value"],
    ["{", 1, 'a string in "double quotes"'],
    ["", 0, "a value"],
    ["[".repeat(1001), 1001, "less nesting"],
  ])("%j is wrong at %i", (text, position, expected) => {
    expect(findJsonFault(text)).toEqual({ position, expected });
  });

  it("finds a fault if and only if JSON.parse rejects the text", () => {
    const broken = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.array(fc.tuple(fc.nat(200), fc.nat(3), fc.constantFrom(...Array.from("{}[]\",:\\ 0.eE-+tn\n\u0001'a"))), {
          maxLength: 3,
        }),
      )
      .map(([text, edits]) => {
        let made = text;
        for (const [at, cut, sign] of edits) {
          const place = at % (made.length + 1);
          made = made.slice(0, place) + sign + made.slice(place + cut);
        }
        return made;
      });
    const fragments = fc.string({
      unit: fc.constantFrom(...Array.from('{}[]",: 01.eE-'), "\\u00", "true", "null"),
      maxLength: 12,
    });
    fc.assert(
      fc.property(fc.oneof(broken, fragments, fc.json()), (text) => {
        const fault = findJsonFault(text);
        expect(fault === undefined).toBe(isJson(text));
        if (fault !== undefined) expect(fault.position).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: LONG ? 300_000 : 3000 },
    );
  });
});

describe("readArguments", () => {
  const read = (rawInput: string): string => {
    const result = readArguments({ input: undefined, rawInput });
    return result.ok ? JSON.stringify(result.input) : result.message;
  };

  it("reports the position of an error", () => {
    expect(read('{"path": "a.txt", "mode": write}')).toBe(
      "The arguments are not valid JSON. The text of 32 characters is invalid at position 26: expected a value. " +
        'Context: {"path": "a.txt", "mode": ⟨here⟩write}\nCall the tool again with one JSON object.',
    );
    expect(read('{"a": "b')).toContain('ends too early: expected a closing "');
  });

  it("reports a value that is not an object", () => {
    expect(read("[1]")).toBe("The arguments must be a JSON object, not an array");
    expect(read('"x"')).toBe('The arguments must be a JSON object, not "x"');
    expect(read("null")).toBe("The arguments must be a JSON object, not null");
  });

  it("treats an empty text as no arguments", () => {
    expect(read(" ")).toBe("{}");
  });

  it("keeps the message short for a long text", () => {
    expect(read(`{"a": "${"x".repeat(100_000)}`).length).toBeLessThan(400);
  });
});
