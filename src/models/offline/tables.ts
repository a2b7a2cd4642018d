/** Tables of the user's data, of products, squares and cubes, or an example. For the tool `show_table`. */
import type { Json } from "../../protocol/index.ts";
import type { FoundTask, BilingualText, Skill } from "./offline-task.ts";
import { matchSome } from "./match-some.ts";
import { readBody, skip } from "./read-body.ts";
import { readLabelledValues, splitItems, splitList } from "./labelled-values.ts";
import { isChinese, isCourtesy, isOnlyMentioned, REQUEST_EN, REQUEST_ZH } from "./request-words.ts";

export const tables: Skill = {
  abilities: [
    {
      tool: "show_table",
      can: { en: "show a table", zh: "显示表格" },
      example: { en: "Make a table: name, age; Ann, 31; Bob, 29", zh: "表格：苹果 3，梨 5" },
    },
  ],
  find(text) {
    const found: FoundTask[] = [];
    const candidates = [...findComputed(text), ...findGiven(text), ...findConversions(text)];
    for (const one of candidates) if (!found.some((other) => one.at < other.end && other.at < one.end)) found.push(one);
    return found;
  },
};

interface TableContent {
  readonly name?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Json[])[];
  readonly note?: BilingualText;
}

const TABLE = String.raw`tables?\b(?! (?:tennis|of contents|top|lamp|cloth|spoon|manners|leg))`;
const TRIGGER = new RegExp(
  String.raw`${REQUEST_EN} (?:data )?${TABLE}|(?<=^|[.!?,;] |please )(?:an? |the )?${TABLE}(?=\s{0,4}(?:[:：]|of\b|with\b|$))|${REQUEST_ZH}(?:数据)?(?:表格|表(?![示达现情面扬]))|(?:用|做|画|列|显示)表格|表格(?=\s{0,2}[:：])`,
  "gi",
);
const OPENING =
  /\s{0,4}(?:[:：,，]|(?:of|with|for|from|showing|containing)\b(?: (?:the|these|my|following|numbers?|values?|data|rows?|\d{1,2}(?= columns?\s?[:：])|columns?)){0,3}\s?[:：]?|显示|展示|列出|内容(?:是|为)?[:：]?)?\s{0,4}/iy;

function findGiven(text: string): readonly FoundTask[] {
  return matchSome(text, TRIGGER).flatMap((match) => {
    const at = match.index;
    if (isOnlyMentioned(text, at)) return [];
    const from = at + match[0].length;
    const start = skip(OPENING, text, from);
    const body = readBody(text, start);
    const isZh = isChinese(match[0]);
    const isHeader = /\bcolumns?\b/i.test(text.slice(from, start));
    // The size of a table says nothing about its content.
    if (/^\d{1,4} (?:rows?|columns?|cells?)\b/i.test(body.text)) return [];
    const table = body.text === "" || start === from ? undefined : readTable(body.text, isHeader, isZh);
    if (table === undefined) return isCourtesy(body.text) ? [createTask(at, from, createExample(isZh))] : [];
    return [createTask(at, body.end, table)];
  });
}

const CONVERSION =
  /\b(?:show|put|write|list|turn|display|present)\s([^\n.!?;]{1,400}?)\s(?:in|into|as|in the form of) an? (?:small |little |simple )?table\b|(?:把|将)([^\n。！？]{1,400}?)(?:做成|列成|放进|放到|画成|写成|变成)(?:一个|一张|个|张)?表格?/gi;

function findConversions(text: string): readonly FoundTask[] {
  return matchSome(text, CONVERSION).flatMap((match) => {
    const table = readTable((match[1] ?? match[2] ?? "").trim(), false, match[2] !== undefined);
    if (table === undefined || isOnlyMentioned(text, match.index)) return [];
    return [createTask(match.index, match.index + match[0].length, table)];
  });
}

