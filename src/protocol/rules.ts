/**
 * Rules that a stream can break. A rule has a name, a level and the section of the specification it comes from: MUST
 * rules are errors, SHOULD rules are warnings. Each rule table is next to the code that applies it; `spec/rules.json`
 * describes every rule for the documentation.
 */

/** Errors break a MUST rule, warnings a SHOULD rule. */
export type IssueLevel = "error" | "warning";

/** A rule. */
export interface Rule {
  readonly level: IssueLevel;
  readonly section: string;
  /** True if a single frame can break the rule; false if the rule depends on earlier frames. */
  readonly perFrame?: boolean;
}

/** Rules by name. */
export interface RuleTable {
  readonly [name: string]: Rule;
}

/** A broken rule and the reason. */
export interface Issue {
  readonly rule: string;
  readonly level: IssueLevel;
  readonly section: string;
  readonly message: string;
  readonly perFrame: boolean;
}

/** Rules for single frames of every dialect. */
export const FRAME_RULES = {
  "frame-too-long": { level: "error", section: "001 §3", perFrame: true },
  "frame-utf8": { level: "error", section: "001 §3", perFrame: true },
  "frame-unfinished": { level: "error", section: "001 §3", perFrame: true },
  "frame-json": { level: "error", section: "001 §3", perFrame: true },
  "frame-object": { level: "error", section: "001 §3", perFrame: true },
  "frame-kind": { level: "error", section: "001 §4.1", perFrame: true },
  "frame-surrogate": { level: "warning", section: "001 §3", perFrame: true },
  "field-missing": { level: "error", section: "001 §4.2", perFrame: true },
  "field-type": { level: "error", section: "001 §4.2", perFrame: true },
  "field-value": { level: "error", section: "001 §4.2", perFrame: true },
  "field-depth": { level: "error", section: "001 §3", perFrame: true },
  "field-unlisted": { level: "warning", section: "001 §4.2", perFrame: true },
} as const satisfies RuleTable;

/** Creates a function that builds issues for the rules of one table. An unknown rule name is a compile error. */
export function createIssueFactory<R extends RuleTable>(rules: R): (name: keyof R & string, message: string) => Issue {
  return (name, message) => {
    const { level, section, perFrame } = rules[name] as Rule;
    return { rule: name, level, section, message, perFrame: perFrame === true };
  };
}
