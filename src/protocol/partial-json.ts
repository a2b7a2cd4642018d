/**
 * Incremental JSON parser for text that arrives in pieces, such as tool call arguments while the model writes them. The
 * value parsed so far can be read at any time. It does not limit the length of the text.
 *
 * Invariants:
 * - `push` never throws. Its total cost is linear in the length of the text, no matter how it is cut.
 * - `state` is "complete" exactly when JSON.parse accepts the text, and `value` then equals its result. Two additional
 *   limits apply: nesting depth and the length of a number.
 * - `state` is "invalid" from the first character that no JSON text can have at that position.
 * - Only certain values are shown: a string as far as received, a key once its value has begun, a number or literal
 *   once it is complete. Open containers with more than a few hundred values are updated in steps; see PartialValue.
 */
import { type Json, MAX_JSON_DEPTH } from "./json.ts";
import { PartialValue } from "./partial-value.ts";

export type PartialJsonState = "empty" | "partial" | "complete" | "invalid";

/** Maximum length of a number, because an unfinished number is checked again with each piece. */
const MAX_NUMBER = 4096;

// What the parser expects next.
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
/** A comma or the end of the container. */
const COMMA = 5;
/** Only whitespace. */
const END = 6;
const STRING = 7;
const ESCAPE = 8;
const NUMBER = 9;
const LITERAL = 10;
/** The text is invalid. */
const NOTHING = 11;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const LITERALS = ["true", "false", "null"];
const ESCAPE_BEGUN = /^(?:["\\/bfnrt]|u[\da-fA-F]{0,4})$/;

const NUMBER_CHARACTERS = /[\d.eE+-]*/y;
const NUMBER_BEGUN = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][+-]?\d*)?)?$/;
const NUMBER_WHOLE = /\d$/;

/** An incremental parser for one JSON text. */
export class PartialJson {
  readonly #known = new PartialValue();
  #expect = VALUE;
  /** Length of all earlier pieces. */
  #offset = 0;
  /** The unfinished string, number or literal. */
  #token = "";
  /** The unfinished string is a key. */
  #isKey = false;
  /** The unfinished escape sequence. */
  #escape = "";
  /** First half of a surrogate pair. */
  #half = "";
  #literal = "";

