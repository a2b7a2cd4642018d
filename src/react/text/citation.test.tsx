// Citations: where they are found, how they are rendered, and what is shown of one that has not arrived completely.
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { MessagePart } from "../../client/index.ts";
import { CitationProvider, createSourceFinder, listCitedSources } from "./citation.tsx";
import { findCitations, splitCitations } from "./find-citations.ts";
import { RichText } from "./rich-text.tsx";
import { splitAtRange } from "./split-at-range.ts";

const SOURCES = new Map([1, 2, 12].map((ref) => [ref, { title: `T${ref}`, ref }]));

/** Renders the text; a citation becomes `‹1›`. */
function show(text: string, { isComplete = true, hrefOf }: { isComplete?: boolean; hrefOf?: typeof linkTo } = {}) {
  const markup = renderToStaticMarkup(
    <CitationProvider sources={SOURCES} {...(hrefOf === undefined ? {} : { hrefOf })}>
      <RichText text={text} format="markdown" isComplete={isComplete} />
    </CitationProvider>,
  );
  return markup
    .replaceAll(
      /<button type="button" class="loom-citation" title="T\d+" aria-label="Source (\d+): T\1">\1<\/button>/g,
      "‹$1›",
    )
    .replace(/^<div class="loom-text" dir="auto">(.*)<\/div>$/s, "$1");
}
const linkTo = (ref: number): string => `#s${ref}`;

describe("citations in a text", () => {
  it.each([
    ["The moon [1].", "<p>The moon ‹1›.</p>", [1]],
    ["Both [1][2] and [1, 2] and [1，12]", "<p>Both ‹1›‹2› and ‹1›‹2› and ‹1›‹12›</p>", [1, 2, 12]],
    ["Unknown [3] and [1, 3]", "<p>Unknown [3] and [1, 3]</p>", [3, 1]],
    ["**a [1]** ~~b [2]~~", "<p><strong>a ‹1›</strong> <del>b ‹2›</del></p>", [1, 2]],
    ["- a [1]\n- b", '<ul dir="auto"><li><span>a ‹1›</span></li><li><span>b</span></li></ul>', [1]],
    ["`a[1]` and $x[1]$", /<code>a\[1\]<\/code>/, []],
    ["```\na[1]\n```", /a\[1\]/, []],
    ["    a[1]", /a\[1\]/, []],
    ["[see [1]](https://x.y)", />see \[1\]<\/a>/, []],
    ["[1](https://x.y)", />1<\/a>/, []],
    ["Said [1].\n\n[1]: https://x.y", />1<\/a>/, []],
    ["Said [1].\n\n[1]: notes.md", "<p>Said ‹1›.</p>", [1]],
    ["<code>[1]</code> <a href='https://x.y'>[2]</a> [12]", /<code>\[1\]<\/code> <a [^>]*>\[2\]<\/a> ‹12›/, [12]],
    ["[1\\] [01a] [] [-1] [12345]", "<p>[1] [01a] [] [-1] [12345]</p>", []],
    ["| a |\n| - |\n| b [2] |", /<td>b ‹2›<\/td>/, [2]],
  ] as const)("%j", (text, markup, refs) => {
    const shown = show(text);
    if (typeof markup === "string") expect(shown).toBe(markup);
    else {
      expect(shown).toMatch(markup);
      expect(shown.match(/‹/g)?.length ?? 0).toBe(refs.length);
    }
    expect(findCitations(text)).toEqual(refs);
  });

  it("are links if a document needs no script", () => {
    expect(show("a [1]", { hrefOf: linkTo })).toBe('<p>a <a href="#s1">[1]</a></p>');
  });

  it("are text without sources", () => {
    expect(renderToStaticMarkup(<RichText text="a [1]" format="markdown" isComplete />)).toContain("<p>a [1]</p>");
  });

  it("are held back until they are complete", () => {
    const text = "Tides [1] are [1, 2]";
    const seen = Array.from({ length: text.length }, (_, end) => show(text.slice(0, end + 1), { isComplete: false }));
    expect(seen.filter((markup) => markup.includes("[") || markup.includes("]"))).toEqual([]);
    expect(seen.at(-1)).toBe("<p>Tides ‹1› are ‹1›‹2›</p>");
    expect(show("a [1", { isComplete: true })).toBe("<p>a [1</p>");
  });

  it("split a text without losing characters", () => {
    const unit = fc.constantFrom("[", "]", "1", "2", ",", " ", "a");
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const pieces = splitCitations(text);
        expect(pieces.map((piece) => (typeof piece === "string" ? piece : piece.raw)).join("")).toBe(text);
      }),
    );
  });
});