function readTable(body: string, isHeader: boolean, isZh: boolean): TableContent | undefined {
  const rows = splitRows(body);
  const width = Math.max(...rows.map((row) => row.length), 0);
  if (isHeader && rows.length === 1) return { columns: [...splitList(body)], rows: [] };
  if (rows.length > 1 && width > 1) return readRows(rows, width, isHeader);
  if (body.includes("|")) return undefined;
  const { title, entries, others } = readLabelledValues(body);
  const named = title === undefined ? {} : { name: title };
  if (entries.length > 0 && others.length === 0) {
    const hasLabels = entries.some(({ label }) => label !== undefined);
    const columns = isZh ? [hasLabels ? "名称" : "序号", "数值"] : [hasLabels ? "name" : "no.", "value"];
    return { ...named, columns, rows: entries.map(({ label, value }, index) => [label ?? index + 1, value]) };
  }
  const items = splitList(title === undefined ? body : body.replace(/^[^:：]*[:：]/, ""));
  if (items.length < 2) return undefined;
  return {
    ...named,
    columns: isZh ? ["序号", "内容"] : ["no.", "item"],
    rows: items.map((item, index) => [index + 1, item]),
  };
}

/** Bars separate cells; in one line that contains commas, they separate rows. */
function splitRows(body: string): readonly (readonly string[])[] {
  const isBarred = body.includes("|") && !/[,，][^|\n]*\|/.test(body);
  return body
    .split(isBarred ? /[;；\n]/ : /[;；\n|]/, MAX_ROWS)
    .map((line) => (isBarred ? splitCells(line) : splitItems(line)))
    .filter((row) => row.length > 0);
}

/** Returns no cells for the line that separates the header from the rows. */
function splitCells(line: string): readonly string[] {
  const inner = line.trim().replaceAll(/^\||\|$/g, "");
  return /^[-|:\s]*$/.test(inner) ? [] : inner.split("|", MAX_COLUMNS).map((cell) => cell.trim());
}

const MAX_ROWS = 100;
const MAX_COLUMNS = 20;

/** The first line is the header if it has no number and no line is longer. */
function readRows(given: readonly (readonly string[])[], width: number, isHeader: boolean): TableContent {
  const rows = given.map((row) => row.slice(0, MAX_COLUMNS).map((cell) => readCell(cell)));
  const [first = [], ...rest] = rows;
  const columns = Math.min(width, MAX_COLUMNS);
  const hasHead = isHeader || (first.every((cell) => typeof cell === "string") && first.length === columns);
  const head = Array.from({ length: columns }, (_, index) => (hasHead ? (given[0]?.[index] ?? "") : `${index + 1}`));
  return {
    columns: head,
    rows: (hasHead ? rest : rows).map((row) => Array.from({ length: columns }, (_, index) => row[index] ?? null)),
  };
}

function readCell(cell: string): Json {
  return /^[-+]?\d{1,15}(?:\.\d{1,10})?$/.test(cell) ? Number(cell) : cell;
}

const TO = String.raw`(?:\s{0,2}(?:up to|to|from 1 to|of|for|with|到|至)\s{0,2}(?<to>\d{1,4})(?:\s?(?:x|by|×|\*)\s?\d{1,4})?)`;
const COMPUTED: readonly (readonly [RegExp, (to: number, one: number | undefined, isZh: boolean) => TableContent])[] = [
  [
    new RegExp(
      String.raw`\b(?:multiplication|times) tables?\b${TO}?|(?<to>\d{1,3})\s?以内的?乘法(?:口诀)?表|乘法(?:口诀)?表${TO}?|九九(?:乘法)?表`,
      "gi",
    ),
    createProducts,
  ],
  [
    new RegExp(String.raw`\btables? of (?:the )?(?:squares|square numbers)\b${TO}?|平方表${TO}?`, "gi"),
    createPowers(2),
  ],
  [new RegExp(String.raw`\btables? of (?:the )?(?:cubes|cubic numbers)\b${TO}?|立方表${TO}?`, "gi"), createPowers(3)],
];
const BEFORE_COMPUTED = new RegExp(
  String.raw`(?:^|[.!?,;:，。！？]|please|and|then|${REQUEST_EN})\s{0,4}(?:an? |the )?$|[\p{Script=Han}]\s?$`,
  "iu",
);
const AFTER_COMPUTED = /^\s{0,4}(?:$|[.!?,;，。！？；]|(?:and|then|please|for me|to)\b|吧|然后|并|给|看)/i;
const MAX_FACTOR = 20;

