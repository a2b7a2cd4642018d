import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHtml } from "./read-html.ts";

describe("readHtml", () => {
  it("gives what there is to read", () => {
    const html = `<!doctype html><html><head><title>A &amp; B</title><style>p { color: red }</style>
      <script>if (a < b) document.write("<p>no</p>")</script></head>
      <body><!-- <p>no</p> --><h2>First</h2><p>One <b>bold</b>
      word,&nbsp;and <a href="https://example.org/?a=1&amp;b=2">a link</a>.</p>
      <ul><li>x</li><li>y <i>z</i></li></ul>
      <table><tr><th>k</th><td>1 &lt; 2</td></tr></table>
      <pre>a
  b</pre><p title="a > b">last &#x4e2d;&#25991; &unknown;</p></body></html>`;
    expect(readHtml(html)).toBe(
      [
        "A & B",
        "",
        "## First",
        "",
        "One bold word, and a link (https://example.org/?a=1&b=2).",
        "",
        "- x",
        "- y z",
        "",
        "k | 1 < 2 |",
        "",
        "a",
        "  b",
        "",
        "last 中文 &unknown;",
      ].join("\n"),
    );
  });

  it.each([
    ["1 < 2 and 3 > 2", "1 < 2 and 3 > 2"],
    ["<p>open <b>never closed", "open never closed"],
    ["text<script>no end", "text"],
    ["text<!-- no end", "text"],
    ["<SCRIPT>no</ScRiPt >yes", "yes"],
    ["<p class='a>b'>quoted", "quoted"],
    ['<a href="javascript:alert(1)">click</a>', "click"],
    ["</p></p></div>", ""],
    ["&#0;&#xD800;&#x110000;", "���"],
    ["<", "<"],
  ])("%j gives %j", (html, text) => expect(readHtml(html)).toBe(text));

  it("never throws and never shows a script", () => {
    const piece = fc.constantFrom(
      ..."<|>|</|script|<script>|</script>|<p|<p>|'|\"|=|&|&#|;|<!--|-->|<a href=|x| |\n|pre|<pre>|</pre>".split("|"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        readHtml(pieces.join(""));
        const wrapped = readHtml(`${pieces.join("").replaceAll(/["'=]|<!--|<script>/g, "")}><script>HIDDEN</script>`);
        expect(wrapped).not.toContain("HIDDEN");
      }),
    );
  });

  it.each(["<", "<a ", "<b>x", "<p>", "</", "<script", "&#1", "<!--", "<a href='", "<pre>\n", "<script></", "x<br>"])(
    "takes time in proportion to a page of %j",
    (piece) => {
      const html = piece.repeat(Math.ceil(300_000 / piece.length));
      const before = process.threadCpuUsage();
      readHtml(html);
      // Microseconds. Squared it would be minutes.
      expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
    },
  );
});
