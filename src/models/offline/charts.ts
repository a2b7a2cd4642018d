/** Charts of the user's numbers, or of sample numbers. For the tool `show_chart`. */
import type { FoundTask, BilingualText, Skill } from "./offline-task.ts";
import { matchSome } from "./match-some.ts";
import { readBody, skip } from "./read-body.ts";
import { type LabelledValues, type LabelledValue, readLabelledValues } from "./labelled-values.ts";
import { isChinese, isCourtesy, isOnlyMentioned, REQUEST_EN, REQUEST_ZH } from "./request-words.ts";

export const charts: Skill = {
  abilities: [
    {
      tool: "show_chart",
      can: { en: "draw a chart", zh: "画图表" },
      example: { en: "Bar chart of apples 3, pears 5, plums 8", zh: "画一个折线图：一月 3，二月 5，三月 4" },
    },
  ],
  find(text) {
    const found: FoundTask[] = [];
    for (const one of [...findConversions(text), ...findNamed(text), ...findVerbs(text)])
      if (!found.some((other) => one.at < other.end && other.at < one.end)) found.push(one);
    return found;
  },
};

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/line|trend|折线|曲线|线/i, "line"],
  [/pie|donut|饼/i, "pie"],
  [/area|面积/i, "area"],
  [/scatter|point|散点/i, "point"],
];

const KIND = "(?:bar|column|line|pie|area|scatter|point|trend)";
/** "Graph" has many meanings; "chart", or a plot of some kind, is clear. */
const NOUN = `(?:(?:${KIND}[- ])?charts?|${KIND}[- ](?:graph|plot|diagram)s?)\\b`;
const GRAPH = `(?:graph|plot|diagram)\\b`;
const NOUN_ZH = "(?:(?:柱状|柱形|条形|折线|曲线|线|饼状|饼|面积|散点|统计)图|图表)";
const NAMED = new RegExp(
  `${REQUEST_EN} (?:${NOUN}|${GRAPH})|(?<=^|[.!?,;] |please )(?:an? |the )?${NOUN}(?=\\s{0,4}(?:$|[:：]|of\\b|for\\b|with\\b|from\\b))|${REQUEST_ZH}${NOUN_ZH}|(?:画|做|用|显示|生成)${NOUN_ZH}|${NOUN_ZH}(?=\\s{0,2}[:：])`,
  "gi",
);
const OPENING =
  /\s{0,4}(?:[:：,，]|(?:of|with|for|from|showing)\b(?: (?:the|these|my|following|numbers?|values?|data)){0,3}\s?[:：]?|显示|展示|表示|数据(?:是|为)?[:：]?)?\s{0,4}/iy;
const VERB =
  /(?<=^|[.!?,;] |\b(?:please|and|then|now) )(?:chart|plot|graph)(?: me)?(?: the| these)?(?: numbers?| values?| data)?\s?:?\s(?=[^.!?\n]{0,200}\d)/gi;
const CONVERSION = new RegExp(
  `\\b(?:show|put|draw|plot|turn|display|present|chart)\\s([^\\n.!?;]{1,400}?)\\s(?:in|into|as|on) an? (?:${NOUN}|${GRAPH})|(?:把|将)([^\\n。！？]{1,400}?)(?:做成|画成|变成|绘成|画为)(?:一个|一张|个|张)?${NOUN_ZH}`,
  "gi",
);

function findNamed(text: string): readonly FoundTask[] {
  return matchSome(text, NAMED).flatMap((match) => {
    const at = match.index;
    if (isOnlyMentioned(text, at)) return [];
    const from = at + match[0].length;
    const start = skip(OPENING, text, from);
    const body = readBody(text, start);
    const read = readLabelledValues(body.text);
    const isZh = isChinese(match[0]);
    // A single number in a sentence is not data: "a chart of the price in 2024".
    const isGiven = /[:：]/.test(text.slice(from, start)) || read.title !== undefined;
    if (read.entries.length >= (isGiven ? 1 : 2) && read.entries.length > read.others.length)
      return [createTask({ at, end: body.end }, findKind(match[0]), read.entries, describe(read, isZh))];
    // "Graph" is ambiguous, and data that was given but not understood is not replaced with an example.
    const isOpen = isGiven || /\d/.test(body.text) || new RegExp(`${GRAPH}$`, "i").test(match[0]);
    if (isOpen && !isCourtesy(body.text)) return [];
    return [createTask({ at, end: from }, findKind(match[0]), createExample(isZh), { isZh, note: EXAMPLE })];
  });
}

