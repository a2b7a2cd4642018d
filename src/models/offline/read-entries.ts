/** Lists in words: their items, and numbers with the names they have. For tables, charts and to-do lists alike. */

export interface Entry {
  readonly label: string | undefined;
  readonly value: number;
}

export interface Entries {
  /** What stands before a colon, and says what it is all about. */
  readonly title: string | undefined;
  readonly entries: readonly Entry[];
  /** Items that are no number with a name. */
  readonly others: readonly string[];
}

const MAX_PIECES = 100;
const MAX_PIECE = 200;

const BULLET = /^(?:[-*•·]|\(?\d{1,3}[.)、](?!\d))\s{0,4}/;
/** A comma within a number is one only where the list has other commas, with a space after them. */
const COMMA = /[,，、;；\n]/;
const COMMA_KEPT = /,(?!\d{3}(?!\d))|[，、;；\n]/;

/** The items between commas, semicolons and line ends. */
export function splitItems(body: string): readonly string[] {
  const separator = /\d, /.test(body) ? COMMA_KEPT : COMMA;
  return body
    .split(separator, MAX_PIECES)
    .map((piece) => tidy(piece.trim().replace(BULLET, "")))
    .filter((piece) => piece !== "");
}

/** The same, where the last two may be held together by a word. */
export function splitList(body: string): readonly string[] {
  const items = splitItems(body);
  const last = items.at(-1) ?? "";
  const [one = "", other, ...more] = last.replace(/^(?:and|以及|还有)\s{0,4}/i, "").split(/ and | & |以及|还有/i);
  // "Bread and butter" may be one thing; after a comma, or between single words, it is two.
  const areTwo =
    other !== undefined && more.length === 0 && (items.length > 1 || !/\s/.test(last.replace(/ and | & /i, "")));
  if (!areTwo) return [...items.slice(0, -1), last.replace(/^and\s{1,4}/i, "")].filter((item) => item !== "");
  return [...items.slice(0, -1), tidy(one), tidy(other)].filter((item) => item !== "");
}

const NUMBER = String.raw`[-+]?[$€£¥]?\d{1,3}(?:,\d{3}){1,4}(?![\d,])|[-+]?[$€£¥]?\d{1,15}(?:\.\d{1,10})?`;
const UNIT = String.raw`\s?(?:%|[a-z]{1,3}\b|个|只|本|件|台|人|元|次|岁|箱|斤|kg)?`;
const NUMBERS_ONLY = new RegExp(String.raw`^(?:(?:${NUMBER})%?(?:\s{1,4}|$)){1,100}$`);
const NAMED = new RegExp(String.raw`^(\D{1,80}?)\s?(?:[:=]|is|are|有|是|为)?\s{0,4}(${NUMBER})${UNIT}$`, "i");
const COUNTED = new RegExp(String.raw`^(${NUMBER})\s?(?:个|只|本|件|台|x)?\s?(\D{1,80})$`, "i");
const IN_A_ROW = new RegExp(String.raw`(\D{1,80}?)\s?[:=]?\s?(${NUMBER})(?:%|(?=\s|$))`, "gi");
const TITLE = /^([^:\d,;\n]{1,80}):\s{0,4}(?=[^\d\s])/;

/** "apples 3, pears 5", "3 apples", "Jan: 3", "3 5 8". */
export function readEntries(given: string): Entries {
  const body = given.normalize("NFKC");
  const [heading, title] = TITLE.exec(body) ?? [];
  const items = splitItems(heading === undefined ? body : body.slice(heading.length)).flatMap((item) =>
    item.split(/ and | & |和|与|以及/i).map((piece) => tidy(piece.replace(/^and\s{1,4}/i, ""))),
  );
  const entries: Entry[] = [];
  const others: string[] = [];
  for (const item of items.slice(0, MAX_PIECES)) {
    const read = item === "" ? [] : readItem(item);
    if (read === undefined) others.push(item);
    else entries.push(...read);
  }
  return { title: title?.trim(), entries: entries.slice(0, MAX_PIECES), others };
}

function readItem(item: string): readonly Entry[] | undefined {
  if (NUMBERS_ONLY.test(item)) return item.split(/\s+/).map((text) => ({ label: undefined, value: toNumber(text) }));
  const named = NAMED.exec(item);
  if (named !== null) return [{ label: tidy(named[1] ?? ""), value: toNumber(named[2] ?? "") }];
  const counted = COUNTED.exec(item);
  if (counted !== null) return [{ label: tidy(counted[2] ?? ""), value: toNumber(counted[1] ?? "") }];
  const row = [...item.matchAll(IN_A_ROW)];
  const length = row.reduce((sum, [all]) => sum + all.length, 0);
  if (row.length < 2 || length < item.length) return undefined;
  return row.map(([, label = "", value = ""]) => ({ label: tidy(label), value: toNumber(value) }));
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
