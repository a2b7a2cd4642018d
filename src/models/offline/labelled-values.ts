/** Reads lists in words: items, and numbers with their labels. For tables, charts and to-do lists. */

export interface LabelledValue {
  readonly label: string | undefined;
  readonly value: number;
}

export interface LabelledValues {
  /** The words before a colon. */
  readonly title: string | undefined;
  readonly entries: readonly LabelledValue[];
  /** Items that are not a number with a label. */
  readonly others: readonly string[];
}

const MAX_PIECES = 100;
const MAX_PIECE = 200;

const BULLET = /^(?:[-*•·]|\(?\d{1,3}[.)、](?!\d))\s{0,4}/;
/** A comma inside a number counts as such only if the list has other commas, followed by a space. */
const COMMA = /[,，、;；\n]/;
const COMMA_KEPT = /,(?!\d{3}(?!\d))|[，、;；\n]/;

/** Splits at commas, semicolons and line ends. */
export function splitItems(body: string): readonly string[] {
  const separator = /\d, /.test(body) ? COMMA_KEPT : COMMA;
  return body
    .split(separator, MAX_PIECES)
    .map((piece) => tidy(piece.trim().replace(BULLET, "")))
    .filter((piece) => piece !== "");
}

/** The same, but also splits the last two items at "and". */
export function splitList(body: string): readonly string[] {
  const items = splitItems(body);
  const last = items.at(-1) ?? "";
  const [one = "", other, ...more] = last.replace(/^(?:and|以及|还有)\s{0,4}/i, "").split(/ and | & |以及|还有/i);
  // "Bread and butter" may be one item; after a comma, or between single words, it is two.
  const areTwo =
    other !== undefined && more.length === 0 && (items.length > 1 || !/\s/.test(last.replace(/ and | & /i, "")));
  if (!areTwo) return [...items.slice(0, -1), last.replace(/^and\s{1,4}/i, "")].filter((item) => item !== "");
  return [...items.slice(0, -1), tidy(one), tidy(other)].filter((item) => item !== "");
}

const NUMBER = String.raw`[-+]?[$€£¥]?\d{1,3}(?:,\d{3}){1,4}(?![\d,])|[-+]?[$€£¥]?\d{1,15}(?:\.\d{1,10})?`;
/** Excludes suffixes that change the number, such as 5k. */
const UNIT = String.raw`\s?(?:%|°[CF]?|(?!(?:k|m|bn|mn)\b)[a-z]{1,3}\b|个|只|本|件|台|人|元|次|岁|箱|斤|度)?`;
const ONLY_NUMBER = new RegExp(String.raw`^(?:${NUMBER})(?:%|°[CF]?)?$`);
/** The value is the last number and the label everything before it: "Q1 10", "iPhone 15 30", "2024: 5". */
const NAMED = new RegExp(
  String.raw`^(.{1,80}?)(?:\s{0,4}[:=]\s{0,4}|\s{1,4}(?:is|are)\s{1,4}|\s{0,4}[有是为]\s{0,4}|\s{1,4}|(?<=\p{Script=Han}))(${NUMBER})${UNIT}$`,
  "iu",
);
const COUNTED = new RegExp(
  String.raw`^(${NUMBER})\s?(?:个|只|本|件|台|x\b)?\s?(?!(?:k|m|bn|mn)\b)(\p{L}\D{0,79})$`,
  "iu",
);
const POINT = String.raw`\(\s?(${NUMBER})\s?,\s?(${NUMBER})\s?\)`;
const POINTS = new RegExp(String.raw`^${POINT}(?:[,;]?(?: and)?\s?${POINT}){0,99}$`, "i");
const TITLE = /^([^:\d,;\n]{1,80}):\s{0,4}(?=[^\d\s])/;
/** "sales in 2024" is not a label and a value. */
const UNFINISHED = /(?:^|\s)(?:in|of|from|to|since|by|at|on|for|between|until|the|than|with|after|before)$/i;

/** Reads "apples 3, pears 5", "3 apples", "Jan: 3", "3 5 8", "apples 3 pears 5", "(1, 2), (3, 4)". */
export function readLabelledValues(given: string): LabelledValues {
  const body = given.normalize("NFKC");
  if (POINTS.test(body)) {
    const points = [...body.matchAll(new RegExp(POINT, "g"))];
    return { title: undefined, entries: points.map(([, x, y = ""]) => ({ label: x, value: toNumber(y) })), others: [] };
  }
  const [heading, title] = TITLE.exec(body) ?? [];
  const items = splitItems(heading === undefined ? body : body.slice(heading.length))
    .flatMap((item) => item.split(/ and | & |和|与|以及/i).map((piece) => tidy(piece.replace(/^and\s{1,4}/i, ""))))
    .filter((item) => item !== "")
    .slice(0, MAX_PIECES);
  const entries: LabelledValue[] = [];
  const others: string[] = [];
  for (const item of items) {
    const read = (items.length === 1 ? readRow(item) : undefined) ?? readItem(item);
    if (read === undefined) others.push(item);
    else entries.push(...read);
  }
  // An unlabelled number among labelled ones, as in "a 3.5, b 5,5", means that the list was not understood.
  const named = entries.filter(({ label }) => label !== undefined).length;
  if (named > 0 && named < entries.length) return { title: title?.trim(), entries: [], others: items };
  return { title: title?.trim(), entries: entries.slice(0, MAX_PIECES), others };
}

/** Reads a list without commas: numbers alone, or a label before each of them. */
function readRow(item: string): readonly LabelledValue[] | undefined {
  const entries: LabelledValue[] = [];
  let label: string[] = [];
  for (const word of item.split(/[\s:=]+/)) {
    if (!ONLY_NUMBER.test(word)) label.push(word);
    else {
      entries.push({ label: label.length === 0 ? undefined : tidy(label.join(" ")), value: toNumber(word) });
      label = [];
    }
  }
  const named = entries.filter((entry) => entry.label !== undefined).length;
  const isRow = entries.length > 1 && label.length === 0 && (named === 0 || named === entries.length);
  return isRow && !entries.some((entry) => UNFINISHED.test(entry.label ?? "")) ? entries : undefined;
}

function readItem(item: string): readonly LabelledValue[] | undefined {
  if (ONLY_NUMBER.test(item)) return [{ label: undefined, value: toNumber(item) }];
  const [, name, value] = NAMED.exec(item) ?? [];
  if (name !== undefined && value !== undefined) {
    const label = tidy(name);
    // A label with two numbers is a row whose structure is unclear.
    const isName = label.split(/\s+/).filter((word) => ONLY_NUMBER.test(word)).length < 2 && !UNFINISHED.test(label);
    return isName && /[\p{L}\p{N}]/u.test(label) ? [{ label, value: toNumber(value) }] : undefined;
  }
  const counted = COUNTED.exec(item);
  return counted === null ? undefined : [{ label: tidy(counted[2] ?? ""), value: toNumber(counted[1] ?? "") }];
}

function toNumber(text: string): number {
  return Number(text.replaceAll(/[^\d.-]/g, ""));
}

function tidy(text: string): string {
  return text
    .slice(0, MAX_PIECE)
    .trim()
    .replaceAll(/^["'“”「」]|["'“”「」]$/g, "")
    .trim();
}
