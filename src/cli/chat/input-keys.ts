/**
 * Turns the keys of a terminal into actions. Node reads the sequences; this module collects pastes, understands the
 * extended sequences that some terminals send for keys such as Shift+Enter, and names the actions.
 */
import { emitKeypressEvents, type Key } from "node:readline";
import { PassThrough } from "node:stream";
import { StringDecoder } from "node:string_decoder";

export type KeyAction =
  | { readonly kind: "insert"; readonly text: string }
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: NamedAction };

export type NamedAction =
  | "enter"
  | "newline"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "up"
  | "down"
  | "wordLeft"
  | "wordRight"
  | "lineStart"
  | "lineEnd"
  | "killWordLeft"
  | "killWordRight"
  | "killLineStart"
  | "killLineEnd"
  | "yank"
  | "complete"
  | "escape"
  | "redraw"
  | "interrupt"
  | "suspend"
  | "close";

/** Turns on pastes in brackets, and sequences for keys with modifiers; `LEAVE_INPUT` turns both off. */
export const ENTER_INPUT = "\u001B[?2004h\u001B[>1u";
export const LEAVE_INPUT = "\u001B[<u\u001B[?2004l";

/** Maximum characters of a paste; the rest is dropped. */
const MAX_PASTE = 2_000_000;

const PLAIN: { readonly [name: string]: NamedAction } = {
  return: "enter",
  enter: "newline",
  backspace: "backspace",
  delete: "delete",
  left: "left",
  right: "right",
  up: "up",
  down: "down",
  home: "lineStart",
  end: "lineEnd",
  tab: "complete",
  escape: "escape",
};

const CONTROL: { readonly [name: string]: NamedAction } = {
  a: "lineStart",
  b: "left",
  c: "interrupt",
  d: "close",
  e: "lineEnd",
  f: "right",
  h: "killWordLeft",
  j: "newline",
  k: "killLineEnd",
  l: "redraw",
  n: "down",
  p: "up",
  u: "killLineStart",
  w: "killWordLeft",
  y: "yank",
  z: "suspend",
  left: "wordLeft",
  right: "wordRight",
  home: "lineStart",
  end: "lineEnd",
  backspace: "killWordLeft",
  delete: "killWordRight",
};

const META: { readonly [name: string]: NamedAction } = {
  return: "newline",
  enter: "newline",
  // Node reports the key alone so.
  escape: "escape",
  b: "wordLeft",
  f: "wordRight",
  d: "killWordRight",
  left: "wordLeft",
  right: "wordRight",
  backspace: "killWordLeft",
};

/** Names of the key codes in extended sequences. */
const CODES: { readonly [code: number]: string } = { 9: "tab", 13: "return", 27: "escape", 127: "backspace" };
const EXTENDED = /^\p{Cc}\[(?<code>\d+)(?:;(?<modifier>\d))?u$/u;
/** A sequence with modifiers; the first form is that of xterm. */
const MODIFIED = /\p{Cc}\[(?:27;(?<xterm>\d+);(?<key>\d+)~|(?<code>\d+);(?<modifier>\d+)(?<end>[A-Zu~]))/gu;
/** Shift, Alt and Ctrl; without the bits for Caps Lock and others. */
const KNOWN_MODIFIERS = 7;

/** Reads the keys of a terminal in raw mode until it is disposed. */
export class InputKeys implements Disposable {
  readonly #stdin: NodeJS.ReadStream;
  readonly #onAction: (action: KeyAction) => void;
  readonly #input = new PassThrough();
  readonly #decoder = new StringDecoder("utf8");
  readonly #onData = (chunk: Buffer): void => {
    const text = this.#decoder.write(chunk);
    this.#input.write(simplify(this.#isTypedAhead ? text.replaceAll("\n", "\r") : text));
  };
  /** The terminal got these bytes before raw mode, when it turned Enter into a line feed. */
  #isTypedAhead = true;
  #paste: string | undefined;

  constructor(stdin: NodeJS.ReadStream, onAction: (action: KeyAction) => void) {
    this.#stdin = stdin;
    this.#onAction = onAction;
    emitKeypressEvents(this.#input);
    this.#input.on("keypress", (text: string | undefined, key: Key) => this.#take(text, key));
    stdin.setRawMode(true);
    stdin.on("data", this.#onData).resume();
    // Such bytes can be read at once: they arrive in the next turn of the event loop, before the second callback.
    setImmediate(() => setImmediate(() => (this.#isTypedAhead = false)));
  }

  [Symbol.dispose](): void {
    this.#stdin.off("data", this.#onData).pause();
    this.#stdin.setRawMode(false);
  }

  #take(text: string | undefined, key: Key): void {
    const { sequence = text ?? "" } = key;
    if (key.name === "paste-start") this.#paste = "";
    else if (key.name === "paste-end") this.#endPaste();
    else if (this.#paste !== undefined) this.#addPasted(sequence);
    else {
      const action = readKey(text, key);
      if (action !== undefined) this.#onAction(action);
    }
  }

  #addPasted(sequence: string): void {
    // A paste may contain escape sequences, which are not text.
    if (this.#paste === undefined || sequence.startsWith("\u001B")) return;
    if (this.#paste.length < MAX_PASTE) this.#paste += sequence;
  }

  #endPaste(): void {
    const text = this.#paste;
    this.#paste = undefined;
    if (text !== undefined && text !== "") this.#onAction({ kind: "paste", text });
  }
}

/** Writes sequences so that Node can read them: it expects modifiers of one digit. */
function simplify(text: string): string {
  return text.replaceAll(MODIFIED, (...found) => {
    const { xterm, key, code = key, modifier = xterm, end = "u" } = found.at(-1) as { readonly [name: string]: string };
    return `\u001B[${code};${((Number(modifier) - 1) & KNOWN_MODIFIERS) + 1}${end}`;
  });
}

/** Returns undefined for keys without a meaning here. */
function readKey(text: string | undefined, key: Key): KeyAction | undefined {
  const { name = "", ctrl, meta, shift, sequence } = expand(key);
  if (name === "return" && shift) return { kind: "newline" };
  const kind = ctrl ? CONTROL[name] : meta ? META[name] : PLAIN[name];
  if (kind !== undefined) return { kind };
  if (ctrl || meta || text === undefined || sequence.startsWith("\u001B") || /^\p{Cc}/u.test(text)) return undefined;
  return { kind: "insert", text };
}

interface ExpandedKey {
  readonly name: string | undefined;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly shift: boolean;
  readonly sequence: string;
}

/** Reads an extended sequence such as `ESC [ 13 ; 2 u`. */
function expand({ name, ctrl = false, meta = false, shift = false, sequence = "" }: Key): ExpandedKey {
  const groups = EXTENDED.exec(sequence)?.groups;
  if (groups === undefined) return { name, ctrl, meta, shift, sequence };
  const code = Number(groups["code"]);
  const bits = Number(groups["modifier"] ?? 1) - 1;
  const isCharacter = code >= 32 && code < 127;
  return {
    name: CODES[code] ?? (isCharacter ? String.fromCharCode(code).toLowerCase() : undefined),
    shift: (bits & 1) !== 0,
    meta: (bits & 2) !== 0,
    ctrl: (bits & 4) !== 0,
    sequence,
  };
}
