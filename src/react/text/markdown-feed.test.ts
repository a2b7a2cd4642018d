// However a text is split, the result equals tokenizing it at once, and the total work stays linear.
import fc from "fast-check";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { MarkdownBlock } from "./block-elements.tsx";
import { collectLinks, type LinkDefinitions, lexMarkdown } from "./lex-markdown.ts";
import { type FeedBlock, type MarkdownDocument, MarkdownFeed } from "./markdown-feed.ts";
import { LONG } from "../../../test/sampling.ts";

/** The rows of a long table are in several `tbody`, one per piece; at once they are in one. */
const show = (blocks: readonly FeedBlock[]): string =>
  renderToStaticMarkup(
    blocks.map((block, key): ReactNode => createElement(MarkdownBlock, { key, block, isOpen: false })),
  ).replaceAll("</tbody><tbody>", "");

const showDocument = ({ pages, rest }: MarkdownDocument): string => show(pages.flat()) + rest;

/** Tokenizes the whole text with the lexer alone; twice, so that references find later definitions. */
function showAtOnce(text: string): string {
  const source = text.replaceAll(/\r\n?/g, "\n");
  const links = Object.create(null) as LinkDefinitions;
  collectLinks(lexMarkdown(source, links), links);
  return show(lexMarkdown(source, links).map((token): FeedBlock => ({ kind: "token", token })));
}

function feedPieces(pieces: readonly string[]): MarkdownFeed {
  const feed = new MarkdownFeed();
  let text = "";
  for (const piece of pieces) feed.update((text += piece), false);
  feed.update(text, true);
  return feed;
}

const showCut = (pieces: readonly string[]): string => {
  const feed = feedPieces(pieces);
  return showDocument(feed.update(pieces.join(""), true));
};

const RUNS = LONG ? 30_000 : 120;

const LINES = [
  ..."|- a|- b\n  c|* x|+ y|1. one|2. two|3) three|- [ ] open|- [x] done|  - nested|    - deeper|    code|\tcode|  ".split(
    "|",
  ),
  ..."||\n|\n\n|# h|## h ##|#|text|more *text* here|a **b** c|`code`|```|````|```js|~~~|  ```|   ~~~|> quote|> > deep|>".split(
    "|",
  ),
  ...'> - in|> ```|lazy|===|---|--|-|=|***|- - -|* * *|[a]: /u|[a]: http://x "t"|[b]: <http://y>|[a]: /u "open|end"|(open|)|- [a]: /u|> [a]: /u'.split(
    "|",
  ),
  ..."[a]|[a][b]|![a]|[b](http://z)|<div>|</div>|<b>x</b>|<!-- c|-->|<pre>|</pre>|<script>|</script>|<br>|$$|\\[|\\]|$x$|$5 and $6".split(
    "|",
  ),
  "| a | b |",
  "|---|---|",
  "| 1 | 2 |",
  "a | b",
  "- | -",
  "|-",
  "1",
  "10. ten",
  "&amp; &copy;",
  "x  ",
  "\\",
  "**open",
  "`open",
  "http://example.org",
  "中文 **粗体**，文字",
  "a note[^1]",
  "[^1]: the note",
  "[^b]:",
  "\\(x",
  "$y",
];

const markdown = fc
  .array(fc.tuple(fc.constantFrom(...LINES), fc.constantFrom("\n", "\n", "\n", "\n\n", "\r\n", "")), { maxLength: 14 })
  .map((lines) => lines.flat().join(""));

