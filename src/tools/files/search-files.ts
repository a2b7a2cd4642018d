/**
 * Searches the text files of a folder and its subfolders. Reports each match as soon as it is found. Links are not
 * followed, and files that are not text are skipped.
 */
import { setImmediate as yieldToLoop } from "node:timers/promises";
import type { Json } from "../../protocol/index.ts";
import { shorten } from "../../protocol/cut-text.ts";
import { listEntries } from "./list-entries.ts";
import { readText } from "./read-text.ts";
import type { OpenFolder, Workspace } from "./workspace.ts";

/** A line that contains the searched text. */
export interface FoundLine {
  readonly [key: string]: Json;
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

export interface SearchLimits {
  readonly depth: number;
  readonly maxEntries: number;
  readonly maxFileBytes: number;
  readonly maxMatches: number;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchSummary {
  /** Number of files that were searched. */
  readonly files: number;
  readonly matches: readonly FoundLine[];
  /** True if files or matches were left out at a limit. */
  readonly isCut: boolean;
}

/** Folders with thousands of files that users did not write. */
const SKIPPED = new Set([".git", "node_modules"]);
const MAX_LINE_CHARACTERS = 300;
/** Lines searched before the search yields to the event loop. */
const YIELD_LINES = 20_000;

/** `prefix` is the path of `top`, with a slash at the end. Upper and lower case are the same. */
export async function searchFiles(
  workspace: Workspace,
  { top, prefix }: { readonly top: OpenFolder; readonly prefix: string },
  query: string,
  limits: SearchLimits,
  onMatch: (match: FoundLine) => Promise<void>,
): Promise<SearchSummary> {
  const { maxFileBytes, maxMatches, signal } = limits;
  const wanted = query.toLowerCase();
  const listing = await listEntries(workspace, top, { ...limits, isSkipped: (name) => SKIPPED.has(name) });
  const matches: FoundLine[] = [];
  let { isCut } = listing;
  let files = 0;
  for (const { path, kind, bytes } of listing.entries) {
    if (kind !== "file") continue;
    signal?.throwIfAborted();
    if (bytes > maxFileBytes) isCut = true;
    const text = bytes > maxFileBytes ? undefined : await readFile(workspace, prefix + path, limits);
    if (text === undefined) continue;
    files += 1;
    // Most files have no match.
    if (!text.toLowerCase().includes(wanted)) continue;
    for (const [index, line] of text.split("\n").entries()) {
      if (index % YIELD_LINES === YIELD_LINES - 1) {
        await yieldToLoop();
        signal?.throwIfAborted();
      }
      if (!line.toLowerCase().includes(wanted)) continue;
      if (matches.length === maxMatches) return { files, matches, isCut: true };
      const match = { path: prefix + path, line: index + 1, text: shorten(line.trim(), MAX_LINE_CHARACTERS) };
      matches.push(match);
      await onMatch(match);
    }
  }
  return { files, matches, isCut };
}

/** Returns undefined for a file that is not text, was deleted or is not readable. */
async function readFile(
  workspace: Workspace,
  path: string,
  { maxFileBytes, signal }: SearchLimits,
): Promise<string | undefined> {
  try {
    return await workspace.withLocation(path, {}, async ({ folder, name = "" }) => {
      const file = await workspace.openFile(folder.at(name), path);
      try {
        return (await readText(file, { maxBytes: maxFileBytes, maxScanBytes: maxFileBytes, signal })).text;
      } finally {
        await file.close();
      }
    });
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}
