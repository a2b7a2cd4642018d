/**
 * Reads the list of next steps in a model's text: JSON, a list with bullets or numbers, or one step per line. Reasoning,
 * headings, introductions and closing remarks are not steps; a sub-item is part of the step above it.
 */
import type { Json } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { jsonrepair } from "jsonrepair";
import { removeThinking } from "../../models/think-tags.ts";
import { findField, listJson, MAX_REPAIRED } from "../read-json.ts";

/** Maximum lines, and items of a JSON list, that are read. A search has far fewer candidates. */
const MAX_LINES = 12_000;
const MAX_ITEMS = 5000;

/** `isHalf` says that the text was cut off; its last step is then left out. */
export function readCandidates(said: string, isHalf: boolean): readonly string[] {
  const text = removeThinking(said);
  const listed = readListed(isHalf ? closeJson(text) : text);
  if (listed !== undefined) return listed;
  const lines = isHalf ? text.slice(0, text.lastIndexOf("\n") + 1) : text;
  const steps = readLines(lines);
  return steps.length === 1 && isNone(steps[0] ?? "") ? [] : steps;
}

/** True if the text says that there is no next step. */
export function isNone(text: string): boolean {
  return NONE.test(text.trim());
}

const LISTS = ["steps", "nextsteps", "thoughts", "candidates", "ideas", "options", "proposals"] as const;
const TEXTS = ["step", "text", "thought", "content", "description", "candidate", "idea", "action", "title"] as const;

/** A line that starts with an array. White space stays within the line, because the text can be line breaks alone. */
const ARRAY_LINE = /^(?:[^\S\r\n\u2028\u2029]|>)*(?:```\w*[^\S\r\n\u2028\u2029]*)?\[/m;

/** Reads JSON. Undefined if the text has none, or if its JSON is part of a step. */
function readListed(text: string): readonly string[] | undefined {
  if (!/[{[]/.test(text)) return undefined;
  const startsLine = ARRAY_LINE.test(text);
  for (const value of listJson(text)) {
    const isNamed = isJsonObject(value);
    const found = isNamed ? findField(value, ...LISTS) : value;
    if (isNamed && typeof found === "string") return readLines(found);
    const list = isNamed && isJsonObject(found) ? Object.values(found) : (found ?? listSteps(value));
    if (!Array.isArray(list) || !(isNamed || startsLine)) continue;
    const given = (list as readonly Json[]).slice(0, MAX_ITEMS).filter((item) => item !== null && item !== "");
    const steps = given.map(readStep);
    if (steps.every((step) => step !== undefined) && (isNamed || steps.length > 0)) return steps;
  }
  return undefined;
}

/** The steps of a dictionary such as `{"step_1": "…", "step_2": "…"}`. */
function listSteps(value: Json | readonly Json[]): readonly Json[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const isNumbered = entries.every(([key, step]) => NUMBERED_KEY.test(key) && typeof step === "string");
  return isNumbered && entries.length > 0 ? entries.map(([, step]) => step) : undefined;
}

const NUMBERED_KEY =
  /^(?:(?:next[ _-]?)?step|option|candidate|idea|thought|approach|proposal|步骤|选项|候选|想法|方案)?[ _-]?\d{1,4}$/iu;

function readStep(item: Json): string | undefined {
  if (typeof item === "string") return isEmpty(item) ? undefined : item.replace(MARKER, "");
  if (Array.isArray(item)) return item.length === 1 ? readStep(item[0] as Json) : undefined;
  if (!isJsonObject(item)) return undefined;
  const text = findField(item, ...TEXTS);
  return typeof text === "string" && !isEmpty(text) ? text : undefined;
}

/** Ends JSON that was cut off after its last complete text. */
function closeJson(text: string): string {
  const start = text.search(/[{[]/);
  if (start < 0 || !/^\s*(?:```\w*\s*)?$/.test(text.slice(0, start))) return text;
  const end = Math.max(text.lastIndexOf('",'), text.lastIndexOf("},"));
  if (end < 0 || text.length > MAX_REPAIRED) return text;
  try {
    return jsonrepair(text.slice(start, end + 1));
  } catch {
    return text;
  }
}

/**
 * Matches a list marker: a bullet, number or letter followed by a space. Chinese markers have no space, and the pattern
 * must not match the numbers of "3、8 相加".
 */
const NUMBERED = new RegExp(
  [
    String.raw`^\(?\d{1,4}[.):]\s+`,
    String.raw`^(?:\d{1,4}[、．）]|（\d{1,4}）)(?:\s+|(?=\D))`,
    String.raw`^(?:\d{1,4}[.:)]|\(\d{1,4}\))(?=\p{Script=Han})`,
    String.raw`^(?:[一二三四五六七八九十]{1,3}、|（[一二三四五六七八九十]{1,3}）)(?![一二三四五六七八九十])\s*`,
    String.raw`^[①-⑳]\s*`,
    String.raw`^\d\uFE0F?\u20E3\s*`,
    // "Step 1:", "**Option A:**"
    String.raw`^(?:\*\*)?(?:(?:next )?step|option|candidate|idea|thought|approach|proposal|步骤|选项|候选|想法|方案)\s?(?:\d{1,4}|[a-z]|[一二三四五六七八九十]{1,3})\s?[:：.)、—–-]\s?(?:\*\*)?\s*`,
  ].join("|"),
  "iu",
);
const LETTERED = /^\(?[a-z][.)]\s+/i;
const DASHED = /^[-*+•–—▪◦‣]\s+(?:\[[ xX]?\]\s+)?/;
const MARKER = new RegExp(`${NUMBERED.source}|${DASHED.source}`, "iu");

