/**
 * Markdown into tokens: GitHub's dialect and mathematics, by the lexer of `marked`. Nothing of its HTML writer is used.
 *
 * Invariant: it never throws, and what an empty line has ended is not changed by what comes after it, except that
 * references find definitions that come later.
 */
import { Lexer, Marked, type Token, Tokenizer, type Tokens, type TokensList } from "marked";
import { findMath, findMathBlock, findMathStart, maskMath } from "./find-math.ts";

export type Links = Record<string, { readonly href: string; readonly title: string | null | undefined }>;

export interface MathToken {
  readonly type: "math";
  readonly raw: string;
  readonly source: string;
  readonly isBlock: boolean;
}

/** Definitions of links a text may have; what looks like one after that is text. */
const MOST_LINKS = 500;
/** Text in one go: longer paragraphs are cut, because the lexer looks for the end of what was opened up to their end. */
const LONGEST_RUN = 4000;
/** Lists and quotes within each other: each is lexed with all that is in it, so depth multiplies the work. */
const DEEPEST = 20;

/** Punctuation of Chinese and Japanese at either end. */
const WIDE_EDGE = /^[\u2018-\u201f\u3000-\u303f\uff01-\uff60]|[\u2018-\u201f\u2026\u3000-\u303f\uff01-\uff60]$/;

const engine = new Marked({
  gfm: true,
  tokenizer: {
    /** A title that is not closed must not reach over an empty line: definitions would come and go with later text. */
    def(source) {
      if (!/^ {0,3}\[/.test(source)) return undefined;
      const empty = source.search(/\n[ \t]*\n/);
      const found = Tokenizer.prototype.def.call(this, empty === -1 ? source : source.slice(0, empty));
      if (found === undefined) return undefined;
      const { links } = this.lexer.tokens;
      return Object.hasOwn(links, found.tag) || Object.keys(links).length < MOST_LINKS ? found : undefined;
    },
    /** Text ends where mathematics may begin. What is behind that is not shown to the lexer: it would look through it. */
    inlineText(source) {
      const at = source.indexOf("$", /^\$*/.exec(source)?.[0].length);
      return Tokenizer.prototype.inlineText.call(this, at > 0 ? source.slice(0, at) : source);
    },
  },
  hooks: { emStrongMask: maskMath },
  extensions: [
    {
      // Chinese has no spaces: by the common rule `**注意：**请` would not be bold, because a mark follows a mark.
      name: "strong",
      level: "inline",
      tokenizer(source) {
        const [raw, text] = /^\*\*(?![\s*])([^*\n]{1,500})(?<!\s)\*\*(?!\*)/.exec(source) ?? [];
        if (raw === undefined || text === undefined || !WIDE_EDGE.test(text)) return undefined;
        return { type: "strong", raw, text, tokens: this.lexer.inlineTokens(text) };
      },
    },
    {
      name: "math",
      level: "block",
      start: (source) => findMathStart(source),
      tokenizer(source) {
        const found = findMathBlock(source);
        return found === undefined ? undefined : { type: "math", ...found };
      },
    },
    {
      name: "math",
      level: "inline",
      tokenizer(source, tokens) {
        const found = findMath(source, tokens.at(-1)?.raw);
        return found === undefined ? undefined : { type: "math", ...found };
      },
    },
  ],
});

/** `source` has no carriage returns. `links` are those known so far, by their normalised label. */
export function lexMarkdown(source: string, links: Links): Token[] {
  try {
    return lex(source, links);
  } catch {
    // A text the lexer cannot follow is shown as it is.
    return [createPlainToken("paragraph", source)];
  }
}

function lex(source: string, links: Links): Token[] {
  const lexer = new BoundedLexer(engine.defaults);
  Object.assign(lexer.tokens.links, links);
  lexer.blockTokens(source, lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    lexer.state.inRawBlock = false;
    for (const run of cutRuns(src)) lexer.inlineTokens(run, tokens);
  }
  return lexer.tokens;
}

// The lexer calls itself for what is nested: only in its place can its depth be bounded.
class BoundedLexer extends Lexer {
  #depth = 0;

  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): TokensList {
    if (this.#depth >= DEEPEST) tokens.push(createPlainToken("text", source));
    else {
      this.#depth++;
      super.blockTokens(source, tokens, isClipped);
      this.#depth--;
    }
    return tokens as TokensList;
  }
}

function createPlainToken(type: "text" | "paragraph", source: string): Token {
  return { type, raw: source, text: source, tokens: [{ type: "text", raw: source, text: source }] };
}

function cutRuns(source: string): string[] {
  if (source.length <= LONGEST_RUN) return [source];
  const runs: string[] = [];
  for (let start = 0; start < source.length;) {
    const end = start + LONGEST_RUN;
    const cut = end < source.length ? findCut(source, start, end) : source.length;
    runs.push(source.slice(start, cut));
    start = cut;
  }
  return runs;
}

/** At the end of a line, of a sentence or of a word, whichever there is in the second half. */
function findCut(source: string, start: number, end: number): number {
  for (const mark of ["\n", ". ", "。", " "]) {
    const at = source.lastIndexOf(mark, end - mark.length);
    if (at > start + LONGEST_RUN / 2) return at + mark.length;
  }
  return end;
}

/** The definitions among tokens, also those within lists and quotes. The first of a label counts. */
export function collectLinks(tokens: readonly Token[], into: Links): void {
  for (const token of tokens) {
    if (token.type === "def") {
      const { tag, href, title } = token as Tokens.Def;
      if (!Object.hasOwn(into, tag)) into[tag] = { href, title };
    } else if (token.type === "list") {
      for (const item of (token as Tokens.List).items) collectLinks(item.tokens, into);
    } else if (token.type === "blockquote") collectLinks((token as Tokens.Blockquote).tokens, into);
  }
}
