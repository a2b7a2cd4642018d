/**
 * Finds words and phrases that make our text hard to read, with a suggestion for each. Works on whole texts: comments,
 * strings, names and prose alike. A phrase is also found when a line break or a comment marker splits it.
 *
 * Words that are often the right ones (rest, place, look, room, leave) are not listed: a reader has to judge those.
 */

export interface TextFile {
  /** Relative to the project root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface LanguageFault {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  /** The text that was found. */
  readonly found: string;
  readonly suggestion: string;
}

interface WordRule {
  /** A regular expression; it matches whole words and ignores case. */
  readonly pattern: string;
  readonly suggestion: string;
}

interface Allowed {
  /** A file, or a folder that ends in a slash. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly reason: string;
}

const WORD_RULES: readonly WordRule[] = [
  { pattern: "nobody", suggestion: "no client, no process: name the actor" },
  { pattern: "somebody", suggestion: "a client, a user: name the actor" },
  { pattern: "who(?:m)?ever", suggestion: "the caller, the client that …" },
  { pattern: "anybody", suggestion: "any client, any process" },
  { pattern: "everybody", suggestion: "every client, all users" },
  { pattern: "(?:one|those|he|she|him) who", suggestion: "the client that …, users who …" },
  { pattern: "(?:him|his)", suggestion: "it, its" },
  { pattern: "(?:is|are|was|were|be|been|being) told", suggestion: "receives, is notified" },
  { pattern: "(?:tells?|told) of", suggestion: "reports" },
  { pattern: "(?:is|are|was|were|be) said", suggestion: "is reported, is stated" },
  { pattern: "heard of", suggestion: "known, received" },
  { pattern: "doors?", suggestion: "endpoint (HTTP) or entry point (package)" },
  { pattern: "errands?", suggestion: "request context, task" },
  { pattern: "strangers?", suggestion: "request, caller, newcomer" },
  { pattern: "bringers?", suggestion: "frame source" },
  { pattern: "anew", suggestion: "again, recreated" },
  { pattern: "put(?:s|ting)? right", suggestion: "repair" },
  { pattern: "(?:go|goes|going|gone|went) about", suggestion: "handle" },
  { pattern: "c[ao]mes? to (?:its|their|an|the) end", suggestion: "finish, end" },
  { pattern: "(?:has|have) come to", suggestion: "has reached, is" },
  { pattern: "(?:bears|bore)", suggestion: "has, carries" },
  { pattern: "befalls?", suggestion: "happens to" },
  { pattern: "stands(?! for)", suggestion: "is" },
  { pattern: "of (?:its|their|his|one's|our|your|my) own", suggestion: "its own X, or leave it out" },
  {
    pattern: "(?<!there )(?:is|are|was|were) no (?!longer|more|less|fewer|\\w+er\\b)[a-z]+",
    suggestion: "is not a …, has no …",
  },
  { pattern: "no good", suggestion: "invalid" },
  { pattern: "ways? back", suggestion: "backtracking, return path" },
  { pattern: "behind (?:its|their|\\w+'s|the \\w+'s) back", suggestion: "asynchronously" },
  { pattern: "by heart", suggestion: "cached, in memory" },
  { pattern: "let(?:s|ting)? (?:people|others|them|it|users) in", suggestion: "authenticate, allow" },
  { pattern: "may come in", suggestion: "is allowed, is authorized" },
  { pattern: "(?:without|has|have|their|its|no|lost|any|by) leave", suggestion: "permission" },
  { pattern: "answers? with a form", suggestion: "structured output" },
  { pattern: "(?:rules? of|guests? of) the house", suggestion: "project rules" },
  { pattern: "(?:thereof|thereupon|wherein|whence|hitherto|lest)", suggestion: "a modern word" },
];

/** Quotations and data in which a listed word is right. */
const ALLOWED: readonly Allowed[] = [
  { path: "test/knowledge/corpus.ts", pattern: /^(?:him|somebody)$/i, reason: "in a document to be searched" },
];

const ANY_RULE = new RegExp(WORD_RULES.map(({ pattern }) => `(?<![\\w-])(${pattern})(?![\\w-])`).join("|"), "gi");

/** A line break with the indentation and the comment markers around it: a phrase may continue behind it. */
const BREAK = /[ \t]*\r?\n[ \t]*(?:\*(?!\/)|\/\/|>)?[ \t]*/g;

export function findLanguageFaults(files: readonly TextFile[]): LanguageFault[] {
  return files.flatMap(({ path, text }) => {
    const { joined, lineAt } = joinLines(text);
    return [...joined.matchAll(ANY_RULE)].flatMap((match) => {
      const found = match[0];
      if (ALLOWED.some((allowed) => covers(allowed, path) && allowed.pattern.test(found))) return [];
      const rule = WORD_RULES[match.slice(1).findIndex((group) => group !== undefined)];
      return [{ path, line: lineAt(match.index), found, suggestion: rule?.suggestion ?? "" }];
    });
  });
}

function covers({ path: allowed }: Allowed, path: string): boolean {
  return allowed.endsWith("/") ? path.startsWith(allowed) : path === allowed;
}

function joinLines(text: string): { readonly joined: string; readonly lineAt: (index: number) => number } {
  const starts: number[] = [0];
  let joined = "";
  let at = 0;
  for (const { 0: gap, index } of text.matchAll(BREAK)) {
    joined += `${text.slice(at, index)} `;
    at = index + gap.length;
    starts.push(joined.length);
  }
  joined += text.slice(at);
  const lineAt = (index: number): number => {
    const next = starts.findIndex((start) => start > index);
    return next === -1 ? starts.length : next;
  };
  return { joined, lineAt };
}
