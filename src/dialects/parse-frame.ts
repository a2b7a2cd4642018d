/**
 * From the text of a frame to a JSON object, or to the issue that says why not.
 */
import {
  createRaise,
  type Fault,
  FRAME_RULES,
  type Hint,
  type Issue,
  isJsonObject,
  type JsonObject,
} from "../protocol/index.ts";

const raise = createRaise(FRAME_RULES);

export type ParsedFrame =
  | { readonly ok: true; readonly frame: JsonObject }
  | { readonly ok: false; readonly issue: Issue };

export function parseFrame(text: string): ParsedFrame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, issue: raise("frame-json", describeSyntax(text, error)) };
  }
  if (isJsonObject(value)) return { ok: true, frame: value };
  return {
    ok: false,
    issue: raise(
      "frame-object",
      `a frame must be a JSON object, not ${Array.isArray(value) ? "an array" : String(value).slice(0, 40)}`,
    ),
  };
}

/** Says what a person can do about it: the two usual causes are pretty printing and text that was never JSON. */
function describeSyntax(text: string, error: unknown): string {
  const start = text.trim();
  if (
    start === "{" ||
    start === "}" ||
    start === "[" ||
    start === "]" ||
    /^"[^"]*"\s*:/.test(start) ||
    /^\{\s*$/.test(start)
  ) {
    return "this is a piece of a JSON text; a frame must be one complete JSON object on one line, so do not pretty-print";
  }
  const reason =
    error instanceof Error
      ? error.message.replace(/ \(line 1 column \d+\)$/, "").replace(/,? ?"?\.{0,3}.{0,60}"? is not valid JSON$/s, "")
      : "unreadable";
  return `not valid JSON: ${reason === "" ? "unexpected text" : reason}`;
}

export function issueOfFault(fault: Fault, section: string): Issue {
  return { ...raise(fault.rule, fault.message), section };
}

export function issueOfHint(hint: Hint, section: string): Issue {
  return { ...raise("field-unlisted", hint.message), section };
}

export function issueOfKind(message: string): Issue {
  return raise("frame-kind", message);
}