function findComputed(text: string): readonly FoundTask[] {
  return COMPUTED.flatMap(([pattern, create]) =>
    matchSome(text, pattern).flatMap((match) => {
      const at = match.index;
      const before = text.slice(Math.max(0, at - 60), at);
      const after = text.slice(at + match[0].length, at + match[0].length + 12);
      if (!BEFORE_COMPUTED.test(before) || !AFTER_COMPUTED.test(after) || isOnlyMentioned(text, at)) return [];
      const isZh = isChinese(match[0]);
      const number = Number(match.groups?.["to"] ?? (isZh ? 9 : 10));
      // "The times table of 7" has one factor.
      const one = /\b(?:of|for) \d+$/i.test(match[0]) ? number : undefined;
      const to = Math.max(1, Math.min(number, MAX_FACTOR));
      const table = create(to, one, isZh);
      const note = number > to && one === undefined ? CUT : undefined;
      return [createTask(at, at + match[0].length, note === undefined ? table : { ...table, note })];
    }),
  );
}

function createProducts(to: number, one: number | undefined, isZh: boolean): TableContent {
  const name = isZh ? "乘法表" : "Multiplication table";
  const numbers = Array.from({ length: one === undefined ? to : 10 }, (_, index) => index + 1);
  if (one !== undefined) return { name, columns: ["×", `${one}`], rows: numbers.map((n) => [n, n * one]) };
  return { name, columns: ["×", ...numbers.map(String)], rows: numbers.map((a) => [a, ...numbers.map((b) => a * b)]) };
}

function createPowers(exponent: number): (to: number, one: number | undefined, isZh: boolean) => TableContent {
  return (to, _one, isZh) => ({
    name: isZh ? (exponent === 2 ? "平方表" : "立方表") : exponent === 2 ? "Squares" : "Cubes",
    columns: ["n", exponent === 2 ? "n²" : "n³"],
    rows: Array.from({ length: to }, (_, index) => [index + 1, (index + 1) ** exponent]),
  });
}

const CUT: BilingualText = { en: ` It stops at ${MAX_FACTOR}.`, zh: `最多到 ${MAX_FACTOR}。` };
const EXAMPLE: BilingualText = {
  en: " This is an example; add your own data after a colon.",
  zh: "这是示例，可以在冒号后写自己的内容。",
};

function createExample(isZh: boolean): TableContent {
  return isZh
    ? {
        name: "示例",
        columns: ["水果", "数量"],
        rows: [
          ["苹果", 3],
          ["梨", 5],
          ["李子", 8],
        ],
        note: EXAMPLE,
      }
    : {
        name: "Example",
        columns: ["fruit", "number"],
        rows: [
          ["apples", 3],
          ["pears", 5],
          ["plums", 8],
        ],
        note: EXAMPLE,
      };
}

function createTask(at: number, end: number, { note = { en: "", zh: "" }, ...table }: TableContent): FoundTask {
  const { length } = table.rows;
  return {
    tool: "show_table",
    at,
    end,
    about: { en: "a table", zh: "表格" },
    createInput: () => ({ ...table }),
    describeResult: () => ({
      en: `Here is the table, with ${length} ${length === 1 ? "row" : "rows"}.${note.en}`,
      zh: `表格已显示，共 ${length} 行。${note.zh}`,
    }),
  };
}
