/**
 * Incremental Markdown parser. Finished blocks are tokenized once and keep their identity; only the open end is
 * tokenized again. It renders nothing.
 *
 * A block is finished when the next one has begun with a whole line. Long lists and tables are emitted in pieces, and
 * an open code fence is only appended to. Any other long open end is tokenized again after it has grown by a fraction;
 * until then the new text is `rest`. Total work stays proportional to the text.
 *
 * Invariant: for a complete text, the blocks equal those of tokenizing it at once, however it was split.
 */
import type { Token, Tokens } from "marked";
import { closeInline } from "./close-inline.ts";
import { detachText } from "./create-text-cutter.ts";
import { type Fence, openFence, readFence } from "./open-fence.ts";
import { collectLinks, lexMarkdown, type LinkDefinitions } from "./lex-markdown.ts";

export type FeedBlock =
  | { readonly kind: "token"; readonly token: Token }
  | ListBlock
  | TableBlock
  /** An open code fence. */
  | { readonly kind: "code"; readonly text: string; readonly language: string };

/** Items in immutable pieces. A later item may still make the list loose. */
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
  /** Blocks in pages; all but the last page keep their identity. */
  readonly pages: readonly (readonly FeedBlock[])[];
  /** Total number of blocks. The last one is open unless the text is complete. */
  readonly count: number;
  readonly isComplete: boolean;
  /** Text received since the open end was last tokenized. */
  readonly rest: string;
}

const PAGE = 64;
/** A shorter open end is tokenized on every change. */
const SHORT = 2000;
/** Growth after which a longer open end is tokenized again. */
const GROWTH = 1 / 8;
/** Approximate size of the pieces of lists and tables. */
const PIECE = 1000;
/** Maximum items in a piece of a list. */
const PIECE_ITEMS = 50;
/** Maximum text tokenized at once. */
const WINDOW = 16_000;

