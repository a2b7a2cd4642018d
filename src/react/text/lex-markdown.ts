/**
 * Tokenizes GitHub-flavoured Markdown and math with the lexer of `marked`. Its HTML renderer is not used.
 *
 * Invariant: it never throws, and later text does not change what an empty line has ended, except that link references
 * may find later definitions.
 */
import { Lexer, Marked, type Token, Tokenizer, type Tokens, type TokensList } from "marked";
import { findMath, findMathBlock, findMathStart, maskMath } from "./find-math.ts";

export type LinkDefinitions = Record<string, { readonly href: string; readonly title: string | null | undefined }>;

export interface MathToken {
  readonly type: "math";
  readonly raw: string;
  readonly source: string;
  readonly isBlock: boolean;
}

/** `[^label]` in a text, or `[^label]: content` on a line. */
export interface FootnoteToken {
  readonly type: "footnote" | "footnote_link";
  readonly raw: string;
  readonly label: string;
  /** Content of a footnote. */
  readonly tokens: Token[];
}

/** Maximum link definitions; further ones are text. */
const MAX_LINKS = 500;
/** Longer paragraphs are split, because the lexer scans to their end for each opened mark. */
const MAX_RUN = 4000;
/** Maximum nesting: each nested list or quote is tokenized again with its content. */
const MAX_DEPTH = 20;

/** Chinese or Japanese punctuation at either end. */
const WIDE_EDGE = /^[\u2018-\u201f\u3000-\u303f\uff01-\uff60]|[\u2018-\u201f\u2026\u3000-\u303f\uff01-\uff60]$/;

