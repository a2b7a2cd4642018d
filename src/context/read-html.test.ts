import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHtml, readHtmlAsync } from "./read-html.ts";

describe("readHtml", () => {
  it("extracts the readable text", () => {
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
    ["caf&eacute; &rarr; &CounterClockwiseContourIntegral; &amp &__proto__;", "café → ∳ & &__proto__;"],
    ["<a href='/?a=1&copy=2&amp;b=3'>link</a>", "link (/?a=1&copy=2&b=3)"],
    ['<p title = "a > b">spaced', "spaced"],
    ["<!-->shown<!--->too", "showntoo"],
    ["<script>a = '</scripts>no'</script>yes", "yes"],
    ["<", "<"],
    ['<h1>Hi</h1><svg class="i"/><p>seen</p>', "# Hi\n\nseen"],
    ['<script src="x.js"/><p>seen</p>', "seen"],
    ["<p>before <video src=x> seen <p>after", "before seen\n\nafter"],
    ["<svg><path/></svg>seen<svg>seen", "seenseen"],
  ])("reads %j as %j", (html, text) => expect(readHtml(html)).toBe(text));

  it("reads a long page the same asynchronously, including entities at slice ends, and stops when aborted", async () => {
    for (const piece of ["word &amp; ", "&#x4e2d;", "<b>x</b> ", "  \n", "<pre>a\nb"]) {
      const html = piece.repeat(20_000);
      expect(await readHtmlAsync(html, undefined)).toBe(readHtml(html));
    }
    expect(readHtml("&amp;".repeat(30_000))).toBe("&".repeat(30_000));
    expect(readHtml("&CounterClockwiseContourIntegral;".repeat(5000))).toBe("∳".repeat(5000));
    const reading = readHtmlAsync("<b>x".repeat(100_000), AbortSignal.abort(new Error("enough")));
    await expect(reading).rejects.toThrow("enough");
  });

  it("never throws and never returns a script", () => {
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

  it.each([
    "<",
    "<a ",
    "<b>x",
    "<p>",
    "</",
    "<script",
    "&#1",
    "&",
    "&amp",
    "&CounterClockwise",
    "<a b = ",
    "<!--",
    "<a href='",
    "<pre>\n",
    "<script></",
    "x<br>",
    "<video>",
    "<svg></",
  ])("is linear for a page of %j", (piece) => {
    const html = piece.repeat(Math.ceil(300_000 / piece.length));
    const before = process.threadCpuUsage();
    readHtml(html);
    // Microseconds. With quadratic cost it would be minutes.
    expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
  });
});