  get state(): PartialJsonState {
    if (this.#expect === NOTHING) return "invalid";
    if (this.#expect === END || this.#isLoneNumber()) return "complete";
    return this.#expect === VALUE && this.#known.depth === 0 ? "empty" : "partial";
  }

  /** The value parsed so far; for invalid text, the value before the error. Undefined if there is none yet. */
  get value(): Json | undefined {
    return this.#isLoneNumber() ? Number(this.#token) : this.#known.read();
  }

  /** Parses the next piece of the text. */
  push(delta: string): void {
    for (let at = 0; at < delta.length;) {
      const expect = this.#expect;
      if (expect === STRING) at = this.#readString(delta, at);
      else if (expect === ESCAPE) at = this.#readEscape(delta, at);
      else if (expect === NUMBER) at = this.#readNumber(delta, at);
      else if (expect === LITERAL) at = this.#readLiteral(delta, at);
      else if (expect === NOTHING) return;
      else at = this.#readStructure(delta, at);
    }
    this.#offset += delta.length;
  }

  /** Skips whitespace and reads the structural character after it. */
  #readStructure(delta: string, from: number): number {
    let at = from;
    let code = delta.charCodeAt(at);
    while (code === SPACE || code === 0x0a || code === 0x0d || code === 0x09) code = delta.charCodeAt(++at);
    if (at >= delta.length) return at;
    const expect = this.#expect;
    const known = this.#known;
    const character = delta.charAt(at);
    const isKey = expect === KEY || expect === FIRST_KEY;
    this.#token = "";

    if (expect === VALUE || expect === FIRST_ITEM || (isKey && code === QUOTE)) {
      if (code === QUOTE) {
        this.#isKey = isKey;
        this.#expect = STRING;
        if (!isKey) known.setText("");
        return at + 1;
      }
      if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
        if (known.depth === MAX_JSON_DEPTH) return this.#fail(delta);
        known.openContainer(code === OPEN_ARRAY, this.#offset + at);
        this.#expect = code === OPEN_ARRAY ? FIRST_ITEM : FIRST_KEY;
        return at + 1;
      }
      this.#literal = LITERALS.find((literal) => literal.startsWith(character)) ?? "";
      if (this.#literal !== "") {
        this.#expect = LITERAL;
        return at;
      }
      if (NUMBER_BEGUN.test(character)) {
        this.#expect = NUMBER;
        return at;
      }
    }
    if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      const isArray = code === CLOSE_ARRAY;
      if (expect === (isArray ? FIRST_ITEM : FIRST_KEY) || (expect === COMMA && known.isInArray === isArray)) {
        known.closeContainer(this.#offset + at);
        return this.#endValue(at + 1);
      }
    }
    if (character === "," && expect === COMMA) this.#expect = known.isInArray ? VALUE : KEY;
    else if (character === ":" && expect === COLON) this.#expect = VALUE;
    else return this.#fail(delta);
    return at + 1;
  }

  #readString(delta: string, from: number): number {
    let end = delta.length;
    if (!this.#isKey) {
      // A value shown in steps is updated at the same offsets, no matter how the text was cut.
      this.#known.renewInStep(this.#offset + from);
      end = Math.min(end, Math.ceil(this.#known.renewAt - this.#offset));
    }
    let at = from;
    let code = 0;
    for (; at < end; at++) {
      code = delta.charCodeAt(at);
      if (code === QUOTE || code === BACKSLASH || code < SPACE) break;
    }
    if (at > from) this.#append(delta.slice(from, at));
    if (at === end) return at;
    if (code === QUOTE) return this.#endString(at);
    if (code !== BACKSLASH) return this.#fail(delta);
    this.#escape = "";
    this.#expect = ESCAPE;
    return at + 1;
  }

  #readEscape(delta: string, at: number): number {
    this.#escape += delta.charAt(at);
    if (!ESCAPE_BEGUN.test(this.#escape)) return this.#fail(delta);
    if (this.#escape.length === (this.#escape.startsWith("u") ? 5 : 1)) {
      this.#append(JSON.parse(`"\\${this.#escape}"`) as string);
      this.#expect = STRING;
    }
    return at + 1;
  }

  #append(piece: string): void {
    let text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#half = "";
    if (last >= 0xd800 && last < 0xdc00) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    // Engines join concatenated strings lazily, so this does not copy the earlier text.
    this.#token += text;
    if (!this.#isKey) this.#known.setText(this.#token);
  }

  #endString(at: number): number {
    const text = this.#token + this.#half;
    this.#half = "";
    if (!this.#isKey) return this.#settle(text, at, at + 1);
    this.#known.addKey(text);
    this.#expect = COLON;
    return at + 1;
  }

  #readNumber(delta: string, from: number): number {
    NUMBER_CHARACTERS.lastIndex = from;
    const [piece = ""] = NUMBER_CHARACTERS.exec(delta) ?? [];
    const at = from + piece.length;
    const token = (this.#token += piece);
    if (token.length > MAX_NUMBER || !NUMBER_BEGUN.test(token)) return this.#fail(delta);
    if (at === delta.length) return at;
    return NUMBER_WHOLE.test(token) ? this.#settle(Number(token), at, at) : this.#fail(delta);
  }

  #readLiteral(delta: string, at: number): number {
    this.#token += delta.charAt(at);
    if (!this.#literal.startsWith(this.#token)) return this.#fail(delta);
    return this.#token === this.#literal ? this.#settle(JSON.parse(this.#token) as Json, at, at + 1) : at + 1;
  }

  #settle(value: Json, at: number, next: number): number {
    this.#known.settle(value, this.#offset + at);
    return this.#endValue(next);
  }

  #endValue(next: number): number {
    this.#expect = this.#known.depth === 0 ? END : COMMA;
    return next;
  }

  /** True for a complete number outside any container. */
  #isLoneNumber(): boolean {
    return this.#expect === NUMBER && this.#known.depth === 0 && NUMBER_WHOLE.test(this.#token);
  }

  /** Stops parsing for good. */
  #fail(delta: string): number {
    this.#expect = NOTHING;
    this.#known.end();
    return delta.length;
  }
}