/** Where a text is split, as fractions of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

function cut(text: string, places: readonly number[]): string[] {
  const at = [...new Set(places.map((place) => Math.floor(place * text.length)))].toSorted((a, b) => a - b);
  return [0, ...at].map((start, index) => text.slice(start, at[index] ?? text.length));
}

describe("incremental parsing", () => {
  it("equals parsing at once for any split", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, places) => {
        expect(showCut(cut(text, places))).toBe(showAtOnce(text));
      }),
      { numRuns: RUNS },
    );
  });

  it("equals parsing at once character by character", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        expect(showCut(text.split(""))).toBe(showAtOnce(text));
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it("equals parsing at once when lists and tables are emitted in pieces", () => {
    const filler = "x".repeat(120);
    fc.assert(
      fc.property(markdown, fc.nat(200), cuts, (text, seed, places) => {
        const long = text
          .split("\n")
          .map((line, index) => ((index * 7 + seed) % 3 === 0 && /\w$/.test(line) ? `${line} ${filler}` : line))
          .join("\n");
        const repeated = Array.from({ length: 8 }, () => long).join("\n");
        expect(showCut(cut(repeated, places))).toBe(showAtOnce(repeated));
      }),
      {
        numRuns: RUNS / 6,
        examples: [
          // A cut before the end of a line that is a definition only up to there.
          ['[a]: http://x "t"| 1 | 2 |\n\n[a][b]\n', 0, [0.146_341_463_414_634_14]],
          // A definition in an item that is emitted before the end of its list.
          ["| 1 | 2 |\n[^1]: the note\n- a\n[a]: /u", 0, []],
          // A task whose text is a table.
          ["- [x] done\n- [x] done\n|-\n", 0, []],
          // A long table that ends with an incomplete row.
          ["**open\n|-\n[a]", 0, []],
        ],
      },
    );
  });
});

/** A megabyte of each kind. */
const MEGABYTE = 1_000_000;
const fill = (line: string, begin = ""): string => begin + line.repeat(Math.ceil(MEGABYTE / line.length));
const KINDS: Readonly<Record<string, string>> = {
  paragraphs: fill(`${"Some words with **bold** and `code`, and a [link](https://x.example). ".repeat(4)}\n\n`),
  "one paragraph": fill("Some words with **bold** and `code` that never end. "),
  "one list": fill("- an item with **bold** words\n"),
  "one loose list": fill("1. an item with **bold** words\n\n   and a paragraph\n\n"),
  "one nested list": fill("  - an item with **bold** words\n", "- all\n"),
  "one table": fill("| 1 | **two** |\n", "| a | b |\n|---|---|\n"),
  "one block of code": fill("const a = 1;\n", "```js\n"),
  "code in a list": fill("  const a = 1;\n", "- a\n  ```js\n"),
  "definitions in a list": fill("- an item\n- [a]: https://x.example\n", "[a] and [b]\n\n"),
  "one quote": fill("> words *and* words\n"),
  headings: fill("# a heading\n"),
  definitions: fill("[a] and [b]\n\n[a]: https://x.example\n\n"),
};
const STEP = 500;

describe("tokenized characters", () => {
  it.each(Object.keys(KINDS))("are a multiple of the text: %s", (kind) => {
    const text = (KINDS[kind] ?? "").slice(0, LONG ? MEGABYTE : MEGABYTE / 20);
    const feed = new MarkdownFeed();
    let updates = 0;
    for (let end = STEP; end < text.length; end += STEP, updates++) feed.update(text.slice(0, end), false);
    feed.update(text, true);
    // An open end up to 2,000 characters is tokenized twice per update, to close its marks; a longer one after it has
    // grown by an eighth. References are resolved again whenever the text has doubled.
    expect(feed.lexed).toBeLessThan(12 * text.length + 2 * 2000 * updates);
  });

  it("are zero inside an open code block", () => {
    const text = `${(KINDS["one block of code"] ?? "").slice(0, 100_000)}\n\`\`\`\n`;
    const feed = new MarkdownFeed();
    for (let end = 10; end < text.length; end += 10) feed.update(text.slice(0, end), false);
    expect(feed.lexed).toBeLessThan(100);
    feed.update(text, true);
    expect(feed.lexed).toBeLessThan(text.length + 200);
  });

  it("equal the text once if it arrives at once", () => {
    const text = (KINDS["paragraphs"] ?? "").slice(0, 100_000);
    const feed = new MarkdownFeed();
    feed.update(text, true);
    expect(feed.lexed).toBeLessThan(1.2 * text.length);
  });
});

describe("finished blocks", () => {
  it("keep their identity, page by page", () => {
    const paragraphs = Array.from({ length: 200 }, (_, index) => `Paragraph ${index}.\n\n`);
    const feed = new MarkdownFeed();
    let text = paragraphs.join("");
    const before = feed.update(text, false);
    text += "And *more";
    const after = feed.update(text, false);
    expect(after.count).toBe(201);
    expect(after.pages.slice(0, 3)).toEqual(before.pages.slice(0, 3));
    expect(after.pages.slice(0, 3).every((page, index) => page === before.pages[index])).toBe(true);
    expect(
      after.pages
        .at(-1)
        ?.slice(0, -2)
        .every((block, index) => block === before.pages.at(-1)?.[index]),
    ).toBe(true);
    expect(feed.update(text, false)).toBe(after);
  });

  it("are discarded if a text does not continue the previous one", () => {
    const feed = new MarkdownFeed();
    feed.update("# One\n\ntwo\n\nthree", false);
    expect(showDocument(feed.update("other", true))).toBe("<p>other</p>");
    expect(showDocument(feed.update("other text", false))).toBe("<p>other text</p>");
  });
});