describe("the sources of a message", () => {
  const text = (words: string, more = {}) => ({ type: "text", key: "t", text: words, format: "markdown", ...more });
  const found = (key: string, ...refs: readonly number[]) => ({
    type: "references",
    key,
    sources: refs.map((ref) => ({ ref, title: key })),
  });
  const list = (parts: readonly object[]) =>
    listCitedSources(parts as readonly MessagePart[]).map(({ ref, title }) => `${ref} ${title}`);

  it("are listed once, in the order of their citations", () => {
    expect(list([found("a", 1, 2), found("b", 2, 3), text("x [3] [1]"), text("y [1] [2] [9] `[4]`")])).toEqual([
      "3 b",
      "1 a",
      "2 a",
    ]);
    expect(list([found("a", 1), text("[1]", { supersededBy: 2 }), text("[1]", { format: "text" })])).toEqual([]);
    expect(list([text("[1]")])).toEqual([]);
  });

  it("keep their identity while text arrives", () => {
    const find = createSourceFinder();
    const references = found("a", 1);
    const parts = (words: string) => [references, text(words)] as unknown as readonly MessagePart[];
    expect(find(parts("x"))).toBe(find(parts("x y")));
    expect(find([...parts("x"), found("b", 2)] as unknown as readonly MessagePart[]).size).toBe(2);
  });
});

describe("a text split around a passage", () => {
  const MARKDOWN = "# T\n\nfirst\nline\n\n```\ncode\n\nmore\n```\n\n1. one\n2. two\n3. three\n\nlast\n";
  const at = (words: string, isMarkdown = true) => {
    const start = MARKDOWN.indexOf(words);
    return splitAtRange(MARKDOWN, { start, end: start + words.length }, isMarkdown).within;
  };

  it("has whole blocks, items or lines", () => {
    expect(at("line")).toBe("first\nline\n\n".replace(/\n\n$/, ""));
    expect(at("more")).toContain("```\ncode\n\nmore\n```");
    expect(at("two").trim()).toBe("2. two");
    expect(at("two\n3. th").trim()).toBe("2. two\n3. three");
    expect(at("\n\nlast").trim()).toBe("last");
    expect(at("line", false)).toBe("line\n");
  });

  it("has only its own sentences in a very long line or paragraph", () => {
    const sentence = "The moon pulls the sea. ";
    const long = `${sentence.repeat(60)}A butterfly. ${sentence.repeat(60)}`;
    for (const isMarkdown of [true, false])
      for (const [text, within] of [
        [`# T\n\n${long}\n\nlast`, "A butterfly."],
        [`# T\n\n${sentence}A butterfly. ${sentence}\n\nlast`, `${sentence}A butterfly. ${sentence}`.trim()],
      ] as const) {
        const start = text.indexOf("A butterfly. ");
        expect(splitAtRange(text, { start, end: start + 13 }, isMarkdown).within.trim()).toBe(within);
      }
    // A part of code would not be code.
    const code = `\`\`\`\n${long}\n\`\`\``;
    const start = code.indexOf("A butterfly.");
    expect(splitAtRange(code, { start, end: start + 12 }, true).within).toBe(code);
  });

  it("has every character once", () => {
    const line = fc.constantFrom("a", "", "- x", "1. y", "  z", "# h", "```", "| a |", "| - |", "> q", "[a]: b", "$$");
    fc.assert(
      fc.property(fc.array(line), fc.nat(60), fc.nat(60), fc.boolean(), (lines, start, length, isMarkdown) => {
        const text = lines.join("\n");
        const { before, within, after } = splitAtRange(text, { start, end: start + length }, isMarkdown);
        expect(before + within + after).toBe(text);
        expect(within).toContain(text.slice(start, start + length).trim());
      }),
    );
  });
});
