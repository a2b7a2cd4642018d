/**
 * Extracts readable text from HTML: paragraphs, headings, lists, tables and link targets. Not a full parser: malformed
 * HTML gives less tidy text, never an error.
 *
 * Invariant: the cost is linear in the length of the page.
 */
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { decodeHTML, decodeHTMLAttribute } from "entities/decode";

/** Elements whose content is not text to read. */
const SKIPPED: ReadonlySet<string> = new Set(
  "script style noscript template svg math iframe object canvas select textarea audio video".split(" "),
);
/** Elements whose content is never markup. If not closed, they extend to the end of the page. */
const RAW: ReadonlySet<string> = new Set(["script", "style", "textarea"]);
const BLOCKS: ReadonlySet<string> = new Set([
  ..."address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr html".split(
    " ",
  ),
  ..."li main nav ol p pre section summary table tbody tfoot thead tr ul h1 h2 h3 h4 h5 h6 title br".split(" "),
]);
/** Blocks separated by an empty line. */
const WIDE: ReadonlySet<string> = new Set("p h1 h2 h3 h4 h5 h6 ul ol table pre blockquote title".split(" "));

const HREF = /(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i;
const MAX_HREF = 500;

/** Number of tags, and of characters between two tags, after which the async reader yields to the event loop. */
const YIELD_TAGS = 2000;
const YIELD_CHARACTERS = 50_000;
/** Maximum characters of a tag outside of quotes. */
const MAX_TAG = 1_000_000;
/** Length of the longest named entity. */
const MAX_ENTITY = "&CounterClockwiseContourIntegral;".length;

/** Returns the readable text of an HTML page. */
export function readHtml(html: string): string {
  const steps = readInSteps(html);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Reads a page like `readHtml`, but yields to the event loop. Throws the reason of the signal if it is aborted. */
export async function readHtmlAsync(html: string, signal: AbortSignal | undefined): Promise<string> {
  const steps = readInSteps(html);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await yieldToLoop();
    signal?.throwIfAborted();
  }
}

function* readInSteps(html: string): Generator<undefined, string> {
  const lines = new HtmlLines();
  /** Skipped elements that have no closing tag in the rest of the page. */
  const unclosed = new Set<string>();
  let href: string | undefined;
  let preformatted = 0;
  let tags = 0;
  const write = (text: string): void => (preformatted > 0 ? lines.writeAsIs(text) : lines.write(text));
  for (let at = 0; at < html.length;) {
    tags += 1;
    if (tags % YIELD_TAGS === 0) yield;
    const open = html.indexOf("<", at);
    const until = open < 0 ? html.length : open;
    while (at < until) {
      const end = findSliceEnd(html, at, until);
      write(decodeEntities(html.slice(at, end)));
      if (end < until) yield;
      at = end;
    }
    if (open < 0) break;
    const { kind, name, attributes, end } = readTag(html, open);
    if (end - at > YIELD_CHARACTERS) yield;
    at = end;
    if (kind === "text") write("<");
    if (kind === "text" || kind === "other") continue;
    const isOpening = kind === "open";
    if (isOpening && SKIPPED.has(name)) {
      if (attributes.endsWith("/") || unclosed.has(name)) continue;
      const closing = findClosing(html, name, at);
      if (closing !== undefined) at = closing;
      else if (RAW.has(name)) break;
      else unclosed.add(name);
      continue;
    }
    if (name === "pre") preformatted = Math.max(0, preformatted + (isOpening ? 1 : -1));
    if (name === "a") {
      if (!isOpening && href !== undefined) lines.write(` (${href})`);
      href = isOpening ? findHref(attributes) : undefined;
    }
    if (!isOpening && (name === "td" || name === "th")) lines.write(" | ");
    if (BLOCKS.has(name)) lines.breakLine(WIDE.has(name));
    if (isOpening && name === "li") lines.write("- ");
    if (isOpening && /^h[1-6]$/.test(name)) lines.write(`${"#".repeat(Number(name[1]))} `);
  }
  return lines.finish();
}

/** Avoids splitting an entity. */
function findSliceEnd(html: string, from: number, until: number): number {
  const end = from + YIELD_CHARACTERS;
  if (end >= until) return until;
  const entity = html.lastIndexOf("&", end);
  return entity > end - MAX_ENTITY ? entity : end;
}

/** Collects lines of text. The parts of a line are joined once, because a page can be one line of many parts. */
class HtmlLines {
  readonly #lines: string[] = [];
  #parts: string[] = [];
  /** True at the start of a line too: white space is dropped there. */
  #endsWithSpace = true;
  #wantsGap = false;

  /** Collapses white space. */
  write(text: string): void {
    const folded = text.replaceAll(/\s+/g, " ");
    const part = this.#endsWithSpace && folded.startsWith(" ") ? folded.slice(1) : folded;
    if (part === "") return;
    this.#parts.push(part);
    this.#endsWithSpace = part.endsWith(" ");
  }

  writeAsIs(text: string): void {
    const [first = "", ...rest] = text.split("\n");
    this.#parts.push(first);
    for (const line of rest) {
      this.#endLine();
      this.#parts.push(line);
    }
    this.#endsWithSpace = false;
  }

  breakLine(isWide: boolean): void {
    this.#endLine();
    this.#wantsGap ||= isWide;
  }

  finish(): string {
    this.#endLine();
    return this.#lines.join("\n").trim();
  }

  #endLine(): void {
    const line = this.#parts.join("").trimEnd();
    this.#parts = [];
    this.#endsWithSpace = true;
    if (line === "") return;
    if (this.#wantsGap && this.#lines.length > 0) this.#lines.push("");
    this.#wantsGap = false;
    this.#lines.push(line);
  }
}

interface HtmlTag {
  /** `text`: a `<` that does not start a tag. `other`: a comment or declaration. */
  readonly kind: "open" | "close" | "other" | "text";
  /** In lower case. */
  readonly name: string;
  readonly attributes: string;
  readonly end: number;
}

/** Reads the tag, comment or declaration at `start`. */
function readTag(html: string, start: number): HtmlTag {
  if (html.startsWith("<!--", start)) {
    // `<!-->` is a whole comment.
    const end = html.indexOf("-->", start + 2);
    return { ...NAMELESS, end: end < 0 ? html.length : end + 3 };
  }
  const isClosing = html[start + 1] === "/";
  const from = isClosing ? start + 2 : start + 1;
  const first = html[from] ?? "";
  if (first === "!" || first === "?") return { ...NAMELESS, end: findEnd(html, from) };
  if (!/[a-z]/i.test(first)) return { ...NAMELESS, kind: "text", end: start + 1 };
  const end = findEnd(html, from);
  const inner = html.slice(from, end);
  const name = /^[a-z][a-z\d-]{0,30}/i.exec(inner)?.[0] ?? first;
  const attributes = inner.slice(name.length, Math.max(name.length, inner.length - 1));
  return { kind: isClosing ? "close" : "open", name: name.toLowerCase(), attributes, end };
}

const NAMELESS = { kind: "other", name: "", attributes: "" } as const;

/**
 * Returns the index after the `>` that ends a tag. Ignores `>` inside quoted attributes. A tag that is not closed
 * ends after `MAX_TAG` characters outside of quotes, so that one call is short for any page.
 */
function findEnd(html: string, from: number): number {
  let isAfterEquals = false;
  let left = MAX_TAG;
  for (let at = from; at < html.length; at += 1) {
    if (left-- === 0) return at;
    const code = html.charCodeAt(at);
    if (code === GREATER) return at + 1;
    if (isAfterEquals && (code === DOUBLE_QUOTE || code === SINGLE_QUOTE)) {
      at = html.indexOf(html.charAt(at), at + 1);
      if (at < 0) return html.length;
      isAfterEquals = false;
    } else isAfterEquals = code === EQUALS || (isAfterEquals && (code === 0x20 || (code >= 0x09 && code <= 0x0d)));
  }
  return html.length;
}

const [GREATER, EQUALS, DOUBLE_QUOTE, SINGLE_QUOTE] = [0x3e, 0x3d, 0x22, 0x27];

/** Returns the index after the closing tag of a skipped element; undefined if there is none. */
function findClosing(html: string, name: string, from: number): number | undefined {
  for (let at = html.indexOf("</", from); at >= 0; at = html.indexOf("</", at + 2)) {
    const end = at + 2 + name.length;
    // `</scripts>` does not close `<script>`.
    if (html.slice(at + 2, end).toLowerCase() === name && !/[^\s/>]/.test(html[end] ?? ""))
      return findEnd(html, at + 2);
  }
  return undefined;
}

function findHref(attributes: string): string | undefined {
  const found = HREF.exec(attributes.slice(0, 4 * MAX_HREF));
  const href = decodeHTMLAttribute(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
  return /^(?:https?:|\/|[\w.])/i.test(href) && !/^javascript:/i.test(href) && href.length <= MAX_HREF
    ? href
    : undefined;
}

function decodeEntities(text: string): string {
  return text.includes("&") ? decodeHTML(text).replaceAll("\u00A0", " ") : text;
}
