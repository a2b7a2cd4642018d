/**
 * Splits a document into passages at headings and paragraphs. Each passage has a limited size, the headings above it
 * and its line numbers. Code blocks and tables stay complete if they fit.
 *
 * Invariants: a passage has at most `maxCharacters`, and never only text of the previous one; every line with text is in
 * a passage; the cost is linear.
 */

/** A passage of a document. */
export interface DocumentChunk {
  readonly content: string;
  /** From the outermost heading to the nearest. */
  readonly headings: readonly string[];
  /** Line numbers start at 1. */
  readonly firstLine: number;
  readonly lastLine: number;
}

export interface SplitOptions {
  readonly maxCharacters: number;
  /** Maximum characters that a passage repeats from the previous one of its section. */
  readonly overlap: number;
  /** Whether `#` starts a heading and backticks start a code block. */
  readonly isMarkdown: boolean;
  /** Index of the first line to read. */
  readonly from?: number;
}

interface TextBlock {
  readonly first: number;
  readonly last: number;
  readonly length: number;
  readonly level?: number;
  readonly heading?: string;
}

/** Part of one line, or complete lines. */
interface BlockPiece {
  readonly text: string;
  readonly first: number;
  readonly last: number;
}

const MAX_HEADING = 200;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ATX = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const SETEXT = /^ {0,3}(=+|-{2,})[ \t]*$/;

export interface Heading {
  readonly level: number;
  readonly text: string;
}

/**
 * Reads an ATX heading. Trailing `#` are removed by hand, because a regular expression would be quadratic for long
 * lines.
 */
export function readHeading(line: string): Heading | undefined {
  const found = ATX.exec(line);
  if (found === null) return undefined;
  const rest = line.slice(found[0].length).trim();
  let end = rest.length;
  while (end > 0 && rest[end - 1] === "#") end -= 1;
  const isClosed = end === 0 || rest[end - 1] === " " || rest[end - 1] === "\t";
  return { level: found[1]?.length ?? 1, text: isClosed ? rest.slice(0, end).trimEnd() : rest };
}

/** Lines after which a scan pauses. */
const PAUSE_LINES = 2000;

/**
 * Yields passages one by one, so that the caller can yield to the event loop. Yields undefined as a pause, because many
 * lines can give no passage.
 */
export function* splitDocument(lines: readonly string[], options: SplitOptions): Generator<DocumentChunk | undefined> {
  const { maxCharacters, overlap } = options;
  const ready: DocumentChunk[] = [];
  let path: { readonly level: number; readonly text: string }[] = [];
  let above: readonly string[] = [];
  let pieces: BlockPiece[] = [];
  let length = 0;
  let repeated: BlockPiece | undefined;
  /** Only headings so far. */
  let isBare = true;
  const finish = (carry: boolean): void => {
    const last = pieces.at(-1);
    const first = pieces[0];
    if (first === undefined || last === undefined) return;
    const content = pieces.map(({ text }) => text).join("\n");
    const isNew = last !== repeated && content.trim() !== "";
    if (isNew) ready.push({ content, headings: above, firstLine: first.first + 1, lastLine: last.last + 1 });
    repeated = carry && last !== repeated ? takeEnd(last, overlap) : undefined;
    pieces = repeated === undefined ? [] : [repeated];
    length = repeated?.text.length ?? 0;
    above = path.map(({ text }) => text);
  };
  let count = 0;
  for (const block of readBlocks(lines, options)) {
    if (block === undefined) {
      yield undefined;
      continue;
    }
    if (block.level !== undefined) {
      const { level, heading = "" } = block;
      // A passage may continue over the heading of a small section, but not over one that ends its topic.
      const isSmall = length < maxCharacters / 4 && pieces.length > 0 && level > (path[0]?.level ?? 0);
      if (!isSmall) finish(false);
      isBare ||= pieces.length === 0;
      path = [...path.filter((outer) => outer.level < level), { level, text: heading.slice(0, MAX_HEADING) }];
      if (pieces.length === 0) above = path.map(({ text }) => text);
    }
    // A passage is never headings alone: the block after them is split if needed.
    if (!isBare && length + block.length + 2 > maxCharacters) finish(block.level === undefined);
    const free = isBare ? maxCharacters - length - 2 : maxCharacters;
    const room = block.length > free ? free - overlap : free;
    isBare &&= block.level !== undefined && length < maxCharacters / 2;
    for (const piece of readPieces(lines, block, Math.max(room, maxCharacters / 4))) {
      if (pieces.length > 0 && length + piece.text.length + 2 > maxCharacters) finish(true);
      // Drop the repeated text if there is no room for it.
      if (length + piece.text.length + 2 > maxCharacters) [pieces, length] = [[], 0];
      const last = pieces.at(-1);
      if (last !== undefined && piece.first > last.last + 1) pieces.push({ ...last, text: "", first: last.last });
      pieces.push(piece);
      length += piece.text.length + 2;
      yield* ready.splice(0);
      if (++count % PAUSE_LINES === 0) yield undefined;
    }
  }
  finish(false);
  yield* ready;
}

