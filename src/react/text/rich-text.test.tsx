// Server rendering of rich text: expected markup, and a check that nothing forbidden is rendered.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { XSS_CORPUS } from "../../../test/page/xss-corpus.ts";
import { UiProvider } from "../ui/ui-context.tsx";
import { RichText } from "./rich-text.tsx";

const show = (text: string, format = "markdown", isComplete = true): string =>
  renderToStaticMarkup(<RichText text={text} format={format} isComplete={isComplete} />).replace(
    /^<div class="loom-text[^"]*" dir="auto">(.*)<\/div>$/s,
    "$1",
  );

/** Tags of the markup with their attributes; quotes inside values are removed. */
const readTags = (markup: string): string[] => [...markup.matchAll(/<[^>"]*(?:"[^"]*"[^>"]*)*>/g)].map(([tag]) => tag);

const TAG =
  /^<\/?(?:p|div|span|a|b|i|u|s|q|em|strong|del|ins|mark|small|sub|sup|kbd|code|samp|var|cite|dfn|abbr|time|bdi|bdo|br|wbr|hr|img|ul|ol|li|input|h[2-6]|blockquote|pre|table|thead|tbody|tr|th|td|button|svg|path)(?=[\s/>])/;
const ATTRIBUTE =
  /\s(?:class|href="(?:https?:\/\/|mailto:)[^"]*"|src="data:image\/png|rel="noopener noreferrer nofollow"|target="_blank"|title|alt|start|scope|data-align|aria-[a-z]+|role="group"|tabindex="0"|type="(?:button|checkbox)"|disabled|readOnly|checked|loading|decoding|referrerPolicy|viewBox|focusable|d|dir|lang)/y;

function findForbidden(markup: string): string[] {
  return readTags(markup).filter((tag) => {
    if (!TAG.test(tag)) return true;
    const names = tag.replaceAll(/="[^"]*"/g, (value) => value).matchAll(/\s([\w:-]+)(?:="[^"]*")?/g);
    for (const { index } of names) {
      ATTRIBUTE.lastIndex = index;
      if (!ATTRIBUTE.test(tag)) return true;
    }
    return false;
  });
}

describe("Markdown", () => {
  it.each([
    ["a **b** *c* ~~d~~ `e`", "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>"],
    ["# One\n\n###### Six", '<h2 class="loom-heading-1">One</h2><h6 class="loom-heading-4">Six</h6>'],
    ["a  \nb", "<p>a<br/>b</p>"],
    ["- a\n- b", '<ul dir="auto"><li><span>a</span></li><li><span>b</span></li></ul>'],
    ["- a\n\n- b", '<ul dir="auto"><li><p>a</p></li><li><p>b</p></li></ul>'],
    ["3. a", '<ol dir="auto" start="3"><li><span>a</span></li></ol>'],
    ["> a", "<blockquote><p>a</p></blockquote>"],
    ["---", "<hr/>"],
    ["&lt;b&gt; &amp;amp; &copy; &#65; &nosuch;", "<p>&lt;b&gt; &amp;amp; © A &amp;nosuch;</p>"],
    ["\\*a\\*", "<p>*a*</p>"],
    ["`&amp;`", "<p><code>&amp;amp;</code></p>"],
    ["H<sub>2</sub>O <b>x *y*</b>", "<p>H<sub>2</sub>O <b>x <em>y</em></b></p>"],
    ["a <b>b", "<p>a <span>b</span></p>"],
    ["a </b> b", "<p>a  b</p>"],
    ["**注意：**请看**“引文”**处", "<p><strong>注意：</strong>请看<strong>“引文”</strong>处</p>"],
    ["see [1] and [^2]", "<p>see [1] and [^2]</p>"],
    [
      "so[^b]\n\n[^b]: *why*",
      '<p>so<sup><button type="button" class="loom-footnote-link" data-footnote-link="b" aria-label="Footnote b">b</button></sup></p>' +
        '<div class="loom-footnote" role="note" aria-label="Footnote b" tabindex="-1" data-footnote="b">' +
        '<button type="button" class="loom-footnote-link" title="Back to the text">b</button><span><em>why</em></span></div>',
    ],
    ["$5 and $6, US$7 or $8", "<p>$5 and $6, US$7 or $8</p>"],
    ["$HOME/$USER", "<p>$HOME/$USER</p>"],
    ["a $x_1*y_2*z$ b", '<p>a <span class="loom-math"><code class="loom-math-source">x_1*y_2*z</code></span> b</p>'],
    ["`$x$`", "<p><code>$x$</code></p>"],
    [
      "text\n$$\na\n- b\n$$",
      '<p>text</p><span class="loom-math loom-math-block"><code class="loom-math-source">a\n- b</code></span>',
    ],
  ])("%j", (text, markup) => {
    expect(show(text)).toBe(markup);
  });

  it("opens links in a new tab without a referrer", () => {
    const attributes = 'target="_blank" rel="noopener noreferrer nofollow"';
    expect(show("[a](https://x.example/?a&amp;b)")).toBe(
      `<p><a class="loom-link" href="https://x.example/?a&amp;b" ${attributes}>a</a></p>`,
    );
    expect(show("https://x.example, a@b.example")).toBe(
      `<p><a class="loom-link" href="https://x.example/" ${attributes}>https://x.example</a>, ` +
        `<a class="loom-link" href="mailto:a@b.example" ${attributes}>a@b.example</a></p>`,
    );
    expect(show("[a](/relative)")).toBe("<p><span>a</span></p>");
  });

  it("resolves references defined later", () => {
    expect(show("[a]\n\n[a]: https://x.example")).toContain('href="https://x.example/"');
  });

  it("shows tasks as labelled, disabled checkboxes", () => {
    expect(show("- [x] a\n- [ ] b")).toBe(
      '<ul dir="auto"><li class="loom-task"><input type="checkbox" disabled="" readOnly="" aria-label="Done" checked=""/><span>a</span></li>' +
        '<li class="loom-task"><input type="checkbox" disabled="" readOnly="" aria-label="Not done"/><span>b</span></li></ul>',
    );
  });

  it("removes the mark of a task from its own text only", () => {
    const shown = show("- [x] a\n\n  [x] b");
    expect(shown).toContain("<p>a</p><p>[x] b</p>");
  });

  it("loads images only through the page", () => {
    expect(show("![a cat](https://x.example/a.png)")).toContain("a cat <small>(image not shown)</small>");
    const shown = renderToStaticMarkup(
      <UiProvider imageUrl={(url) => `/proxy?url=${encodeURIComponent(url)}`}>
        <RichText
          text="![a](https://x.example/a.png) ![b](/b.png) ![c](data:image/png;base64,iVBORw0=)"
          format="markdown"
          isComplete
        />
      </UiProvider>,
    );
    expect(shown).toContain('src="/proxy?url=https%3A%2F%2Fx.example%2Fa.png"');
    expect(shown).toContain('loading="lazy"');
    expect(shown).toContain('src="data:image/png;base64,iVBORw0="');
    expect(shown.match(/<img/g)).toHaveLength(2);
  });

  it("groups the items of a long list and the blocks of a long text, and only those", () => {
    const count = (markup: string, part: string): number => markup.split(part).length - 1;
    const list = (length: number): string => show(Array.from({ length }, (_, index) => `- item ${index}\n`).join(""));
    expect(count(list(100), "<div")).toBe(0);
    const long = list(1000);
    expect(long).toMatch(/^<ul dir="auto" role="list"><li>/);
    expect(count(long, "<li>")).toBe(1000);
    expect(count(long, '<div class="loom-text-group" role="presentation"><li>')).toBe(9);
    const text = show("Some words.\n\n".repeat(200));
    expect(count(text, "<p>")).toBe(200);
    expect(count(text, '<div class="loom-text-page"><p>')).toBe(3);
  });

  it("shows deeply nested content as source", () => {
    expect(show(">".repeat(5000)).match(/<blockquote>/g)?.length).toBe(20);
    expect(show("*a **b ".repeat(3000))).toContain("a");
    expect(show("[".repeat(5000))).toContain("[[[");
  });
});

describe("incomplete text", () => {
  it.each([
    ["a **b", "<p>a <strong>b</strong></p>"],
    ["a **", "<p>a</p>"],
    ["a **b*", "<p>a <strong>b</strong></p>"],
    ["a *b **c", "<p>a <em>b <strong>c</strong></em></p>"],
    ["a `b", "<p>a <code>b</code></p>"],
    ["a `", "<p>a</p>"],
    ["a [b](https://x", "<p>a b</p>"],
    ["a ![b](https://x", "<p>a</p>"],
    ["a <kbd", "<p>a</p>"],
    ["2 < 3", "<p>2 &lt; 3</p>"],
    ["a\n-", "<p>a</p>"],
    ["a\n==", "<p>a</p>"],
    ["#", ""],
    ["| a | b |", ""],
    ["| a | b |\n|--", ""],
    ["x\n\n| a | b |\n|--", "<p>x</p>"],
    ["snake_case", "<p>snake_case</p>"],
    ["2 * 3 * 4", "<p>2 * 3 * 4</p>"],
    ["so $x", "<p>so</p>"],
    ["so $$\n\\frac{a", "<p>so</p>"],
    ["so \\(x", "<p>so</p>"],
    ["**so** \\[x", "<p><strong>so</strong></p>"],
    ["it costs $5 or US$", "<p>it costs $5 or US$</p>"],
    ["`$x` and $HOME is a directory\nof", "<p><code>$x</code> and $HOME is a directory\nof</p>"],
    ["a[^1", "<p>a</p>"],
  ])("%j looks like the final result", (text, markup) => {
    expect(show(text, "markdown", false).replaceAll(/\s+(?=<\/p>)/g, "")).toBe(markup);
  });

  it("hides an incomplete closing fence", () => {
    const shown = (text: string): string => /<code>(.*)<\/code>/s.exec(show(text, "markdown", false))?.[1] ?? "none";
    expect(shown("```js\na\n")).toBe("a");
    expect(shown("```js\na\nb")).toBe("a\nb");
    expect(shown("```js\na\n``")).toBe("a");
    expect(shown("```js\na\n```")).toBe("a");
  });
});

describe("other formats", () => {
  it("shows plain text unchanged", () => {
    expect(show("<b>*x*</b>\n  y", "text")).toBe("&lt;b&gt;*x*&lt;/b&gt;\n  y");
    expect(show("<b>x</b>", "anything")).toBe("&lt;b&gt;x&lt;/b&gt;");
  });

  it("shows HTML as text without a parser", () => {
    expect(show("<b>x</b>", "html")).toContain("&lt;b&gt;x&lt;/b&gt;");
  });
});

describe("hostile input", () => {
  it("covers many cases", () => {
    expect(new Set(XSS_CORPUS).size).toBeGreaterThanOrEqual(120);
  });

  it.each(["markdown", "html", "text"])("renders only allowed markup as %s", (format) => {
    const found = XSS_CORPUS.flatMap((text) =>
      [true, false].flatMap((isComplete) =>
        findForbidden(show(text, format, isComplete)).map((tag) => ({ text, tag })),
      ),
    );
    expect(found).toEqual([]);
  });

  it("is detected by the check", () => {
    const planted = [
      '<p onclick="x">',
      "<script>",
      '<a href="javascript:x">',
      '<img src="x">',
      '<p style="x">',
      "<svg onload>",
    ];
    expect(planted.filter((tag) => findForbidden(tag).length === 0)).toEqual([]);
  });
});
