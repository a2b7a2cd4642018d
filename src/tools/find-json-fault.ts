/**
 * Finds the position where a text stops being valid JSON, and what was expected there. Error messages of `JSON.parse`
 * do not always include a position, and a model needs it to repair its arguments.
 *
 * Invariant: it finds a fault if and only if `JSON.parse` rejects the text, except for texts nested deeper than the
 * limit.
 */
export interface JsonFault {
  /** In code units from 0. Equals the length of the text if it ends too early. */
  readonly position: number;
  readonly expected: string;
}

/** Limit for nested arrays and objects. Deeper nesting is reported as a fault. */
const MAX_DEPTH = 1000;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// oxlint-disable-next-line no-control-regex -- JSON strings must not contain them
const CHARACTERS = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export function findJsonFault(text: string): JsonFault | undefined {
  let at = 0;
  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return false;
    at = pattern.lastIndex;
    return true;
  };
  const take = (token: string): boolean => {
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  };
  const fault = (expected: string): JsonFault => ({ position: at, expected });

  const readString = (): JsonFault | undefined => {
    if (!take('"')) return fault('a string in "double quotes"');
    for (;;) {
      match(CHARACTERS);
      if (take('"')) return undefined;
      if (text[at] === "\\") {
        if (!match(ESCAPE)) return fault('an escape such as \\n, \\" or \\u0041');
      } else return fault(at < text.length ? "no raw line break or control character in a string" : 'a closing "');
    }
  };

  /** Reads a value that is not an array or object. */
  const readPlain = (): JsonFault | undefined => {
    if (text[at] === '"') return readString();
    if (match(NUMBER) || take("true") || take("false") || take("null")) return undefined;
    return fault("a value");
  };

  /** Closing brackets of the open arrays and objects, innermost last. */
  const open: ("]" | "}")[] = [];
  const readKey = (): JsonFault | undefined => {
    const wrong = readString();
    if (wrong !== undefined) return wrong;
    match(SPACE);
    return take(":") ? undefined : fault("a colon after the key");
  };
  /** Runs after `{` or `[`. Returns true if a first value follows, false if the container is empty. */
  const begin = (close: "]" | "}"): JsonFault | boolean => {
    if (open.length >= MAX_DEPTH) return fault("less nesting");
    match(SPACE);
    if (take(close)) return false;
    open.push(close);
    return (close === "}" ? readKey() : undefined) ?? true;
  };
  /** Runs after a value. Returns true if another follows, false if everything is closed. */
  const goOn = (): JsonFault | boolean => {
    for (;;) {
      match(SPACE);
      const close = open.at(-1);
      if (close === undefined) return at < text.length ? fault("nothing after the end of the value") : false;
      if (take(close)) {
        open.pop();
        continue;
      }
      if (!take(",")) return fault(`a comma or ${close}`);
      match(SPACE);
      return (close === "}" ? readKey() : undefined) ?? true;
    }
  };

  for (;;) {
    match(SPACE);
    const close = take("{") ? "}" : take("[") ? "]" : undefined;
    const entered = close === undefined ? (readPlain() ?? false) : begin(close);
    const next = entered === false ? goOn() : entered;
    if (next === false) return undefined;
    if (next !== true) return next;
  }
}