type MarkerKind = "number" | "letter" | "dash";
const KINDS: readonly (readonly [MarkerKind, RegExp])[] = [
  ["number", NUMBERED],
  ["dash", DASHED],
  ["letter", LETTERED],
];

interface ReadLine {
  readonly text: string;
  readonly indent: number;
  readonly kind: MarkerKind | undefined;
}

/** A line such as "These are possible:" introduces the list. */
const LEAD_IN = /[:：]\**$/u;
const INTRODUCTION =
  /^(?:sure|certainly|of course|ok(?:ay)?|great|here (?:are|is|'s)|below (?:are|is)|the following|these are|(?:some )?possible (?:next )?steps|next steps|以下|下面|好的|当然).{0,300}[:：.!。！…]\**$/iu;
const REMARK =
  /^(?:let me know|i hope|hope (?:this|that)|would you like|feel free|which (?:one|of these)|如果(?:你|您)|希望)/iu;
const HEADING = /^#{1,6}\s|^\*\*[^*]{1,200}\*\*[:：]?$/;
const NONE =
  /^(?:none|nothing|null|n\/a|no (?:further|next|more|other|possible|valid) (?:next )?steps?(?: (?:remain|left|possible|exist))?|无|暂无|没有(?:下一步|了)?)[.。!]?$/iu;

function readLines(text: string): readonly string[] {
  const lines = text.split(/\r\n?|\n/, MAX_LINES).flatMap(readLine);
  const marked = countTopItems(lines);
  const plain = lines.filter(({ kind, text: line }) => kind === undefined && !isFrame(line));
  if (marked >= 2 || (marked === 1 && plain.length <= 1)) return readItems(lines);
  const steps =
    plain.length === 0 ? lines : lines.filter(({ kind, text: line }) => kind !== undefined || !isFrame(line));
  const texts = steps.map(({ text: line }) => plainText(line));
  return texts.filter((line, index) => texts.length === 1 || !isTalk(line, index));
}

function readLine(raw: string): readonly ReadLine[] {
  const line = raw.replace(/^\s{0,3}>\s?/, "");
  const trimmed = line.trim();
  if (isEmpty(trimmed) || /^(?:```|~~~|<\/?[a-z_]{1,40}>$)/i.test(trimmed)) return [];
  const indent = line.slice(0, line.length - line.trimStart().length).replaceAll("\t", "    ").length;
  // A heading such as "### Option 1: Multiply" is an item.
  const bare = trimmed.replace(/^#{1,6}\s+/, "");
  for (const [kind, marker] of KINDS) {
    if (bare !== trimmed && kind !== "number") break;
    const text = bare.replace(marker, "").replace(/^\*\*(?=\s*$)/, "");
    if (text !== bare && !isEmpty(text)) return [{ text, indent, kind }];
  }
  return [{ text: trimmed, indent, kind: undefined }];
}

/** Items of lists, each with its sub-items. A plain line ends a list. */
function readItems(lines: readonly ReadLine[]): readonly string[] {
  const steps: string[] = [];
  let top: ReadLine | undefined;
  for (const line of lines) {
    if (line.kind === undefined && (top === undefined || line.indent <= top.indent)) top = undefined;
    else if (top === undefined || isSameLevel(line, top)) {
      top = line;
      steps.push(plainText(line.text));
    } else steps.push(`${steps.pop() ?? ""} ${plainText(line.text)}`);
  }
  return steps;
}

function countTopItems(lines: readonly ReadLine[]): number {
  let count = 0;
  let top: ReadLine | undefined;
  for (const line of lines) {
    if (line.kind === undefined) top = top === undefined || line.indent <= top.indent ? undefined : top;
    else if (top === undefined || isSameLevel(line, top)) {
      top = line;
      count++;
    }
  }
  return count;
}

function isSameLevel(line: ReadLine, top: ReadLine): boolean {
  return line.kind === top.kind && line.indent <= top.indent + 1;
}

/** True for a heading, or a line that introduces a list. */
function isFrame(line: string): boolean {
  return HEADING.test(line) || LEAD_IN.test(line);
}

function isTalk(line: string, index: number): boolean {
  return (index === 0 && INTRODUCTION.test(line)) || REMARK.test(line);
}

/** Removes marks of bold text. */
function plainText(line: string): string {
  return (
    line
      .replace(/^#{1,6}\s+/, "")
      .replaceAll(/(^|[\s(])\*\*(?=\S)([^*\n]{1,2000}?)\*\*(?=$|[\s.,:;!?)—–：，。-])/g, "$1$2")
      // The opening marks were part of a marker such as "**Step 1:".
      .replace(/^([^*]+)\*\*(?=:?$)/, "$1")
      .trim()
  );
}

/** True if there are no letters or digits. */
export function isEmpty(text: string): boolean {
  return !/[\p{L}\p{N}]/u.test(text);
}
