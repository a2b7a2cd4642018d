/** `loom sessions`: lists, shows, searches, exports, imports, forks, renames and deletes sessions. */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInterface } from "node:readline/promises";
import { assertOwner } from "../../log/rules.ts";
import type { EventOf } from "../../protocol/index.ts";
import type { ForkedSession, Run, Session, SessionDetails } from "../../server/api/shapes.generated.ts";
import { auditCommand } from "../audit-command.ts";
import { CliError, type ParsedCommand, quoteGiven, quoteOption, quoteWord, textOption } from "../command.ts";
import { hideCredentials } from "../find-store.ts";
import { cleanText, cutColumns, escapeJson, formatJson, plural } from "../fit-text.ts";
import { formatAge, formatFields, formatTable } from "../format-table.ts";
import { readChunks } from "../read-chunks.ts";
import { PendingApprovals } from "../run/pending-approvals.ts";
import { isBuiltIn } from "../run/read-agent-options.ts";
import { describeToolOptions } from "../run/read-run-options.ts";
import { findPromptTerminal } from "../run/prompt-for-approval.ts";
import type { OutputStyle, Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { openService } from "./open-service.ts";
import { describeNextCommand, readServiceAddress } from "./server-settings.ts";
import {
  SESSIONS_DELETE,
  SESSIONS_EXPORT,
  SESSIONS_FORK,
  SESSIONS_IMPORT,
  SESSIONS_LIST,
  SESSIONS_RENAME,
  SESSIONS_SEARCH,
} from "./session-commands.ts";
import type { ListedSession, SessionService } from "./session-service.ts";

interface SessionsCall {
  readonly parsed: ParsedCommand;
  readonly terminal: Terminal;
  readonly service: SessionService;
  readonly isJson: boolean;
  /** The SESSION of the command. */
  readonly sessionId: string;
}

export async function runSessions(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const { command, argument = "" } = parsed;
  return explainErrors(async () => {
    await using service = await openService(parsed, terminal, { create: command === SESSIONS_IMPORT });
    const call = { parsed, terminal, service, isJson: parsed.options["json"] === true, sessionId: argument };
    switch (command) {
      case SESSIONS_LIST:
      case SESSIONS_SEARCH:
        return await listSessions(call);
      case SESSIONS_EXPORT:
        return await exportSession(call);
      case SESSIONS_IMPORT:
        return await importSession(call);
      case SESSIONS_FORK:
        return await forkSession(call);
      case SESSIONS_RENAME:
        return await renameSession(call);
      case SESSIONS_DELETE:
        return await (parsed.options["owner"] === undefined ? deleteSessions : eraseOwner)(call);
      default:
        return await showSession(call);
    }
  });
}

const DEFAULT_LIMIT = 20;
const PAGE = 200;

/** Reads `--limit`. */
export function readLimit(parsed: ParsedCommand): number {
  const given = textOption(parsed, "limit");
  if (given === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,9}$/.test(given) ? Number(given) : 0;
  if (limit >= 1) return limit;
  throw new CliError(`\`--limit ${given}\` is not a number of at least 1`);
}

async function listSessions({ parsed, terminal, service, isJson }: SessionsCall): Promise<number> {
  const { options } = parsed;
  const isSearch = parsed.command === SESSIONS_SEARCH;
  const query = isSearch ? parsed.arguments.join(" ") : undefined;
  if (options["all"] === true && options["limit"] !== undefined)
    throw new CliError("`--all` and `--limit` cannot be used together");
  const wanted = options["all"] === true ? Number.POSITIVE_INFINITY : readLimit(parsed);
  const rows: (readonly string[])[] = [];
  let count = 0;
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE, wanted - count);
    const isArchived = isSearch ? undefined : options["archived"] === true;
    const page = await service.listSessions({ limit, after, query, isArchived });
    count += page.items.length;
    after = page.next;
    if (isJson) for (const item of page.items) await terminal.write(formatJson(item));
    else rows.push(...page.items.map(describeRow));
  } while (after !== undefined && count < wanted);
  if (isJson) return count === 0 && isSearch ? 1 : 0;
  await terminal.write(formatTable(["SESSION", "AGE", isSearch ? "MATCH" : "TITLE"], rows, terminal));
  if (count === 0)
    terminal.warn(
      isSearch ? "nothing found" : `no sessions; create one with \`${describeNextCommand(parsed, "run MESSAGE")}\``,
    );
  else if (after !== undefined) terminal.warn(terminal.styleError("dim", "there are more; use --limit N or --all"));
  return count === 0 && isSearch ? 1 : 0;
}

