/**
 * Pieces of long texts: what is shown of them must not grow with them. Texts here only ever grow at their end, so a place
 * in one stays what it is. Nothing is cut within a character.
 */

/** As much of the beginning as `max` characters hold. */
export function cutHead(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, toEdge(text, max));
}

/** As much of the end. */
export function cutTail(text: string, max: number): string {
  return text.length <= max ? text : text.slice(toEdge(text, text.length - max));
}

const PREVIEW = 200;

/** The newest line that says something, as far as the last characters hold it. Costs the same however long the text. */
export function findLastLine(text: string): string {
  const tail = cutTail(text, PREVIEW);
  const said = tail.trimEnd();
  return said.slice(said.lastIndexOf("\n") + 1).trim();
}

/** The first lines and characters of a text; the text itself where it is no longer than that. */
export function foldText(text: string, maxLines: number, max: number): string {
  let end = 0;
  for (let lines = 0; lines < maxLines; lines++) {
    const next = text.indexOf("\n", end);
    if (next === -1) return cutHead(text, max);
    end = next + 1;
  }
  return end >= text.length ? cutHead(text, max) : cutHead(text.slice(0, end - 1), max);
}

export type Stretch = readonly [from: number, to: number];

/**
 * A text in blocks of about `size` characters that end with a line, of which at most the last `max` characters are shown.
 * While the text grows a block that has ended stays what it is, so that what is below it need not be laid out again.
 */
export function findBlocks(text: string, size: number, max: number): readonly Stretch[] {
  const blocks: Stretch[] = [];
  const { length } = text;
  // Where it begins moves in steps too.
  const first = length <= max ? 0 : Math.ceil((length - max) / size) * size;
  let from = first === 0 ? 0 : (findLineNear(text, first, size) ?? toEdge(text, first));
  for (let at = first + size; at < length; at += size) {
    const next = findLineNear(text, at, size);
    // Where no line ends near, the block goes on.
    if (next === undefined) continue;
    blocks.push([from, next]);
    from = next;
  }
  if (from < length) blocks.push([from, length]);
  return blocks;
}

/** Where the next line begins, if it is less than `size` away. */
function findLineNear(text: string, at: number, size: number): number | undefined {
  const end = text.slice(at, at + size).indexOf("\n");
  const next = at + end + 1;
  return end === -1 || next >= text.length ? undefined : next;
}

/** A text that grows is laid out anew whenever it is looked into, all of it: one this long is looked into in steps. */
const STEPPED = 65_536;
const STEP_SHARE = 4096;

/** Whether a text of which so much is shown is to be shown anew. Over all steps that costs a constant per character. */
export function isStepDue(shown: number, length: number): boolean {
  return length !== shown && (length < STEPPED || length < shown || length - shown >= length / STEP_SHARE);
}

/** The next place that is not between the halves of a character. */
function toEdge(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
