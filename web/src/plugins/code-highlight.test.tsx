// Colours and formulas as elements: only spans with our classes, only MathML that is on the list.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { common, createLowlight } from "lowlight";
import { colourCode } from "./code-highlight.tsx";
import { isKnownLanguage, LANGUAGE_NAMES } from "./code-languages.ts";

describe("code", () => {
  it("is coloured, and stays the same text", () => {
    const shown = renderToStaticMarkup(colourCode("const a = '<b>';", "JS"));
    expect(shown).toBe(
      '<span class="loom-hl-keyword">const</span> a = <span class="loom-hl-string">&#x27;&lt;b&gt;&#x27;</span>;',
    );
  });

  it("is left alone in a language nobody knows", () => {
    expect(colourCode("x", "klingon")).toBe("x");
    expect(isKnownLanguage("klingon")).toBe(false);
    expect(isKnownLanguage("constructor")).toBe(false);
  });

  it("has colours for every language that is promised", () => {
    const lowlight = createLowlight(common);
    expect(LANGUAGE_NAMES.filter((name) => !lowlight.registered(name))).toEqual([]);
  });
});
