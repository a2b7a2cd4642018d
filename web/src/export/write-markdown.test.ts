import { Marked, type Token } from "marked";
import { describe, expect, it } from "vitest";
import type { SessionView } from "loom-agent/client";
import { describeConversation } from "./describe-conversation.ts";
import { writeMarkdown } from "./write-markdown.ts";

const at = Date.UTC(2026, 0, 2, 3, 4);
const metadata = { requestId: "", startTime: at };
const text = (words: string, more = {}) => ({ type: "text", key: words, text: words, format: "markdown", ...more });
const turn = (status: string, parts: readonly object[]) => ({
  key: status,
  status,
  messages: [
    {
      role: "user",
      mainContent: "Is *this* 1?\n- yes",
      parts: [],
      metadata,
      attachments: [{ blob_id: "b", name: "a_b.txt" }],
    },
    { role: "assistant", mainContent: "", parts, metadata: { ...metadata, endTime: at } },
  ],
});
const view = {
  earlierTurns: 0,
  turns: [
    turn("completed", [
      text("old", { supersededBy: 2 }),
      { type: "tool", key: "t", call: { toolName: "calculator" } },
      { type: "data", key: "d", block: { dataType: "dataframe", data: { columns: ["n"], rows: [[1]] } } },
      text("# Yes\n\n| a |\n| - |"),
      { type: "references", key: "r", sources: [{ ref: 1, title: "A <b>" }] },
      { type: "references", key: "s", sources: [{ ref: 2, title: "B", uri: "b.md", firstLine: 3, lastLine: 9 }] },
    ]),
    turn("error", [text("<b>", { format: "html" })]),
  ],
} as unknown as SessionView;

describe("the export as Markdown", () => {
  it("keeps answers, escapes other texts, and leaves out what was superseded", () => {
    const markdown = writeMarkdown(describeConversation(view, { title: "My #1", language: "en", now: at }), "en");
    expect(markdown).toMatch(/^# My \\#1\n\n\*Exported from Loom on Jan 2, 2026/u);
    expect(markdown).toContain("Is \\*this\\* 1?  \n\\- yes");
    expect(markdown).toContain("\n\n| n |\n| --: |\n| 1 |\n\n");
    expect(markdown).toContain("- a\\_b.txt");
    expect(markdown).toContain(
      "\n\n# Yes\n\n| a |\n| - |\n\n**Tools used**\n\n- calculator\n\n**Sources**\n\n- \\[1\\] A \\<b>\n- \\[2\\] B (b.md, lines 3–9)",
    );
    expect(markdown).toContain("```html\n<b>\n```\n\n*The run failed.*");
    expect(markdown).not.toContain("old");
  });

  it("lists only the sources that the answer cites", () => {
    const sources = [1, 2, 3].map((ref) => ({ ref, title: `T${ref}`, firstLine: ref }));
    const answer = turn("completed", [{ type: "references", key: "r", sources }, text("Said [3] and [1].")]);
    const cited = { ...view, turns: [answer] } as unknown as SessionView;
    const markdown = writeMarkdown(describeConversation(cited, { title: "", language: "zh", now: at }), "zh");
    expect(markdown).toContain("Said [3] and [1].\n\n**来源**\n\n- \\[3\\] T3 (第 3 行)\n- \\[1\\] T1 (第 1 行)\n");
    expect(markdown).not.toContain("T2");
  });

  it("shows other texts as they are written, and the turns after a stopped code block", () => {
    const lines = [
      "1. Buy milk",
      "2) &lt;b&gt; ~~now~~",
      "~~~",
      "    - 3.5 kg",
      "Title",
      "===",
      "",
      "    # code",
      "3. ",
    ];
    const question = { role: "user", mainContent: lines.join("\n"), parts: [], metadata };
    const open = turn("cancelled", [text("So:\n\n```js\nlet a = 1")]);
    const files = [{ blob_id: "b", name: "1. a.txt" }];
    const shown = { ...view, turns: [open, { ...open, messages: [{ ...question, attachments: files }] }] };
    const conversation = describeConversation(shown as unknown as SessionView, { title: "T", language: "en", now: at });
    const tokens = new Marked().lexer(writeMarkdown(conversation, "en"));
    const blocks = tokens.filter(({ type }) => type !== "space");
    expect(blocks.map(({ type }) => type).join(" ")).toBe(
      "heading paragraph heading paragraph paragraph list heading paragraph code paragraph heading paragraph paragraph paragraph list",
    );
    const readToken = (token: Token): string => {
      if (token.type === "br") return "\n";
      const { tokens: inner, text: own } = token as { readonly tokens?: readonly Token[]; readonly text?: string };
      return inner === undefined ? (own ?? "") : readText(inner);
    };
    const readText = (all: readonly Token[]): string => all.map(readToken).join("");
    const [first, second, , list] = blocks.slice(-4);
    const written = [first, second].map((token) => readText(token === undefined ? [] : [token])).join("\n\n");
    expect(written.replaceAll("\u00A0", " ").replaceAll(/ +$/gmu, "")).toBe(lines.join("\n").trim());
    expect(list?.raw).toBe("- 1\\. a.txt\n");
  });

  it("can be limited to one run", () => {
    const one = describeConversation(view, { title: undefined, language: "zh", now: at, turnKey: "error" });
    expect([one.title, one.messages.length, one.messages[1]?.note]).toEqual(["对话", 2, "运行失败。"]);
  });
});
