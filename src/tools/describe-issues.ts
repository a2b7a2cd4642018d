/** Describes schema issues to a model: the field, and what is wrong with it. */
import type { StandardIssue } from "./standard-schema.ts";
import { shorten } from "../protocol/cut-text.ts";

const MAX_ISSUES = 20;
const MAX_LENGTH = 500;
const NO_MATCH = "The arguments do not match the schema of the tool";

/** `what` is the first line, without a colon. */
export function describeIssues(issues: readonly StandardIssue[], what = NO_MATCH): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const field = writePath(path ?? []);
    return `- ${field === "" ? "" : `\`${shorten(field, MAX_LENGTH)}\`: `}${shorten(message, MAX_LENGTH)}`.toWellFormed();
  });
  if (issues.length > MAX_ISSUES) lines.push(`- and ${issues.length - MAX_ISSUES} more`);
  return `${what}:\n${lines.join("\n")}`;
}

/** For example `items[2].text`. */
function writePath(path: NonNullable<StandardIssue["path"]>): string {
  let text = "";
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof key === "number") text += `[${key}]`;
    else text += text === "" ? String(key) : `.${String(key)}`;
  }
  return text;
}