function describeRow({ session_id, created_at, title = "", match }: ListedSession): readonly string[] {
  return [session_id, formatAge(created_at), match === undefined ? title : `${match.where}: ${match.snippet}`];
}

async function showSession({ parsed, service, terminal, isJson, ...call }: SessionsCall): Promise<number> {
  const details = await findSession(service, call.sessionId, parsed);
  const { session_id: sessionId } = details;
  const approvals = details.is_busy ? await service.listApprovals(sessionId) : [];
  if (isJson) {
    await terminal.write(formatJson({ ...details, approvals }));
    return 0;
  }
  const {
    title = "",
    created_at,
    updated_at,
    bytes,
    first_event_id,
    last_event_id,
    forked_from,
    cursor,
    latest_version,
  } = details;
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["session", sessionId],
    ["title", title],
    ["created", formatTime(created_at)],
    ["changed", formatTime(updated_at)],
    ["records", `${last_event_id - first_event_id + 1} (${bytes} bytes)`],
    ["cursor", cursor],
    ...(forked_from === undefined ? [] : [["forked from", forked_from.session_id] as const]),
    ...(latest_version === sessionId ? [] : [["newer version", latest_version] as const]),
    ...approvals.map(({ name, call_id }) => ["waits", `for approval of ${name}, call ${call_id}`] as const),
    ...details.queued.map(({ run_id, message }) => ["queued", `${run_id} ${cutColumns(message, 60)}`] as const),
  ];
  await terminal.write(formatFields(rows));
  if (details.runs.length === 0) return 0;
  const liveState = await nameLiveRunState(service, details);
  await terminal.write(`\n${formatRuns({ queued: [], runs: details.runs }, liveState, terminal)}`);
  return 0;
}

/** Formats the runs of a session, with the cause of those that failed: `error (stream_cut)`. */
export function formatRuns(
  { queued, runs }: Pick<SessionDetails, "queued" | "runs">,
  liveState: LiveRunState,
  output: OutputStyle,
): string {
  const describe = ({ status, code }: Run): string => {
    if (status === "live") return liveState;
    return code === undefined || code === status ? status : `${status} (${code})`;
  };
  const rows = [
    ...queued.map(({ run_id, created_at, agent = "" }) => ["queued", formatAge(created_at), agent, run_id]),
    ...runs.map((run) => [describe(run), formatAge(run.started_at), run.agent ?? "", run.run_id]),
  ];
  return formatTable(["STATUS", "AGE", "AGENT", "RUN"], rows, output);
}

/** What the live run of a session does. */
type LiveRunState = "live" | "waits" | "interrupted";

/** `interrupted`: the process of the run ended, and no other has continued it. */
export async function nameLiveRunState(service: SessionService, details: SessionDetails): Promise<LiveRunState> {
  const { session_id, is_busy, is_orphan = false } = details;
  if (is_busy && (await service.listApprovals(session_id)).length > 0) return "waits";
  return is_orphan ? "interrupted" : "live";
}

