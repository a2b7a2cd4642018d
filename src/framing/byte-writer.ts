/**
 * Writes text and numbers as UTF-8 into a reusable buffer. For short frames this is faster than building a string and
 * encoding it.
 */
const INITIAL_BYTES = 16 * 1024;
/** Strings up to this length are encoded here; longer ones by the platform encoder. */
const SHORT_TEXT = 96;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MAX_PENDING = 32 * 1024;
/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();

/** A reusable UTF-8 buffer. */
export class ByteWriter {
  #buffer = new Uint8Array(INITIAL_BYTES);
  #length = 0;
  /** Text to write after the buffer's content. */
  #pending = "";

  /** Writes bytes that are already encoded. */
  bytes(bytes: Uint8Array): void {
    if (this.#pending !== "") this.#flush();
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * Writes text. It is encoded together with the texts that follow, because each call of the encoder has a fixed cost.
   */
  text(text: string): void {
    this.#pending += text;
    if (this.#pending.length > MAX_PENDING) this.#flush();
  }

  /**
   * Writes a long text and encodes it immediately. `first` replaces its first character, which must be ASCII; slicing
   * it off would copy the text.
   */
  longText(text: string, first: number): void {
    if (this.#pending !== "") this.#flush();
    const at = this.#length;
    this.#pending = text;
    this.#flush();
    this.#buffer[at] = first;
  }

  /** Writes an integer from 0 to 2^53-1. */
  integer(value: number): void {
    if (this.#pending !== "") this.#flush();
    this.#reserve(16);
    if (value < 1_000_000_000) {
      this.#digits(value, countDigits(value));
      return;
    }
    const high = Math.floor(value / 1_000_000_000);
    this.#digits(high, countDigits(high));
    this.#digits(value - high * 1_000_000_000, 9);
  }

  /** Writes a JSON string. Short strings without special characters are encoded here. */
  jsonString(text: string): void {
    if (this.#pending !== "") this.#flush();
    if (text.length > SHORT_TEXT || !this.#shortString(text)) this.text(JSON.stringify(text));
  }

  /** Returns a copy of what was written and empties the writer. */
  take(): Uint8Array {
    if (this.#length === 0) {
      const only = encoder.encode(this.#pending);
      this.#pending = "";
      return only;
    }
    if (this.#pending !== "") this.#flush();
    const taken = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = "";
    this.#reserve(text.length * BYTES_PER_UNIT);
    this.#length += encoder.encodeInto(text, this.#buffer.subarray(this.#length)).written;
  }

  /** Writes a short JSON string. Returns false and writes nothing if a character needs an escape or four bytes. */
  #shortString(text: string): boolean {
    this.#reserve(text.length * BYTES_PER_UNIT + 2);
    const buffer = this.#buffer;
    let at = this.#length;
    buffer[at++] = QUOTE;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        if (unit < 0x20 || unit === QUOTE || unit === BACKSLASH) return false;
        buffer[at++] = unit;
      } else if (unit < 0x800) {
        buffer[at++] = 0xc0 | (unit >> 6);
        buffer[at++] = 0x80 | (unit & 0x3f);
      } else {
        if (unit >= 0xd800 && unit <= 0xdfff) return false;
        buffer[at++] = 0xe0 | (unit >> 12);
        buffer[at++] = 0x80 | ((unit >> 6) & 0x3f);
        buffer[at++] = 0x80 | (unit & 0x3f);
      }
    }
    buffer[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  #digits(value: number, count: number): void {
    const buffer = this.#buffer;
    let rest = value;
    for (let at = this.#length + count - 1; at >= this.#length; at--) {
      const tens = (rest / 10) | 0;
      buffer[at] = 0x30 + rest - tens * 10;
      rest = tens;
    }
    this.#length += count;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#buffer.length));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}

/** Returns the number of digits of a number below 10^9. */
function countDigits(value: number): number {
  if (value < 1000) return value < 10 ? 1 : value < 100 ? 2 : 3;
  if (value < 1_000_000) return value < 10_000 ? 4 : value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9;
}
