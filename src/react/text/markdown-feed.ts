/**
 * Markdown that grows, as blocks. What is certain not to change is lexed once and its blocks stay the same objects; only
 * the open end is looked at again. It renders nothing.
 *
 * A block is certain when the next one has begun with a whole line: the lexer decides line by line. Long lists and tables
 * are given out in pieces, a fenced block is only appended to, and any other open end that grew long is lexed again
 * after it grew by a part of itself; what came since is `rest`. So all that is lexed stays a multiple of the text.
 *
 * Invariant: once complete, the blocks are those of the whole text lexed at once, however it was cut.
 */
import type { Token, Tokens } from "marked";
import { closeInline } from "./close-inline.ts";
import { detachText } from "./detach-text.ts";
import { type Fence, openFence, readFence } from "./open-fence.ts";
import { collectLinks, type Links, lexMarkdown } from "./lex-markdown.ts";

export type Block =
  | { readonly kind: "token"; readonly token: Token }
  | ListBlock
  | TableBlock
  /** Fenced, and not closed yet. */
  | { readonly kind: "code"; readonly text: string; readonly language: string };

/** Items in pieces that do not change; whether it is loose may still be found out by a later item. */
export interface ListBlock {
  readonly kind: "list";
  readonly isOrdered: boolean;
  readonly start: number;
  readonly isLoose: boolean;
  readonly pieces: readonly (readonly Tokens.ListItem[])[];
}

export interface TableBlock {
  readonly kind: "table";
  readonly header: readonly Tokens.TableCell[];
  readonly pieces: readonly (readonly Tokens.TableCell[][])[];
}

export interface MarkdownDocument {
  /** Blocks by the page, the last of which may change: a page of blocks that does not change is the same object. */
  readonly pages: readonly (readonly Block[])[];
  /** The number of blocks, the last of which is open unless the text is complete. */
  readonly count: number;
  readonly isComplete: boolean;
  /** What came since the open end was lexed. */
  readonly rest: string;
}

const PAGE = 64;
/** An open end up to this long is lexed again with every change. */
const SHORT = 2000;
/** A longer one when it grew by this part of itself. */
const GROWTH = 1 / 8;
/** Lists and tables are given out in pieces of about this size. */
const PIECE = 1000;
/** How much of a text that comes at once is lexed in one go. */
const WINDOW = 16_000;

/** So much of the end of a text is looked at to see that another continues it. */
const COMPARED = 1000;