const engine = new Marked({
  gfm: true,
  tokenizer: {
    /** An unclosed title must not span an empty line; otherwise later text would add or remove definitions. */
    def(source) {
      if (!/^ {0,3}\[/.test(source)) return undefined;
      const empty = source.search(/\n[ \t]*\n/);
      const found = Tokenizer.prototype.def.call(this, empty === -1 ? source : source.slice(0, empty));
      if (found === undefined) return undefined;
      const { links } = this.lexer.tokens;
      return Object.hasOwn(links, found.tag) || Object.keys(links).length < MAX_LINKS ? found : undefined;
    },
    /** Text ends where math may begin. The rest is hidden from the lexer, which would scan it again. */
    inlineText(source) {
      const at = source.indexOf("$", /^\$*/.exec(source)?.[0].length);
      return Tokenizer.prototype.inlineText.call(this, at > 0 ? source.slice(0, at) : source);
    },
  },
  hooks: { emStrongMask: maskMath },
  extensions: [
    {
      // Chinese has no spaces: by the standard rule, `**注意：**请` would not be bold, because punctuation precedes the
      // closing mark.
      name: "strong",
      level: "inline",
      tokenizer(source) {
        const [raw, text] = /^\*\*(?![\s*])([^*\n]{1,500})(?<!\s)\*\*(?!\*)/.exec(source) ?? [];
        if (raw === undefined || text === undefined || !WIDE_EDGE.test(text)) return undefined;
        return { type: "strong", raw, text, tokens: this.lexer.inlineTokens(text) };
      },
    },
    {
      // One line: what follows cannot change it.
      name: "footnote",
      level: "block",
      tokenizer(source) {
        const [raw, label, text] = /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]+([^\n]+)(?:\n|$)/.exec(source) ?? [];
        if (raw === undefined || label === undefined || text === undefined) return undefined;
        const { links } = this.lexer.tokens;
        if (Object.keys(links).length < MAX_LINKS) links[nameFootnote(label)] ??= { href: "", title: null };
        return { type: "footnote", raw, label, text: text.trim(), tokens: [] };
      },
    },
    {
      name: "footnote_link",
      level: "inline",
      tokenizer(source) {
        const [raw, label] = /^\[\^([^\]\s]{1,40})\](?![([:])/.exec(source) ?? [];
        if (raw === undefined || label === undefined) return undefined;
        if (!Object.hasOwn(this.lexer.tokens.links, nameFootnote(label))) return undefined;
        return { type: "footnote_link", raw, label, tokens: [] };
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

/** `source` must not contain carriage returns. `links` are the known definitions by normalized label. */
export function lexMarkdown(source: string, links: LinkDefinitions): Token[] {
  try {
    return lex(source, links);
  } catch {
    // Text that the lexer cannot handle is shown unchanged.
    return [createPlainToken("paragraph", source)];
  }
}

function lex(source: string, links: LinkDefinitions): Token[] {
  const lexer = new BoundedLexer(engine.defaults);
  Object.assign(lexer.tokens.links, links);
  lexer.blockTokens(source, lexer.tokens);
  for (const { text, tokens } of listTexts(lexer.tokens)) {
    lexer.state.inRawBlock = false;
    for (const run of cutRuns(text)) lexer.inlineTokens(run, tokens);
  }
  return lexer.tokens;
}

interface BlockText {
  readonly text: string;
  readonly tokens: Token[];
}

/**
 * Lists the texts within blocks that are to be tokenized. The lexer has its own list, but it removes the mark of a task
 * from the last text that begins with one, even if that is not the text of the task.
 */
function* listTexts(blocks: readonly Token[]): Generator<BlockText> {
  for (const block of openContainers(blocks)) {
    if (block.type === "table") yield* [(block as Tokens.Table).header, ...(block as Tokens.Table).rows].flat();
    else if (["paragraph", "text", "heading", "footnote"].includes(block.type)) {
      const { text, tokens } = block as unknown as BlockText;
      const [first] = tokens;
      if (first === undefined) yield { text, tokens };
      else if (first.type === "checkbox") yield { text: text.slice(first.raw.length), tokens };
    }
  }
}

/** Yields the blocks in lists and quotes instead of the lists and quotes. */
function* openContainers(blocks: readonly Token[]): Generator<Token> {
  for (const block of blocks) {
    if (block.type === "list") yield* openContainers((block as Tokens.List).items);
    else if (block.type === "list_item" || block.type === "blockquote")
      yield* openContainers((block as Tokens.ListItem | Tokens.Blockquote).tokens);
    else yield block;
  }
}

// The lexer recurses into nested blocks; overriding it is the only way to limit the depth.
class BoundedLexer extends Lexer {
  #depth = 0;

  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): TokensList {
    if (this.#depth >= MAX_DEPTH) tokens.push(createPlainToken("text", source));
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
  if (source.length <= MAX_RUN) return [source];
  const runs: string[] = [];
  for (let start = 0; start < source.length;) {
    const end = start + MAX_RUN;
    const cut = end < source.length ? findCut(source, start, end) : source.length;
    runs.push(source.slice(start, cut));
    start = cut;
  }
  return runs;
}

/** Prefers the end of a line, sentence or word in the second half. */
function findCut(source: string, start: number, end: number): number {
  for (const mark of ["\n", ". ", "。", " "]) {
    const at = source.lastIndexOf(mark, end - mark.length);
    if (at > start + MAX_RUN / 2) return at + mark.length;
  }
  return end;
}

/** Footnotes are kept with the link definitions: a reference without one is text. */
function nameFootnote(label: string): string {
  return `^${label}`;
}

/** Collects link definitions, also from lists and quotes. The first one of a label counts. */
export function collectLinks(blocks: readonly Token[], into: LinkDefinitions): void {
  for (const block of openContainers(blocks)) {
    if (block.type === "def") {
      const { tag, href, title } = block as Tokens.Def;
      if (!Object.hasOwn(into, tag)) into[tag] = { href, title };
    } else if (block.type === "footnote") {
      const name = nameFootnote((block as unknown as FootnoteToken).label);
      if (Object.keys(into).length < MAX_LINKS) into[name] ??= { href: "", title: null };
    }
  }
}
