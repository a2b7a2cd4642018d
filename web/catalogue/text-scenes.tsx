/** Text of answers in its formats. */
import type { ReactNode } from "react";
import { HighlightedText, RichText, type UiLanguage } from "../../src/react/page-parts.ts";
import { pick, RunScene, say, type Scene } from "./scene.tsx";

const prose = (language: UiLanguage): string =>
  pick(
    language,
    `# Tides\n\nThe moon pulls the sea **twice a day**, see [the guide](https://example.org).[^1]\n\n1. New moon\n2. Full moon\n   - near an equinox\n\n> High water comes *later* each day.\n\n- [x] measured\n- [ ] explained\n\n[^1]: By about 50 minutes.`,
    `# 潮汐\n\n月亮**每天两次**牵引海水，见[指南](https://example.org)。[^1]\n\n1. 新月\n2. 满月\n   - 接近春分或秋分\n\n> 每天的高潮都会*推迟*。\n\n- [x] 已测量\n- [ ] 已解释\n\n[^1]: 大约推迟 50 分钟。`,
  );

const CODE =
  "```ts\n/** Height of the tide. */\nconst height = (hours: number): number => 3 + 2 * Math.cos((hours * Math.PI) / 6.2);\n```\n";
const MATH =
  "The force is $F = G\\frac{m_1 m_2}{r^2}$, so\n\n$$\nh(t) = \\sum_{k=1}^{n} A_k \\cos(\\omega_k t + \\varphi_k)\n$$\n";
const TABLE =
  "| Harbour | High water | Height |\n| --- | :---: | ---: |\n| Brest | 06:12 | 6.9 m |\n| Dover | 11:40 | 6.1 m |\n";

function write(text: string, isOver = true): ReactNode {
  return (
    <RunScene
      write={(session) => {
        // In pieces, as models send it.
        const pieces = text.match(/[^]{1,7}/g) ?? [];
        session.begin("run-1").put(...pieces.map(say));
        if (isOver) session.end({}, text);
      }}
    />
  );
}

const cited = (language: UiLanguage): string =>
  pick(
    language,
    "Spring tides come twice a month [1]. They are highest near an equinox [2].",
    "大潮每月两次 [1]，接近春分或秋分时最高 [2]。",
  );
const SOURCES = [
  { title: "Tides", uri: "tides.md", ref: 1, first_line: 3, last_line: 4, snippet: "Spring tides come twice a month." },
  {
    title: "Seasons",
    uri: "seasons.md",
    ref: 2,
    first_line: 8,
    last_line: 9,
    snippet: "They are highest near an equinox.",
  },
];

export const TEXT_SCENES: readonly Scene[] = [
  {
    component: "citation",
    modules: ["text/citation"],
    states: {
      finished: (language) => (
        <RunScene
          write={(session) => {
            session.begin("run-1").put({ type: "retrieval_complete", doc_count: 2, query: "tides", sources: SOURCES });
            session.put(say(cited(language))).end({}, cited(language));
          }}
        />
      ),
    },
  },
  {
    component: "highlighted text",
    modules: ["text/highlighted-text"],
    states: {
      finished: (language) => {
        const text = prose(language);
        const start = text.indexOf("> ");
        const range = { start, end: text.indexOf("\n", start) };
        return <HighlightedText text={text} format="markdown" range={range} label="Passage" />;
      },
    },
  },
  {
    component: "text",
    modules: [
      "text/rich-text",
      "text/block-elements",
      "text/inline-elements",
      "text/text-link",
      "text/footnote",
      "text/plain-text",
      "text/html-text",
      "text/html-elements",
    ],
    states: {
      streaming: (language) => write(prose(language).slice(0, 60), false),
      finished: (language) => write(prose(language)),
      plain: (language) => <RichText text={prose(language)} format="text" isComplete />,
      html: () => (
        <RichText text="<h2>Tides</h2><p>Twice <b>a day</b>.</p><script>1</script>" format="html" isComplete />
      ),
      long: (language) =>
        write(
          Array.from({ length: 400 }, (_, n) => pick(language, `- item ${n + 1}\n`, `- 第 ${n + 1} 项\n`)).join(""),
        ),
    },
  },
  {
    component: "code",
    modules: ["text/code-block", "text/plugin-guard", "web/plugins/code-highlight"],
    states: { streaming: () => write(CODE.slice(0, 60), false), finished: () => write(CODE) },
  },
  {
    component: "formula",
    modules: ["text/math-text", "web/plugins/math-formula"],
    states: { finished: () => write(MATH) },
  },
  { component: "text table", modules: ["text/text-link"], states: { finished: () => write(TABLE) } },
  {
    component: "text image",
    modules: ["text/text-image"],
    states: { blocked: () => write("![A harbour](https://example.org/harbour.png)") },
  },
];