/** Returns the end of a piece from the start of a sentence or line; undefined if there is none within `overlap`. */
function takeEnd({ text, last }: BlockPiece, overlap: number): BlockPiece | undefined {
  if (overlap === 0 || text.length <= overlap) return undefined;
  const end = text.slice(-overlap);
  const start = /[\n。！？；]|[.!?;]\s/.exec(end);
  if (start === null) return undefined;
  const rest = end.slice(start.index + start[0].length).trim();
  if (rest === "") return undefined;
  return { text: rest, first: last - rest.split("\n").length + 1, last };
}

function* readBlocks(
  lines: readonly string[],
  { isMarkdown, from = 0 }: SplitOptions,
): Generator<TextBlock | undefined> {
  let first = -1;
  let length = 0;
  const end = (last: number): TextBlock | undefined => {
    const block = first < 0 ? undefined : { first, last, length };
    first = -1;
    length = 0;
    return block;
  };
  for (let at = from; at < lines.length; at++) {
    if (at % PAUSE_LINES === 0) yield undefined;
    const line = lines[at] ?? "";
    const fence = isMarkdown ? FENCE.exec(line)?.[1] : undefined;
    const atx = isMarkdown && fence === undefined ? readHeading(line) : undefined;
    const isUnder =
      isMarkdown && first >= 0 && first === at - 1 && SETEXT.test(line) && !(lines[first] ?? "").includes("|");
    if (line.trim() === "" || fence !== undefined || atx !== undefined) {
      const block = end(at - 1);
      if (block !== undefined) yield block;
    }
    if (line.trim() === "") continue;
    if (fence !== undefined) {
      const block = yield* readFenced(lines, at, fence);
      yield block;
      at = block.last;
    } else if (atx !== undefined) {
      yield { first: at, last: at, length: line.length, level: atx.level, heading: atx.text };
    } else if (isUnder) {
      const heading = (lines[first] ?? "").trim();
      const level = line.trim().startsWith("=") ? 1 : 2;
      yield { first, last: at, length: heading.length + line.length, level, heading };
      first = -1;
      length = 0;
    } else {
      if (first < 0) first = at;
      length += line.length + 1;
    }
  }
  const block = end(lines.length - 1);
  if (block !== undefined) yield block;
}

/** A code block that is not closed extends to the end of the document. */
function* readFenced(lines: readonly string[], first: number, fence: string): Generator<undefined, TextBlock> {
  const mark = fence[0] ?? "`";
  let length = (lines[first]?.length ?? 0) + 1;
  for (let at = first + 1; at < lines.length; at++) {
    if (at % PAUSE_LINES === 0) yield undefined;
    const line = lines[at] ?? "";
    length += line.length + 1;
    const found = FENCE.exec(line);
    if (found === null || found[1]?.[0] !== mark || found[1].length < fence.length) continue;
    if (line.trim() === found[1]) return { first, last: at, length };
  }
  return { first, last: lines.length - 1, length };
}

/** Yields a block as one piece if it fits, otherwise by lines, otherwise by sentences. */
function* readPieces(
  lines: readonly string[],
  { first, last, length }: TextBlock,
  room: number,
): Generator<BlockPiece> {
  if (length <= room) {
    yield { text: lines.slice(first, last + 1).join("\n"), first, last };
    return;
  }
  for (let at = first; at <= last; at++) {
    const line = lines[at] ?? "";
    for (let start = 0; start < line.length || start === 0;) {
      const end = findCut(line, start, room - 2);
      yield { text: line.slice(start, end), first: at, last: at };
      if (end >= line.length) break;
      start = end;
    }
  }
}

/** Returns where a part of a line ends: after a sentence in its second half, after a word, or anywhere. */
function findCut(line: string, start: number, room: number): number {
  if (line.length - start <= room) return line.length;
  const part = line.slice(start, start + room);
  const half = Math.floor(room / 2);
  const sentence = Math.max(...["。", "！", "？", ". ", "! ", "? ", "；"].map((mark) => part.lastIndexOf(mark)));
  if (sentence >= half) return start + sentence + 1;
  const word = Math.max(part.lastIndexOf(" "), part.lastIndexOf("，"), part.lastIndexOf("\t"));
  if (word >= half) return start + word + 1;
  const code = part.charCodeAt(part.length - 1);
  return start + (code >= 0xd800 && code <= 0xdbff && part.length > 1 ? part.length - 1 : part.length);
}
