/**
 * Rules that a stream can break. A rule has a name, a level and the section of the specification it comes from: MUST
 * rules are errors, SHOULD rules are warnings. Each rule table is next to the code that applies it.
 */
import type { LocalizedText } from "./schema.ts";

/** Errors break a MUST rule, warnings a SHOULD rule. */
export type IssueLevel = "error" | "warning";

/** The part of a rule that is needed to report an issue. The descriptions are left out to keep pages small. */
export interface RuleInfo {
  readonly level: IssueLevel;
  readonly section: string;
  /** True if a single frame can break the rule; false if the rule depends on earlier frames. */
  readonly perFrame?: boolean;
}

/** A rule with its description. */
export interface Rule extends RuleInfo {
  readonly about: LocalizedText;
}

export interface RuleInfoTable {
  readonly [name: string]: RuleInfo;
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

/** Creates a function that builds issues for the rules of one table. An unknown rule name is a compile error. */
export function createIssueFactory<R extends RuleInfoTable>(
  rules: R,
): (name: keyof R & string, message: string) => Issue {
  return (name, message) => {
    const { level, section, perFrame } = rules[name] as RuleInfo;
    return { rule: name, level, section, message, perFrame: perFrame === true };
  };
}
