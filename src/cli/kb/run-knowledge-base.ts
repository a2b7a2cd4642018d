/** `loom kb`: adds, lists, searches and removes documents of a knowledge base. */
import { resolve, sep } from "node:path";
import type { KnowledgeBase } from "../../context/index.ts";
import type { AddOptions, AddReport } from "../../context/knowledge-base/knowledge-base.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError } from "../../protocol/index.ts";
import { CliError, type ParsedCommand, quoteGiven, textOption } from "../command.ts";
import { cleanText, cutColumns, formatJson, plural } from "../fit-text.ts";
import { STOPPED, untilStopped } from "../stop-signals.ts";
import type { Terminal } from "../terminal.ts";
import { chooseKnowledgeBase, openForReading, openForWriting } from "./default-knowledge-base.ts";
import { formatDocument, formatHit } from "./format-documents.ts";
import { KB_ADD, KB_LIST, KB_REMOVE, KB_SEARCH } from "./kb-commands.ts";

const MAX_HITS = 50;
const PAGE = 500;
/** Interval of progress updates in milliseconds. */
const PROGRESS_MS = 100;

export async function runKnowledgeBase(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const choice = chooseKnowledgeBase(textOption(parsed, "kb"));
  const isAdding = parsed.command === KB_ADD;
  try {
    await using base = await (isAdding ? openForWriting(choice) : openForReading(choice));
    switch (parsed.command) {
      case KB_ADD:
        return await add(base, parsed, terminal);
      case KB_LIST:
        return await list(base, parsed, terminal);
      case KB_SEARCH:
        return await search(base, parsed, terminal);
      case KB_REMOVE:
        return await remove(base, parsed, terminal);
      default:
        throw new CliError(`unknown command \`loom ${parsed.command.name}\``);
    }
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message);
  }
}

type ImportTotals = Pick<AddReport, "added" | "updated" | "unchanged" | "removed" | "failedCount">;

async function add(base: KnowledgeBase, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const collection = textOption(parsed, "collection");
  const isJson = parsed.options["json"] === true;
  const totals = { added: 0, updated: 0, unchanged: 0, removed: 0, failedCount: 0 };
  let isComplete = false;
  await untilStopped(async (signal) => {
    using _progress = { [Symbol.dispose]: () => terminal.progress(undefined) };
    for (const path of parsed.arguments) {
      const onProgress = createProgress(terminal);
      const report = await addOne(base, path, {
        ...dropUndefined({ collection }),
        signal,
        onProgress,
      });
      terminal.progress(undefined);
      for (const name of COUNTED) totals[name] += report[name];
      await printReport(path, report, isJson, terminal);
    }
    isComplete = true;
  });
  if (!isComplete) {
    terminal.warn("stopped; documents added so far are kept");
    return STOPPED;
  }
  if (!isJson) await terminal.write(`${describeTotals(totals)}\n`);
  const { failedCount, ...done } = totals;
  return chooseExitCode(
    Object.values(done).some((count) => count > 0),
    failedCount > 0,
  );
}

/** 0: everything succeeded, 1: a part failed, 2: everything failed. */
function chooseExitCode(isSomeDone: boolean, hasFailed: boolean): number {
  if (!hasFailed) return 0;
  return isSomeDone ? 1 : 2;
}

/** A path that cannot be read counts as one failed file, so the other paths are still added. */
async function addOne(base: KnowledgeBase, path: string, options: AddOptions): Promise<AddReport> {
  try {
    return await base.add(path, options);
  } catch (error) {
    if (!isLoomError(error, "unreadable_document")) throw error;
    const failed = [{ path, code: error.code, message: error.message }];
    return { added: 0, updated: 0, unchanged: 0, removed: 0, skipped: 0, failed, failedCount: 1 };
  }
}

const COUNTED = ["added", "updated", "unchanged", "removed", "failedCount"] as const;

function createProgress(terminal: Terminal): (done: number, total: number, path: string) => void {
  let last = 0;
  return (done, total, path) => {
    const now = Date.now();
    if (now - last < PROGRESS_MS || terminal.errorColumns === undefined) return;
    last = now;
    const text = `${done} of ${total} (${Math.floor((100 * done) / total)} %) ${path}`;
    terminal.progress(cutColumns(text, terminal.errorColumns - 1));
  };
}