const ENDS_ALONE: ReadonlySet<string> = new Set([
  "space",
  "heading",
  "hr",
  "code",
  "list",
  "table",
  "blockquote",
  "html",
  "math",
]);
const INTERRUPTS: ReadonlySet<string> = new Set(["heading", "hr", "code", "list", "blockquote"]);
/** A paragraph that may yet turn out to be a definition or mathematics. */
const UNDECIDED = /^ {0,3}\[|(?:^|\n) {0,3}(?:\$\$|\\\[)/;

export class MarkdownFeed {
  /** Characters given to the lexer so far, for those who count. */
  lexed = 0;

  #text = "";
  #hasReturns = false;
  /** The text with one kind of line end, and how much of it that is. */
  #source = "";
  #taken = 0;
  #isComplete = false;
  #document: MarkdownDocument = { pages: [], count: 0, isComplete: false, rest: "" };

  /** Where the open end begins. */
  #start = 0;
  /** How far the open end was lexed, and what it gave. */
  #lexedTo = 0;
  #open: readonly Block[] = [];
  #pages: Block[][] = [];
  #fence: Fence | undefined;
  /** A list or table of which pieces were given out, and whose end is open. */
  #list: ListBlock | undefined;
  #table: (TableBlock & { readonly head: string }) | undefined;

  #links: Links = Object.create(null) as Links;
  #hasNewLinks = false;
  #linkedAt = 0;

  /** The whole text so far. Where it does not continue the one before, everything begins anew. */
  update(text: string, isComplete: boolean): MarkdownDocument {
    if (text === this.#text && isComplete === this.#isComplete) return this.#document;
    if (this.#isComplete || !this.#isContinuedBy(text, isComplete)) {
      this.#begin(Object.create(null) as Links);
      this.#text = "";
      this.#hasReturns = false;
      this.#source = "";
      this.#taken = 0;
    }
    this.#hasReturns ||= text.includes("\r", this.#text.length);
    this.#text = text;
    this.#isComplete = isComplete;
    this.#extend(text);
    this.#advance();
    if (
      this.#hasNewLinks &&
      (isComplete || this.#source.length <= SHORT || this.#source.length >= 2 * this.#linkedAt)
    ) {
      // What came before its definition is lexed again, now that it is known.
      this.#begin(this.#links);
      this.#linkedAt = this.#source.length;
      this.#advance();
    }
    this.#document = this.#build();
    return this.#document;
  }

  /** Two kinds of line end are one; a carriage return at the end may be half of one. Only what is new is looked at. */
  #extend(text: string): void {
    const end = this.#hasReturns && !this.#isComplete && text.endsWith("\r") ? text.length - 1 : text.length;
    this.#source = this.#hasReturns ? this.#source + text.slice(this.#taken, end).replaceAll(/\r\n?/g, "\n") : text;
    this.#taken = end;
  }

  /** Compared whole once it is complete; until then by where it was continued, so that a token costs the same anywhere. */
  #isContinuedBy(text: string, isComplete: boolean): boolean {
    if (isComplete) return text.startsWith(this.#text);
    const { length } = this.#text;
    const from = Math.max(0, length - COMPARED);
    return text.length >= length && text.slice(from, length) === this.#text.slice(from);
  }

  #begin(links: Links): void {
    this.#start = 0;
    this.#lexedTo = 0;
    this.#open = [];
    this.#pages = [];
    this.#fence = undefined;
    this.#list = undefined;
    this.#table = undefined;
    this.#links = links;
    this.#hasNewLinks = false;
    this.#linkedAt = 0;
  }

  #advance(): void {
    let window = WINDOW;
    while (this.#start < this.#source.length) {
      this.#fence ??= this.#table === undefined ? openFence(this.#source, this.#start) : undefined;
      if (this.#fence !== undefined) {
        if (!this.#readFence(this.#fence)) return;
        continue;
      }
      if (!this.#isComplete && !this.#isDue()) return;
      const start = this.#start;
      // What was lexed before and gave nothing that is certain is lexed as a whole.
      const end = this.#lexedTo > start ? this.#source.length : Math.min(this.#source.length, start + window);
      const isEnd = end === this.#source.length;
      const isFinal = isEnd && this.#isComplete;
      const head = this.#table?.head ?? "";
      this.#take(this.#lex(head + this.#source.slice(start, end)), head.length, end, isFinal);
      if (isFinal) return;
      // Where a fence begins now, it is read as one at once.
      if (isEnd && (this.#start === start || openFence(this.#source, this.#start) === undefined)) return;
      window = this.#start === start ? window * 2 : WINDOW;
      if (!isEnd) this.#lexedTo = 0;
    }
  }

  #isDue(): boolean {
    const length = this.#source.length - this.#start;
    return length <= SHORT || this.#lexedTo <= this.#start || this.#source.length - this.#lexedTo >= length * GROWTH;
  }

  #lex(source: string): Token[] {
    this.lexed += source.length;
    return lexMarkdown(detachText(source), this.#links);
  }

  /** Gives out the tokens that are certain, and keeps the others as the open end. */
  #take(tokens: Token[], headLength: number, end: number, isFinal: boolean): void {
    let offset = this.#start - headLength;
    let certain = 0;
    let certainTo = this.#start;
    let isUndecided = false;
    for (const [index, token] of tokens.entries()) {
      const before = tokens[index - 1];
      if (before !== undefined)
        isUndecided = before.type !== "space" && (isUndecided || isUndecidedBefore(before, token));
      const isEnded = before !== undefined && !isUndecided && isCertain(before, token);
      if (isEnded && hasLines(this.#source, offset, end, before)) {
        certain = index;
        certainTo = offset;
      }
      offset += token.raw.length;
    }
    if (isFinal) {
      certain = tokens.length;
      certainTo = end;
    }
    for (const block of this.#toBlocks(tokens.slice(0, certain))) this.#push(block);
    if (certain > 0) {
      this.#list = undefined;
      this.#table = undefined;
    }
    this.#note(tokens.slice(0, certain), this.#source.slice(this.#start, certainTo));
    this.#start = certainTo;
    this.#lexedTo = end;
    const rest = tokens.slice(certain);
    if (end - this.#start > PIECE) this.#takePiece(rest, certain === 0 ? headLength : 0, end);
    this.#open = this.#toBlocks(this.#closeEnd(rest, end));
  }

  /** Only for looks, and only at the end of what there is. */
  #closeEnd(tokens: Token[], end: number): Token[] {
    const open = this.#source.slice(this.#start, end);
    if (end < this.#source.length || this.#isComplete || open.length > SHORT) return tokens;
    const head = this.#table?.head ?? "";
    const closed = closeInline(head + open);
    return closed === head + open ? tokens : this.#lex(closed);
  }

  #takePiece(tokens: Token[], headLength: number, end: number): void {
    const [first] = tokens;
    if (first?.type === "list") this.#takeItems(first as Tokens.List, tokens, end);
    else if (first?.type === "table") this.#takeRows(first as Tokens.Table, tokens, headLength, end);
  }

  /** All items but the last that has a whole line: the one before it cannot go on. */
  #takeItems(list: Tokens.List, tokens: Token[], end: number): void {
    const { items } = list;
    let count = 0;
    let length = 0;
    let offset = 0;
    for (const [index, item] of items.entries()) {
      if (index > 0 && hasLine(this.#source, this.#start + offset, end)) {
        count = index;
        length = offset;
      }
      offset += item.raw.length;
    }
    if (count === 0) return;
    const taken = items.slice(0, count);
    const open = this.#list ?? createListBlock(list);
    const isLoose = open.isLoose || taken.some(isLooseItem);
    this.#list = { ...open, isLoose, pieces: [...open.pieces, taken] };
    this.#note(taken, this.#source.slice(this.#start, this.#start + length));
    this.#start += length;
    tokens[0] = { ...list, raw: list.raw.slice(length), items: items.slice(count) };
  }

  /** All rows that are whole lines. */
  #takeRows(table: Tokens.Table, tokens: Token[], headLength: number, end: number): void {
    const head = this.#table?.head ?? this.#source.slice(this.#start, findLine(this.#source, this.#start, 2));
    if (head.length > PIECE) return;
    const from = this.#start + (headLength > 0 ? 0 : head.length);
    let to = from;
    let count = 0;
    while (count < table.rows.length) {
      const next = this.#source.indexOf("\n", to) + 1;
      if (next === 0 || next > end) break;
      to = next;
      count++;
    }
    if (count === 0) return;
    const open = this.#table ?? { kind: "table", header: table.header, pieces: [], head };
    this.#table = { ...open, pieces: [...open.pieces, table.rows.slice(0, count)] };
    this.#start = to;
    tokens[0] = { ...table, rows: table.rows.slice(count) };
  }

  /** False while the fence is open. */
  #readFence(fence: Fence): boolean {
    const end = readFence(fence, this.#source, this.#isComplete);
    if (end === undefined) {
      this.#open = [
        { kind: "code", text: this.#source.slice(fence.textStart, fence.shownTo), language: fence.language },
      ];
      this.#lexedTo = this.#source.length;
      return false;
    }
    for (const block of this.#toBlocks(this.#lex(this.#source.slice(this.#start, end)))) this.#push(block);
    this.#start = this.#source[end] === "\n" ? end + 1 : end;
    this.#fence = undefined;
    this.#open = [];
    return true;
  }

  /** The first token continues the list or table that is open. */
  #toBlocks(tokens: readonly Token[]): Block[] {
    const blocks: Block[] = [];
    for (const [index, token] of tokens.entries()) {
      if (token.type === "space" || token.type === "def") continue;
      if (token.type === "list") blocks.push(this.#toList(token as Tokens.List, index === 0));
      else if (token.type === "table") blocks.push(this.#toTable(token as Tokens.Table, index === 0));
      else blocks.push({ kind: "token", token });
    }
    return blocks;
  }

  #toList(list: Tokens.List, isFirst: boolean): ListBlock {
    const open = (isFirst ? this.#list : undefined) ?? createListBlock(list);
    return { ...open, isLoose: open.isLoose || list.loose, pieces: [...open.pieces, list.items] };
  }

  #toTable(table: Tokens.Table, isFirst: boolean): TableBlock {
    const pieces = (isFirst ? this.#table?.pieces : undefined) ?? [];
    return { kind: "table", header: table.header, pieces: table.rows.length === 0 ? pieces : [...pieces, table.rows] };
  }

  #push(block: Block): void {
    const page = this.#pages.at(-1);
    if (page === undefined || page.length === PAGE) this.#pages.push([block]);
    // A page that was shown must not change: it is another one now.
    else this.#pages[this.#pages.length - 1] = [...page, block];
  }

  /** Definitions in what has become certain. */
  #note(tokens: readonly Token[], source: string): void {
    if (!source.includes("]:")) return;
    const known = Object.keys(this.#links).length;
    collectLinks(tokens, this.#links);
    this.#hasNewLinks ||= Object.keys(this.#links).length > known;
  }

  #build(): MarkdownDocument {
    const pages: (readonly Block[])[] = [...this.#pages];
    // What is open stands where it will stand, so that it is not built anew when it is certain.
    for (const block of this.#open) {
      const last = pages.at(-1);
      if (last === undefined || last.length === PAGE) pages.push([block]);
      else pages[pages.length - 1] = [...last, block];
    }
    const count = pages.length === 0 ? 0 : (pages.length - 1) * PAGE + (pages.at(-1)?.length ?? 0);
    const rest =
      this.#isComplete || this.#fence !== undefined ? "" : this.#source.slice(Math.max(this.#lexedTo, this.#start));
    return { pages, count, isComplete: this.#isComplete, rest };
  }
}

/** Nothing that may come can change `before`, once the first line of `next` is whole. */
function isCertain(before: Token, next: Token): boolean {
  // An empty line may be the beginning of one that is not.
  if (next.type === "space") return false;
  if (ENDS_ALONE.has(before.type)) return true;
  return before.type === "paragraph" && interruptsParagraph(next);
}

/** It may take in what stands below it, up to an empty line: as a definition, mathematics, or an underlined heading. */
function isUndecidedBefore({ type, raw }: Token, next: Token): boolean {
  if (type === "paragraph" && next.type !== "space" && !interruptsParagraph(next)) return true;
  return type === "def" || ((type === "paragraph" || type === "heading") && UNDECIDED.test(raw));
}

/** Also one that will turn out to be a heading because of a line below. */
function interruptsParagraph({ type, raw }: Token): boolean {
  if (!INTERRUPTS.has(type) || UNDECIDED.test(raw)) return false;
  return type !== "list" || /^ {0,3}(?:[*+-]|\d{1,9}[.)]) /.test(raw);
}

/** A paragraph is also ended by what could be the head of a table, which is two lines. */
function hasLines(source: string, start: number, end: number, before: Token): boolean {
  const second = source.indexOf("\n", start) + 1;
  if (second === 0 || second > end) return false;
  return before.type !== "paragraph" || hasLine(source, second, end);
}

function hasLine(source: string, start: number, end: number): boolean {
  const at = source.indexOf("\n", start);
  return at !== -1 && at < end;
}

function findLine(source: string, start: number, lines: number): number {
  let at = start;
  for (let i = 0; i < lines; i++) at = source.indexOf("\n", at) + 1;
  return at;
}

function createListBlock(list: Tokens.List): ListBlock {
  const start = typeof list.start === "number" ? list.start : 1;
  return { kind: "list", isOrdered: list.ordered, start, isLoose: false, pieces: [] };
}

/** Of an item that another one follows. */
function isLooseItem({ raw, tokens }: Tokens.ListItem): boolean {
  return /\n[ \t]*\n[ \t]*$/.test(raw) || tokens.some((token) => token.type === "space" && /\n.*\n/.test(token.raw));
}
