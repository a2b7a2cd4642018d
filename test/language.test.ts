// The language check: planted words are found with their line and a suggestion, and ordinary text passes. That the
// project itself passes is checked by `npm run language:check`.
import { describe, expect, it } from "vitest";
import { findLanguageFaults } from "../scripts/find-language-faults.ts";

function check(text: string, path = "src/example.ts"): string[] {
  return findLanguageFaults([{ path, text }]).map(({ line, found }) => `${line}: ${found}`);
}

describe("the language check", () => {
  it("finds a listed word in a comment, a string, a test name and prose", () => {
    expect(check("const a = 1;\n// Nobody reads this.\n")).toEqual(["2: Nobody"]);
    expect(check('throw new Error("the door is closed");\n')).toEqual(["1: door"]);
    expect(check('it("tells whoever asks", () => {});\n', "test/a.test.ts")).toEqual(["1: whoever"]);
    expect(check("# Guide\n\nThe session is made anew.\n", "docs/guides/a.md")).toEqual(["3: anew"]);
  });

  it("finds a phrase that continues on the next line", () => {
    expect(check("/**\n * The observer is\n * told later.\n */\n")).toEqual(["2: is told"]);
    expect(check("// The observer is\n// told later.\n")).toEqual(["1: is told"]);
  });

  it("suggests a replacement", () => {
    const [fault] = findLanguageFaults([{ path: "a.md", text: "Each door has a name.\n" }]);
    expect(fault).toEqual({
      path: "a.md",
      line: 1,
      found: "door",
      suggestion: "endpoint (HTTP) or entry point (package)",
    });
  });

  it.each([
    "There is no such session.",
    "The value is no longer than the limit.",
    "`_` stands for the root namespace.",
    "const outdoors = indoor;",
    "The bearer token is invalid.",
    "Take a rest, leave the room, look at the place.",
  ])("accepts: %s", (text) => {
    expect(check(text)).toEqual([]);
  });
});
