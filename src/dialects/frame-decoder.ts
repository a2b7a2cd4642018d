/**
 * What the decoders share: from the text of a frame to a JSON object that fits its form, or to the issues that say why
 * not. What a frame means is theirs to know.
 */
import { findFault } from "../protocol/check-form.ts";
import type { Hint } from "../protocol/fault.ts";
import type { Form } from "../protocol/form.ts";
import { FRAME_GRADES } from "../protocol/frame-rules.generated.ts";
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { EventRecord } from "../protocol/record.ts";
import { createRaise, type Issue } from "../protocol/rules.ts";
import type { Decoded, Decoder, Decoding } from "./dialect.ts";

type FrameRule = keyof typeof FRAME_GRADES;

const raise = /* @__PURE__ */ createRaise(FRAME_GRADES);

/** An issue of the section that declares the field, where it is about one. */
function raiseIn(section: string | undefined, rule: FrameRule, message: string): Issue {
  const issue = raise(rule, message);
  return { ...issue, section: section ?? issue.section };
}

export function refuse(rule: FrameRule, message: string, section?: string): Decoded {
  return { records: [], issues: [raiseIn(section, rule, message)] };
}

/** Parses what was not parsed already; `read` is asked for frames that are JSON objects. */
export function createFrameDecoder(read: (frame: JsonObject) => Decoded): Decoder {
  return {
    decode(text, parsed) {
      let frame: unknown = parsed;
      try {
        frame ??= JSON.parse(text);
      } catch (error) {
        return refuse("frame-json", describeSyntax(text, error as Error));
      }
      if (isJsonObject(frame)) return read(frame);
      const seen = Array.isArray(frame) ? "an array" : String(frame).slice(0, 40);
      return refuse("frame-object", `a frame must be a JSON object, not ${seen}`);
    },
  };
}

/** The same for a wire that tells its frames apart by `type`; `noun` is what it calls a frame. */
export function createTypedDecoder(
  noun: string,
  read: (frame: JsonObject, type: string, issues: Issue[]) => readonly EventRecord[],
): Decoder {
  return createFrameDecoder((frame) => {
    const { type } = frame;
    if (typeof type !== "string") return refuse("frame-kind", `the ${noun} has no \`type\``);
    const issues: Issue[] = [];
    return { records: read(frame, type, issues), issues };
  });
}

/** Says what a person can do about it: the two usual causes are pretty printing and text that was never JSON. */
function describeSyntax(text: string, { message }: Error): string {
  if (/^([{}[\]]$|"[^"]*"\s*:)/.test(text.trim()))
    return "this is a piece of a JSON text; a frame must be one complete JSON object on one line, so do not pretty-print";
  const reason = message
    .replace(/ \(line 1 column \d+\)$/, "")
    .replace(/,? ?"?\.{0,3}.{0,60}"? is not valid JSON$/s, "");
  return `not valid JSON: ${reason || "unexpected text"}`;
}

/** Holds a frame against its form and adds what is found to `issues`; false when the frame must be refused. */
export function checkFrame({ fields, section }: Form, frame: JsonObject, issues: Issue[]): boolean {
  const hints: Hint[] = [];
  const fault = findFault(fields, frame, hints);
  issues.push(...raiseHints(hints, section));
  if (fault !== undefined) issues.push(raiseIn(section, fault.rule, fault.message));
  return fault === undefined;
}

export function raiseHints(hints: readonly Hint[], section: string): Issue[] {
  return hints.map(({ message }) => raiseIn(section, "field-unlisted", message));
}

/** How surely a frame is of the wire its form is of: by its tag, and by its fields too where they were `likely` at all. */
export function claimByForm(
  form: Form | undefined,
  frame: { readonly [key: string]: unknown },
  likely: boolean,
): ReturnType<Decoding["claim"]> {
  if (form === undefined) return 0;
  return likely && findFault(form.fields, frame) === undefined ? 2 : 1;
}