/** "chart 3, 5, 8" */
function findVerbs(text: string): readonly FoundTask[] {
  return matchSome(text, VERB).flatMap((match) => {
    const body = readBody(text, match.index + match[0].length);
    const { title, entries, others } = readLabelledValues(body.text);
    // A single number in a sentence is not data: "chart a course for 2030".
    if (entries.length < 2 || others.length > 0) return [];
    return [createTask({ at: match.index, end: body.end }, "bar", entries, { title, isZh: isChinese(body.text) })];
  });
}

function findConversions(text: string): readonly FoundTask[] {
  return matchSome(text, CONVERSION).flatMap((match) => {
    const read = readLabelledValues((match[1] ?? match[2] ?? "").trim());
    const end = match.index + match[0].length;
    const kind = findKind(match[0].slice(-20));
    return read.entries.length < 2 || read.entries.length <= read.others.length || isOnlyMentioned(text, match.index)
      ? []
      : [createTask({ at: match.index, end }, kind, read.entries, describe(read, match[2] !== undefined))];
  });
}

function findKind(words: string): string {
  return KINDS.find(([names]) => names.test(words))?.[1] ?? "bar";
}

/** Adds a note about items that are not in the chart. */
function describe({ title, others }: LabelledValues, isZh: boolean): ChartDetails {
  if (others.length === 0) return { title, isZh };
  const left = others.map((item) => item.slice(0, MAX_SHOWN));
  const note = {
    en: ` I could not read these values: ${left.join(", ")}.`,
    zh: `无法识别的内容没有画出：${left.join("、")}。`,
  };
  return { title, isZh, note };
}

const MAX_SHOWN = 40;

const EXAMPLE: BilingualText = {
  en: " These are sample numbers; add your own after a colon.",
  zh: "这是示例数据，可以在冒号后写自己的数据。",
};

function createExample(isZh: boolean): readonly LabelledValue[] {
  const labels = isZh ? ["一月", "二月", "三月", "四月"] : ["Jan", "Feb", "Mar", "Apr"];
  return [3, 5, 4, 8].map((value, index) => ({ label: labels[index], value }));
}

interface ChartDetails {
  readonly title?: string | undefined;
  readonly isZh: boolean;
  readonly note?: BilingualText;
}

const NAMES: { readonly [kind: string]: BilingualText } = {
  bar: { en: "bar chart", zh: "柱状图" },
  line: { en: "line chart", zh: "折线图" },
  pie: { en: "pie chart", zh: "饼图" },
  area: { en: "area chart", zh: "面积图" },
  point: { en: "scatter chart", zh: "散点图" },
};

function createTask(
  place: { readonly at: number; readonly end: number },
  kind: string,
  entries: readonly LabelledValue[],
  { title, isZh, note = { en: "", zh: "" } }: ChartDetails,
): FoundTask {
  const name = NAMES[kind] ?? { en: "chart", zh: "图表" };
  return {
    tool: "show_chart",
    ...place,
    about: { en: `a ${name.en}`, zh: name.zh },
    createInput: () => ({
      kind,
      ...(title === undefined ? {} : { title }),
      labels: entries.map(({ label }, index) => label ?? index + 1),
      series: [{ name: isZh ? "数值" : "value", values: entries.map(({ value }) => value) }],
    }),
    describeResult: () => ({
      en: `Here is the ${name.en}, with ${entries.length} ${entries.length === 1 ? "value" : "values"}.${note.en}`,
      zh: `已画好${name.zh}，共 ${entries.length} 个数据。${note.zh}`,
    }),
  };
}
