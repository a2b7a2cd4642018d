import { describe, expect, it } from "vitest";
import { closeMarkdown } from "./close-markdown.ts";
import { lexMarkdown } from "./lex-markdown.ts";

describe("closeMarkdown", () => {
  const openTexts: readonly (readonly [text: string, end: string])[] = [
    ["```js\nlet a", "\n```"],
    ["Text:\n\n~~~~\n```\n~~~", "\n~~~~"],
    ["```", "\n```"],
    ["```\na\n", "```"],
    ["  ````js\r\n```", "\n````"],
    ["a\n\n<!-- b\n\nc", "\n-->"],
    ["<PRE class=x>\n\nc", "\n</pre>"],
    ["<script>\nlet a", "\n</script>"],
  ];
  const closedTexts = [
    "",
    "text `code",
    "```js\nlet a\n```",
    "~~~\na\n  ~~~~  \n\n",
    "    ```\n    indented",
    // The item or quote ends where other text begins.
    "- ```js\n  let a",
    "1. one\n   ```\n   let a",
    "> ```\n> let a",
    "- ```js\n  a\n  ```\n\nText",
    "<div>\n\ntext",
    "<!-- a -->\ntext",
    "<pre>\n\na</pre>",
  ];

  it.each(openTexts)("closes %j", (text, end) => {
    expect(closeMarkdown(text)).toBe(`${text}${end}`);
  });

  it.each(closedTexts)("leaves %j unchanged", (text) => {
    expect(closeMarkdown(text)).toBe(text);
  });

  it.each([...openTexts.map(([text]) => text), ...closedTexts])("lets a heading follow %j", (text) => {
    const tokens = lexMarkdown(`${closeMarkdown(text).replaceAll("\r\n", "\n")}\n\n## Next`, {});
    expect(tokens.at(-1)).toMatchObject({ type: "heading", raw: "## Next" });
  });
});