/** Says why the latest run of a session has not ended, and how to see or continue it. */
export async function describeUnfinished(
  service: SessionService,
  parsed: ParsedCommand,
  sessionId: string,
): Promise<string> {
  const word = quoteWord(sessionId);
  const state = await nameLiveRunState(service, await findSession(service, sessionId, parsed));
  if (state === "waits")
    return `the run waits for approval; to decide: ${describeNextCommand(parsed, `approve ${word}`)}`;
  if (state === "live") return `the run is live; to follow it: ${describeNextCommand(parsed, `show ${word} --follow`)}`;
  const how = service.isRemote
    ? "the server continues it if it has its agent"
    : `to continue it: ${await describeLocalResume(service, parsed, sessionId)}`;
  return `the run is interrupted, because its process ended; ${how}`;
}

/** Like `lookUpSession`. Throws a CliError if there is no session. */
export async function findSession(
  service: SessionService,
  sessionId: string,
  parsed: ParsedCommand,
): Promise<SessionDetails> {
  return (await lookUpSession(service, sessionId)) ?? throwUnknown(service, sessionId, parsed);
}

/**
 * Like `findSession`, but only by the whole ID: for what cannot be undone. If the session was deleted, its ID may be the
 * start of another one.
 */
export async function findSessionByWholeId(
  service: SessionService,
  sessionId: string,
  parsed: ParsedCommand,
): Promise<SessionDetails> {
  return (await service.getSession(sessionId)) ?? throwUnknown(service, sessionId, parsed);
}

function throwUnknown(service: SessionService, sessionId: string, parsed: ParsedCommand): never {
  throw new CliError(
    `no session \`${sessionId}\` ${nameHost(service)}`,
    `list the sessions with \`${describeNextCommand(parsed, "sessions list")}\``,
  );
}

/** Shorter words may be the start of an ID by chance. */
const MIN_START = 4;
/** Among more sessions than this, IDs are not found by their start. */
const MAX_SEARCHED = 10_000;

/** Finds a session by its ID or the start of it. Throws a CliError if several IDs start with the word. */
export async function lookUpSession(service: SessionService, word: string): Promise<SessionDetails | undefined> {
  return (await service.getSession(word)) ?? (await findByStart(service, word));
}

async function findByStart(service: SessionService, word: string): Promise<SessionDetails | undefined> {
  if (word.length < MIN_START) return undefined;
  const found: string[] = [];
  let count = 0;
  let after: string | undefined;
  do {
    if (count >= MAX_SEARCHED) return undefined;
    const { items, next } = await service.listSessions({ limit: PAGE, after });
    count += items.length;
    after = next;
    found.push(...items.map(({ session_id }) => session_id).filter((id) => id.startsWith(word)));
  } while (after !== undefined);
  const [only, ...others] = found;
  if (only === undefined) return undefined;
  if (others.length === 0) return service.getSession(only);
  throw new CliError(
    `${found.length} sessions have an ID that starts with \`${word}\``,
    `write more of it: ${cutColumns(found.join(", "), 200)}`,
  );
}

