// Syntax highlighting as elements: only spans with our classes.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { common, createLowlight } from "lowlight";
import { highlightCode } from "./code-highlight.tsx";
import { isKnownLanguage, LANGUAGE_NAMES } from "../plugins.tsx";

describe("code", () => {
  it("is highlighted with the same text", () => {
    const shown = renderToStaticMarkup(highlightCode("const a = '<b>';", "JS"));
    expect(shown).toBe(
      '<span class="loom-hl-keyword">const</span> a = <span class="loom-hl-string">&#x27;&lt;b&gt;&#x27;</span>;',
    );
  });

  it("stays plain in an unknown language", () => {
    expect(highlightCode("x", "klingon")).toBe("x");
    expect(isKnownLanguage("klingon")).toBe(false);
    expect(isKnownLanguage("constructor")).toBe(false);
  });

  it("can be highlighted in every listed language", () => {
    const lowlight = createLowlight(common);
    expect(LANGUAGE_NAMES.filter((name) => !lowlight.registered(name))).toEqual([]);
  });
});
