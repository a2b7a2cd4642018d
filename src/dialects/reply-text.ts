/**
 * The answer text of a run. `ReplyText` collects it for dialects whose last frame does not contain it; `StreamedAnswer`
 * tracks how much was streamed, so that the rest of a reply can be sent.
 */

/** Maximum number of characters of all answers in one decoder or encoder. */
export const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

/** Shared by all answers of one decoder. */
export interface ReplyBudget {
  held: number;
}

/** Collects the text of an answer. Beyond the budget nothing is added and `overflowed` is true. */
export class ReplyText {
  readonly #budget: ReplyBudget;
  #text = "";
  #mark = 0;
  overflowed = false;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  add(piece: string): void {
    this.overflowed ||= this.#budget.held + piece.length > MAX_REPLY_CHARACTERS;
    if (this.overflowed) return;
    this.#budget.held += piece.length;
    this.#text += piece;
  }

  replace(text: string): void {
    this.clear();
    this.add(text);
  }

  /** A tool call separates the text so far from what follows. */
  mark(): void {
    this.#mark = this.#text.length;
  }

  /** Drops the text since the last mark: another attempt of the run sends it again. */
  rollBack(): void {
    this.#budget.held -= this.#text.length - this.#mark;
    this.#text = this.#text.slice(0, this.#mark);
  }

  /** Releases the budget. */
  clear(): void {
    this.#budget.held -= this.#text.length;
    this.#text = "";
    this.#mark = 0;
    this.overflowed = false;
  }

  toString(): string {
    return this.#text;
  }
}

const MAX_NODES = 10_000;
const MAX_TAIL = 64 * 1024;

/**
 * The streamed answer of a run: which node runs contributed, and the end of the last one's text. Plain data: it is part
 * of the saved state of an encoder.
 */
export class StreamedAnswer {
  readonly nodes = new Set<string>();
  last: string | undefined;
  tail = "";
  /** True if the tail is not the complete text of the last node run. */
  isCut = false;
}

/** Adds a streamed piece of the answer. */
export function addAnswerText(answer: StreamedAnswer, node: string | undefined, text: string): void {
  const key = node ?? "";
  if (key !== answer.last) {
    answer.last = key;
    answer.tail = "";
    answer.isCut = answer.nodes.has(key);
    if (answer.nodes.size < MAX_NODES) answer.nodes.add(key);
  }
  answer.tail += text;
  if (answer.tail.length <= MAX_TAIL) return;
  answer.tail = answer.tail.slice(-MAX_TAIL / 2);
  answer.isCut = true;
}

/**
 * Returns the part of the reply that still has to be sent: all of it if its node run streamed nothing or a different
 * text, the rest if only the beginning was streamed.
 */
export function findUnsentText(answer: StreamedAnswer, node: string | undefined, reply: string): string {
  const { nodes, last, tail, isCut } = answer;
  const spoke = node === undefined ? nodes.size > 0 : nodes.has(node);
  if (!spoke) return reply;
  if ((node !== undefined && node !== last) || tail.endsWith(reply) || isCut) return "";
  return reply.startsWith(tail) ? reply.slice(tail.length) : reply;
}