async function printReport(path: string, report: AddReport, isJson: boolean, terminal: Terminal): Promise<void> {
  if (isJson) return terminal.write(formatJson({ path, ...report }));
  for (const { path: file, message } of report.failed) {
    // Most messages name the file.
    const text = message.includes(file) ? message : `${file}: ${message}`;
    terminal.warn(`${terminal.styleError("red", "✗")} ${cleanText(text)}`);
  }
  const unlisted = report.failedCount - report.failed.length;
  if (unlisted > 0) terminal.warn(`and ${plural(unlisted, "more file")}`);
  const isNothing = COUNTED.every((name) => report[name] === 0);
  if (isNothing) terminal.warn(`no documents in ${cleanText(path)}`);
}

function describeTotals({ added, updated, unchanged, removed, failedCount }: ImportTotals): string {
  const parts = [`${added} added`, `${updated} updated`, `${unchanged} unchanged`, `${removed} removed`];
  if (failedCount > 0) parts.push(`${failedCount} failed`);
  return parts.join(", ");
}

async function list(base: KnowledgeBase, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const collection = textOption(parsed, "collection");
  const isJson = parsed.options["json"] === true;
  let count = 0;
  for (let after = ""; ;) {
    const page = await base.list({ ...dropUndefined({ collection }), after, limit: PAGE });
    const lines = page.map((one) => (isJson ? formatJson(one) : `${formatDocument(one, terminal)}\n`));
    await terminal.write(lines.join(""));
    count += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.uri;
  }
  if (!isJson) terminal.warn(terminal.styleError("dim", `${plural(count, "document")} in ${cleanText(base.file)}`));
  return 0;
}

async function search(base: KnowledgeBase, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const collection = textOption(parsed, "collection");
  const given = textOption(parsed, "limit");
  const limit = given === undefined ? undefined : readLimit(given);
  const hits = await base.search(parsed.arguments.join(" "), dropUndefined({ collection, limit }));
  if (parsed.options["json"] === true) await terminal.write(hits.map(formatJson).join(""));
  else if (hits.length > 0)
    await terminal.write(`${hits.map((hit, index) => formatHit(hit, index + 1, terminal)).join("\n\n")}\n`);
  if (hits.length === 0) terminal.warn("no matches");
  return hits.length === 0 ? 1 : 0;
}

function readLimit(given: string): number {
  const limit = /^\d+$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= MAX_HITS) return limit;
  throw new CliError(`\`--limit ${given}\` is not a number from 1 to ${MAX_HITS}`);
}

async function remove(base: KnowledgeBase, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const isJson = parsed.options["json"] === true;
  let isSomeDone = false;
  let hasFailed = false;
  for (const path of parsed.arguments) {
    const ambiguity = await findAmbiguity(base, path);
    const removed = ambiguity === undefined ? await base.remove(path) : 0;
    if (removed > 0) isSomeDone = true;
    else hasFailed = true;
    if (ambiguity !== undefined) terminal.warn(ambiguity);
    if (isJson) await terminal.write(formatJson({ path, removed }));
    else if (removed > 0) await terminal.write(`removed ${plural(removed, "document")}: ${cleanText(path)}\n`);
    else if (ambiguity === undefined) {
      const list = ["loom kb list", ...quoteGiven(parsed, ["kb"])].join(" ");
      terminal.warn(cleanText(`no document \`${path}\`; run \`${list}\` for a list`));
    }
  }
  return chooseExitCode(isSomeDone, hasFailed);
}

/** Detects a path that matches both a URI in the knowledge base and a file on disk that was added. */
async function findAmbiguity(base: KnowledgeBase, path: string): Promise<string | undefined> {
  const place = resolve(path);
  if (place === path || !(await hasDocuments(base, path)) || !(await hasDocuments(base, place))) return undefined;
  const named = cleanText(path);
  return (
    `\`${named}\` is ambiguous: it matches \`${named}\` and \`${cleanText(place)}\` in the knowledge base;\n` +
    `nothing was removed: use the absolute path, or \`${named}/\` followed by the name of a document`
  );
}

async function hasDocuments(base: KnowledgeBase, uri: string): Promise<boolean> {
  const folder = /[/\\]$/.test(uri) ? uri : `${uri}${uri.includes("/") ? "/" : sep}`;
  const [below] = await base.list({ after: folder, limit: 1 });
  return below?.uri.startsWith(folder) === true || (await base.get(uri))?.uri === uri;
}
