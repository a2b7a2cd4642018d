/**
 * A rule is something a stream can break: its name, how grave, and the section it comes from. Must-rules are errors,
 * should-rules warnings. Each table of rules lies beside the code that applies it; this file holds what they share.
 */
import type { Text } from "./schema.ts";

export type Level = "error" | "warning";

/** What raising a rule needs of it; the rest is for people. */
export interface Grade {
  readonly level: Level;
  readonly section: string;
  /** True for a rule one frame can break by itself; the others need the frames before it. */
  readonly perFrame?: boolean;
}

export interface Rule extends Grade {
  readonly about: Text;
}

export interface GradeTable {
  readonly [name: string]: Grade;
}

export interface RuleTable {
  readonly [name: string]: Rule;
}

/** A rule that was broken, and how. */
export interface Issue {
  readonly rule: string;
  readonly level: Level;
  readonly section: string;
  readonly message: string;
  readonly perFrame: boolean;
}

/** The function that raises the rules of one table; a rule that is not in the table does not compile. */
export function createRaise<R extends GradeTable>(rules: R): (name: keyof R & string, message: string) => Issue {
  return (name, message) => {
    const { level, section, perFrame } = rules[name] as Grade;
    return { rule: name, level, section, message, perFrame: perFrame === true };
  };
}