export function nameHost({ isRemote }: SessionService): string {
  return isRemote ? "on the server" : "in this store";
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Writes all records of a session to a new file. Returns the number of bytes. Throws a CliError if it exists. */
export async function writeExport(service: SessionService, sessionId: string, file: string): Promise<number> {
  const { signal } = new AbortController();
  const output = createWriteStream(file, { flags: "wx", mode: 0o600 });
  try {
    await pipeline(Readable.from(service.exportSession(sessionId, signal)), output);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const why = code === "EEXIST" ? "exists already" : `cannot be written (${code ?? "?"})`;
    throw new CliError(`\`${file}\` ${why}`, code === "EEXIST" ? "choose another file" : undefined);
  }
  return output.bytesWritten;
}

async function exportSession({ parsed, service, terminal, ...call }: SessionsCall): Promise<number> {
  const file = textOption(parsed, "output");
  const { signal } = new AbortController();
  const { session_id: sessionId } = await findSession(service, call.sessionId, parsed);
  if (file === undefined) {
    for await (const chunk of service.exportSession(sessionId, signal)) {
      const text = toText(chunk);
      await terminal.write(terminal.columns === undefined ? text : text.split("\n").map(escapeJson).join("\n"));
    }
    return 0;
  }
  terminal.warn(`exported ${await writeExport(service, sessionId, file)} bytes to ${cleanText(file)}`);
  return 0;
}

const decoder = new TextDecoder();

function toText(chunk: string | Uint8Array): string {
  return typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
}

async function importSession({ parsed, service, terminal, isJson }: SessionsCall): Promise<number> {
  const body = readChunks(parsed.argument ?? "-", terminal);
  const { signal } = new AbortController();
  const { added, ...session } = await service.importSession({
    body,
    sessionId: textOption(parsed, "session"),
    title: textOption(parsed, "title"),
    signal,
  });
  await printSession(session, terminal, isJson);
  terminal.warn(`imported ${plural(added, "record")}`);
  return 0;
}

async function forkSession({ parsed, service, terminal, isJson, sessionId }: SessionsCall): Promise<number> {
  const [before, checkpoint] = [textOption(parsed, "before"), textOption(parsed, "checkpoint")];
  if (before !== undefined && checkpoint !== undefined)
    throw new CliError("`--before` and `--checkpoint` cannot be used together");
  const fields = {
    before_run: before,
    checkpoint_id: checkpoint,
    session_id: textOption(parsed, "session"),
    title: textOption(parsed, "title"),
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const { session_id } = await findSession(service, sessionId, parsed);
  const fork = await service.forkSession(session_id, given);
  await printSession(fork, terminal, isJson);
  if (fork.checkpoint_id !== undefined && !service.isRemote)
    terminal.warn(`to continue its run: ${await describeLocalResume(service, parsed, fork.session_id)}`);
  return 0;
}

/** Returns the command that continues the unfinished run of a session in the store of this command. */
export async function describeLocalResume(
  service: SessionService,
  parsed: ParsedCommand,
  sessionId: string,
): Promise<string> {
  const [latest] = (await service.getSession(sessionId))?.runs ?? [];
  const needed = latest?.status === "live" ? await listNeededOptions(service, sessionId, latest) : [];
  const store = quoteGiven(parsed, ["store"]);
  return cleanText(["loom run", quoteOption("session", sessionId), ...store, ...needed, "--resume"].join(" "));
}

/** The options without which the run would not continue, or not with its model: agent, model and tools. */
async function listNeededOptions(
  service: SessionService,
  sessionId: string,
  { agent = "react", first_event_id }: Run,
): Promise<readonly string[]> {
  const approvals = new PendingApprovals();
  let model: string | undefined;
  const request = { after: String(first_event_id - 1), follow: false, signal: new AbortController().signal };
  for await (const { records } of service.followRecords(sessionId, request))
    for (const record of records) {
      approvals.add(record);
      if (record.event.type === "llm_start") model ??= (record.event as EventOf<"llm_start">).model;
    }
  if (!isBuiltIn(agent)) return ["--agents FILE", quoteOption("agent", agent)];
  // The provider of a model names its API, too: `openai.responses/gpt-5`.
  const name = model?.replace(/^([^./]+)\.[^/]*/, "$1");
  return [
    ...(agent === "react" ? [] : [quoteOption("agent", agent)]),
    ...(name === undefined || name.startsWith("offline/") ? [] : [quoteOption("model", name)]),
    ...describeToolOptions(approvals.neededTools),
  ];
}

async function printSession(session: Session | ForkedSession, terminal: Terminal, isJson: boolean): Promise<void> {
  if (isJson) await terminal.write(formatJson(session));
  else await terminal.write(`${cleanText(session.session_id)}\n`);
}

async function renameSession({ parsed, service }: SessionsCall): Promise<number> {
  const [word = "", ...words] = parsed.arguments;
  const title = words.join(" ");
  if (title.trim() === "")
    throw new CliError("`loom sessions rename` needs TITLE", "run `loom sessions rename --help` for usage");
  const { session_id } = await findSession(service, word, parsed);
  await service.renameSession(session_id, title);
  return 0;
}

async function deleteSessions({ parsed, service, terminal, isJson }: SessionsCall): Promise<number> {
  if (parsed.options["audit-log"] !== undefined) throw new CliError("`--audit-log` needs `--owner`");
  if (parsed.argument === undefined)
    throw new CliError(
      "`loom sessions delete` needs SESSION or --owner",
      "run `loom sessions delete --help` for usage",
    );
  const ids = new Set<string>();
  // Without a question, only whole IDs: repeating the command must not delete another session.
  const isSure = parsed.options["yes"] === true;
  for (const word of parsed.arguments)
    ids.add(isSure ? word : ((await lookUpSession(service, word))?.session_id ?? word));
  if (!isSure) {
    const names = [...ids].map((id) => `\`${cleanText(id)}\``).join(", ");
    await confirmDeletion(ids.size === 1 ? `session ${names}` : `${ids.size} sessions (${cutColumns(names, 500)})`);
  }
  let deleted = 0;
  for (const session_id of ids) {
    const isDeleted = await service.deleteSession(session_id);
    if (isDeleted) deleted++;
    if (isJson) await terminal.write(formatJson({ session_id, deleted: isDeleted }));
    else if (isDeleted) await terminal.write(`deleted: ${cleanText(session_id)}\n`);
    else terminal.warn(`loom: no session \`${cleanText(session_id)}\` ${nameHost(service)}`);
  }
  if (deleted === ids.size) return 0;
  return deleted > 0 ? 1 : 2;
}

async function eraseOwner({ parsed, service, terminal, isJson }: SessionsCall): Promise<number> {
  const owner = textOption(parsed, "owner") ?? "";
  assertOwner(owner);
  if (parsed.argument !== undefined) throw new CliError("`--owner` and SESSION cannot be used together");
  const address = readServiceAddress(parsed);
  const place = address.kind === "server" ? address.url : hideCredentials(address.store);
  if (parsed.options["yes"] !== true) await confirmDeletion(cleanText(`everything of owner \`${owner}\` in ${place}`));
  // A server has its own audit log.
  const erased = service.isRemote
    ? await service.eraseOwner(owner)
    : await auditCommand({ parsed, terminal }, { action: "owner.erase", target: { owner } }, async (note) => {
        const all = await service.eraseOwner(owner);
        note({ target: { sessions: all.sessions, blobs: all.blobs, tokens: all.tokens, shares: all.shares } });
        return all;
      });
  const { sessions, blobs, tokens, shares } = erased;
  const counts = [plural(sessions, "session"), plural(blobs, "file"), plural(tokens, "token"), plural(shares, "link")];
  if (isJson) await terminal.write(formatJson(erased));
  else await terminal.write(`erased: ${cleanText(owner)} (${counts.join(", ")})\n`);
  return 0;
}

/** Asks at the terminal. Throws a CliError if the user does not agree, or if there is no terminal. */
async function confirmDeletion(what: string): Promise<void> {
  const prompt = findPromptTerminal();
  if (prompt === undefined) throw new CliError(`this deletes ${what} and cannot be undone`, "add --yes to delete");
  const lines = createInterface({ input: prompt.input, output: prompt.output, terminal: true });
  // Ctrl-C and Ctrl-D mean no; the cursor is then still on the line of the prompt.
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("\n")));
  try {
    const asked = lines.question(`Delete ${what}? This cannot be undone. [y]es, [n]o: `);
    const answer = await Promise.race([asked.catch(() => "\n"), closed]);
    if (answer === "\n") prompt.output.write(answer);
    if (!/^(?:y|yes|是)$/i.test(answer.trim())) throw new CliError("nothing was deleted");
  } finally {
    lines.close();
    prompt.close();
  }
}
