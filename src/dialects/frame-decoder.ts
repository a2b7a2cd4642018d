/**
 * Shared code of the decoders: parses a frame and checks it against its form. The meaning of the frame is up to each
 * decoder.
 */
import { findFault } from "../protocol/check-form.ts";
import type { Hint } from "../protocol/fault.ts";
import type { Form } from "../protocol/form.ts";
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { EventRecord } from "../protocol/record.ts";
import { createIssueFactory, FRAME_RULES, type Issue, type RuleTable } from "../protocol/rules.ts";
import type { Decoded, Decoder, Decoding } from "./dialect.ts";

type FrameRule = keyof typeof FRAME_RULES;

const createIssue = /* @__PURE__ */ createIssueFactory(FRAME_RULES);

/** Creates a function that adds an issue for a rule of one table. An unknown rule name is a compile error. */
export function createReporter<R extends RuleTable>(rules: R) {
  const createIssue = createIssueFactory(rules);
  return (issues: Issue[], rule: keyof R & string, message: string): void =>
    void issues.push(createIssue(rule, message));
}

/** Creates an issue that refers to the section declaring the field, if there is one. */
function createIssueIn(section: string | undefined, rule: FrameRule, message: string): Issue {
  const issue = createIssue(rule, message);
  return { ...issue, section: section ?? issue.section };
}

/** Returns a result with one issue and no record. */
export function rejectFrame(rule: FrameRule, message: string, section?: string): Decoded {
  return { records: [], issues: [createIssueIn(section, rule, message)] };
}

/** Creates a decoder that parses a frame if needed and calls `read` with the JSON object. */
export function createFrameDecoder(read: (frame: JsonObject) => Decoded): Decoder {
  return {
    decode(text, parsed) {
      let frame: unknown = parsed;
      try {
        frame ??= JSON.parse(text);
      } catch (error) {
        return rejectFrame("frame-json", describeSyntax(text, error as Error));
      }
      if (isJsonObject(frame)) return read(frame);
      const seen = Array.isArray(frame) ? "an array" : String(frame).slice(0, 40);
      return rejectFrame("frame-object", `a frame must be a JSON object, not ${seen}`);
    },
  };
}

/**
 * Like `createFrameDecoder`, for dialects that distinguish frames by `type`. `noun` is the dialect's word for a frame.
 */
export function createTypedDecoder(
  noun: string,
  read: (frame: JsonObject, type: string, issues: Issue[]) => readonly EventRecord[],
): Decoder {
  return createFrameDecoder((frame) => {
    const { type } = frame;
    if (typeof type !== "string") return rejectFrame("frame-kind", `the ${noun} has no \`type\``);
    const issues: Issue[] = [];
    return { records: read(frame, type, issues), issues };
  });
}

/** Explains a syntax error. The two usual causes are indented JSON and text that is not JSON. */
function describeSyntax(text: string, { message }: Error): string {
  if (/^([{}[\]]$|"[^"]*"\s*:)/.test(text.trim()))
    return "part of an indented JSON text; write each frame as one JSON object on one line";
  const reason = message
    .replace(/ \(line 1 column \d+\)$/, "")
    .replace(/,? ?"?\.{0,3}.{0,60}"? is not valid JSON$/s, "");
  return `not valid JSON: ${reason || "unexpected text"}`;
}

/** Checks a frame against its form and adds what it finds to `issues`. Returns false if the frame must be rejected. */
export function checkFrame({ fields, section }: Form, frame: JsonObject, issues: Issue[]): boolean {
  const hints: Hint[] = [];
  const fault = findFault(fields, frame, hints);
  issues.push(...createHintIssues(hints, section));
  if (fault !== undefined) issues.push(createIssueIn(section, fault.rule, fault.message));
  return fault === undefined;
}

export function createHintIssues(hints: readonly Hint[], section: string): Issue[] {
  return hints.map(({ message }) => createIssueIn(section, "field-unlisted", message));
}

/** Rates how certainly a frame belongs to the form's dialect: by its tag, and also by its fields if `likely`. */
export function confidenceByForm(
  form: Form | undefined,
  frame: { readonly [key: string]: unknown },
  likely: boolean,
): ReturnType<Decoding["confidence"]> {
  if (form === undefined) return 0;
  return likely && findFault(form.fields, frame) === undefined ? 2 : 1;
}
