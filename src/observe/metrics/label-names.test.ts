import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLabelLimit, cleanLabel, MAX_LABEL_LENGTH, NamedParts } from "./label-names.ts";

class Count {
  value = 0;

  merge({ value }: Count): void {
    this.value += value;
  }
}

function countAll(names: readonly string[], maxLabels: number): NamedParts<Count> {
  const parts = new NamedParts(() => new Count(), maxLabels);
  for (const name of names) parts.at(name).value++;
  return parts;
}

const describeAll = (parts: NamedParts<Count>) => parts.summarize(({ value }) => value);

describe("labels", () => {
  it("are cut, but never within a character", () => {
    expect(cleanLabel("x".repeat(1000))).toHaveLength(MAX_LABEL_LENGTH);
    expect(cleanLabel(`${"x".repeat(MAX_LABEL_LENGTH - 1)}😀`).isWellFormed()).toBe(true);
  });

  it("contain neither secrets nor invisible characters", () => {
    expect(cleanLabel("gpt sk-proj-abcdEFGH12345678")).toBe("gpt [redacted]");
    expect(cleanLabel('a"b\nc\u2028d\u0000e\u202ef')).toBe('a"b_c_d_e_f');
    expect(["search_docs", "openai/gpt-5.1:latest", "查找"].map(cleanLabel)).toEqual([
      "search_docs",
      "openai/gpt-5.1:latest",
      "查找",
    ]);
  });

  it("are limited to the first names", () => {
    const labelOf = createLabelLimit(2);
    expect(["b", "c", "a", "b", "other"].map(labelOf)).toEqual(["b", "c", "other", "b", "other"]);
  });
});

describe("named parts", () => {
  it("beyond the limit are combined", () => {
    expect(describeAll(countAll(["c", "a", "b", "c", "d"], 2))).toEqual({ a: 1, b: 1, other: 3 });
    expect(describeAll(countAll(["a", "other"], 2))).toEqual({ a: 1, other: 1 });
    expect(describeAll(countAll(["a", "b"], 0))).toEqual({ other: 2 });
  });

  it("can have any name", () => {
    const summary = describeAll(countAll(["__proto__", "constructor", ""], 9));
    expect(JSON.parse(JSON.stringify(summary))).toEqual(JSON.parse('{"":1,"__proto__":1,"constructor":1}'));
  });

  it("merge to the same result in any order, also beyond the limit", () => {
    const name = fc.constantFrom("a", "b", "c", "d", "e", "other", "f", "g");
    fc.assert(
      fc.property(
        fc.array(fc.array(name, { maxLength: 12 }), { maxLength: 5 }),
        fc.nat({ max: 9 }),
        fc.boolean(),
        (groups, maxLabels, isFromRight) => {
          const whole = describeAll(countAll(groups.flat(), maxLabels));
          const sums = groups.map((names) => countAll(names, maxLabels));
          if (isFromRight) sums.reverse();
          const sum = countAll([], maxLabels);
          for (const part of sums) sum.merge(part);
          expect(describeAll(sum)).toEqual(whole);
        },
      ),
    );
  });
});
