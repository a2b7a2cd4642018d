import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { revealHidden } from "./reveal-hidden.ts";

describe("revealHidden", () => {
  it.each([
    ["photo_\u202Egnp.exe", "photo_⟨U+202E⟩gnp.exe"],
    ["rm\u200b -rf\u2066", "rm⟨U+200B⟩ -rf⟨U+2066⟩"],
    ["a\u0000b\u001b[31m", "a⟨U+0000⟩b⟨U+001B⟩[31m"],
    ["a\ud800b", "a⟨U+D800⟩b"],
    ["tag\u{e0041}", "tag⟨U+E0041⟩"],
  ])("reveals %j", (text, shown) => expect(revealHidden(text)).toBe(shown));

  it.each(["line\n\ttab\r\n", "שלום", "می‌خواهم", "👩‍👩‍👧", "中文，😀"])("leaves %j unchanged", (text) =>
    expect(revealHidden(text)).toBe(text),
  );

  it("removes all hidden characters and returns well-formed text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = revealHidden(text);
        expect(shown.isWellFormed()).toBe(true);
        expect(revealHidden(shown)).toBe(shown);
      }),
    );
  });
});