/** Characters compared to check that a text continues the previous one. */
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
  "footnote",
]);
const INTERRUPTS: ReadonlySet<string> = new Set(["heading", "hr", "code", "list", "blockquote"]);
/** A paragraph that may still become a link definition or math. */
const UNDECIDED = /^ {0,3}\[|(?:^|\n) {0,3}(?:\$\$|\\\[)/;

export class MarkdownFeed {
  /** Characters passed to the lexer so far, for tests. */
  lexed = 0;

  #text = "";
  #hasReturns = false;
  /** The text with normalized line ends, and how much of the input it covers. */
  #source = "";
  #taken = 0;
  #isComplete = false;
  #document: MarkdownDocument = { pages: [], count: 0, isComplete: false, rest: "" };

  /** Start of the open end. */
  #start = 0;
  /** How far the open end was tokenized, and the resulting blocks. */
  #lexedTo = 0;
  #open: readonly FeedBlock[] = [];
  #pages: FeedBlock[][] = [];
  #fence: Fence | undefined;
  /** An open list or table whose first pieces were emitted. */
  #list: ListBlock | undefined;
  #table: (TableBlock & { readonly head: string }) | undefined;

  #links: LinkDefinitions = Object.create(null) as LinkDefinitions;
  #hasNewLinks = false;
  #linkedAt = 0;

  /** Takes the whole text so far. Starts over if it does not continue the previous text. */
  update(text: string, isComplete: boolean): MarkdownDocument {
    if (text === this.#text && isComplete === this.#isComplete) return this.#document;
    if (this.#isComplete || !this.#isContinuedBy(text, isComplete)) {
      this.#begin(Object.create(null) as LinkDefinitions);
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
      // Tokenize again, so that earlier references find the new definitions.
      this.#begin(this.#links);
      this.#linkedAt = this.#source.length;
      this.#advance();
    }
    this.#document = this.#build();
    return this.#document;
  }

  /** Normalizes line ends of new text. A final carriage return is held back, since a line feed may follow. */
  #extend(text: string): void {
    const end = this.#hasReturns && !this.#isComplete && text.endsWith("\r") ? text.length - 1 : text.length;
    this.#source = this.#hasReturns ? this.#source + text.slice(this.#taken, end).replaceAll(/\r\n?/g, "\n") : text;
    this.#taken = end;
  }

  /** Compares the whole text only once it is complete; before that only its end, so that cost does not grow. */
  #isContinuedBy(text: string, isComplete: boolean): boolean {
    if (isComplete) return text.startsWith(this.#text);
    const { length } = this.#text;
    const from = Math.max(0, length - COMPARED);
    return text.length >= length && text.slice(from, length) === this.#text.slice(from);
  }

  #begin(links: LinkDefinitions): void {
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
      // Text that yielded no finished block before is tokenized as a whole.
      const end = this.#lexedTo > start ? this.#source.length : Math.min(this.#source.length, start + window);
      const isEnd = end === this.#source.length;
      const isFinal = isEnd && this.#isComplete;
      const head = this.#table?.head ?? "";
      this.#take(this.#lex(head + this.#source.slice(start, end)), head.length, end, isFinal);
      if (isFinal) return;
      // A fence that starts now is read at once.
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

  /** Emits finished tokens and keeps the others as the open end. */
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
    const rest = tokens.slice(certain);
    const isLinkedTooSoon = certain > 0 && this.#defines(rest);
    const finished = isLinkedTooSoon
      ? this.#lex((this.#table?.head ?? "") + this.#source.slice(this.#start, certainTo))
      : tokens.slice(0, certain);
    for (const block of this.#toBlocks(finished)) this.#push(block);
    if (certain > 0) {
      this.#list = undefined;
      this.#table = undefined;
    }
    this.#note(finished, this.#source.slice(this.#start, certainTo));
    this.#start = certainTo;
    this.#lexedTo = end;
    if (end - this.#start > PIECE) this.#takePiece(rest, certain === 0 ? headLength : 0, end);
    this.#open = this.#toBlocks(this.#closeEnd(rest, end));
  }

  /** Closes inline marks at the end of the text, for the preview only. */
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

  /** Takes all items before the last one that has a complete line. */
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
    if (count === 0 || this.#defines([...items.slice(count), ...tokens.slice(1)])) return;
    const taken = items.slice(0, count);
    const open = this.#list ?? createListBlock(list);
    const isLoose = open.isLoose || taken.some(isLooseItem);
    this.#list = { ...open, isLoose, pieces: [...open.pieces, ...cutItems(taken)] };
    this.#note(taken, this.#source.slice(this.#start, this.#start + length));
    this.#start += length;
    tokens[0] = { ...list, raw: list.raw.slice(length), items: items.slice(count) };
  }

  /** Takes all rows that are whole lines. */
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
    if (count === 0 || this.#defines(tokens.slice(1))) return;
    const open = this.#table ?? { kind: "table", header: table.header, pieces: [], head };
    this.#table = { ...open, pieces: [...open.pieces, table.rows.slice(0, count)] };
    this.#start = to;
    tokens[0] = { ...table, rows: table.rows.slice(count) };
  }

  /** Returns false while the fence is open. */
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

  /** The first token continues the open list or table, if there is one. */
  #toBlocks(tokens: readonly Token[]): FeedBlock[] {
    const blocks: FeedBlock[] = [];
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
    return { ...open, isLoose: open.isLoose || list.loose, pieces: [...open.pieces, ...cutItems(list.items)] };
  }

  #toTable(table: Tokens.Table, isFirst: boolean): TableBlock {
    const pieces = (isFirst ? this.#table?.pieces : undefined) ?? [];
    return { kind: "table", header: table.header, pieces: table.rows.length === 0 ? pieces : [...pieces, table.rows] };
  }

  #push(block: FeedBlock): void {
    const page = this.#pages.at(-1);
    if (page === undefined || page.length === PAGE) this.#pages.push([block]);
    // Pages are immutable once returned.
    else this.#pages[this.#pages.length - 1] = [...page, block];
  }

  /** Whether unfinished tokens define a link. More text may undo that, so it must not link what is finished. */
  #defines(tokens: readonly Token[]): boolean {
    const found: LinkDefinitions = Object.create(null) as LinkDefinitions;
    collectLinks(tokens, found);
    return Object.keys(found).some((name) => !Object.hasOwn(this.#links, name));
  }

  /** Collects link definitions from finished tokens. */
  #note(tokens: readonly Token[], source: string): void {
    if (!source.includes("]:")) return;
    const known = Object.keys(this.#links).length;
    collectLinks(tokens, this.#links);
    this.#hasNewLinks ||= Object.keys(this.#links).length > known;
  }

  #build(): MarkdownDocument {
    const pages: (readonly FeedBlock[])[] = [...this.#pages];
    // Open blocks already have their final position, so they keep their React elements once finished.
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

/** Whether later text cannot change `before`, once the first line of `next` is complete. */
function isCertain(before: Token, next: Token): boolean {
  // An empty line may still become a line with content.
  if (next.type === "space") return false;
  if (ENDS_ALONE.has(before.type)) return true;
  return before.type === "paragraph" && interruptsParagraph(next);
}

/** Whether the token may still absorb following lines: as a definition, math or an underlined heading. */
function isUndecidedBefore({ type, raw }: Token, next: Token): boolean {
  if (type === "paragraph" && next.type !== "space" && !interruptsParagraph(next)) return true;
  return type === "def" || ((type === "paragraph" || type === "heading") && UNDECIDED.test(raw));
}

/** Whether a token can interrupt the paragraph before it. */
function interruptsParagraph({ type, raw }: Token): boolean {
  if (!INTERRUPTS.has(type) || UNDECIDED.test(raw)) return false;
  return type !== "list" || /^ {0,3}(?:[*+-]|\d{1,9}[.)]) /.test(raw);
}

/** A paragraph may also end at a table header, which takes two lines. */
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

function cutItems(items: readonly Tokens.ListItem[]): readonly (readonly Tokens.ListItem[])[] {
  if (items.length <= PIECE_ITEMS) return [items];
  return Array.from({ length: Math.ceil(items.length / PIECE_ITEMS) }, (_, index) =>
    items.slice(index * PIECE_ITEMS, (index + 1) * PIECE_ITEMS),
  );
}

/** Whether an item that is followed by another makes its list loose. */
function isLooseItem({ raw, tokens }: Tokens.ListItem): boolean {
  return /\n[ \t]*\n[ \t]*$/.test(raw) || tokens.some((token) => token.type === "space" && /\n.*\n/.test(token.raw));
}
