/** `loom sessions runs`, `loom cancel` and `loom approve`. */
import { randomUUID } from "node:crypto";
import type { CommandResult } from "../../client/index.ts";
import type { Run } from "../../server/api/shapes.generated.ts";
import { MAX_QUEUED } from "../../server/endpoints/describe-session.ts";
import { CliError, type ParsedCommand, quoteWord, textOption } from "../command.ts";
import { cleanText, cutColumns, formatJson } from "../fit-text.ts";
import { formatAge, formatTable } from "../format-table.ts";
import { findPromptTerminal, promptForApproval, type ToolDecision } from "../run/prompt-for-approval.ts";
import type { Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { type BusyRun, listActiveRuns } from "./list-active-runs.ts";
import { openService } from "./open-service.ts";
import { describeNextCommand } from "./server-settings.ts";
import { CANCEL, SESSIONS_RUNS } from "./session-commands.ts";
import {
  describeLocalResume,
  describeUnfinished,
  findSession,
  findSessionByWholeId,
  formatRuns,
  nameLiveRunState,
  readLimit,
} from "./run-sessions.ts";
import { STOPPED } from "../stop-signals.ts";
import type { PendingDecision, SessionService } from "./session-service.ts";

const MAX_PAGE = 500;

interface ControlCall {
  readonly parsed: ParsedCommand;
  readonly terminal: Terminal;
  readonly service: SessionService;
  readonly isJson: boolean;
}

export async function runControl(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const { command, argument } = parsed;
  if (command === SESSIONS_RUNS && argument === undefined && parsed.options["limit"] !== undefined)
    throw new CliError("`--limit` needs SESSION");
  return explainErrors(async () => {
    await using service = await openService(parsed, terminal);
    const call = { parsed, terminal, service, isJson: parsed.options["json"] === true };
    if (command === SESSIONS_RUNS) return await (argument === undefined ? showActive(call) : showRuns(call));
    return await (command === CANCEL ? cancelRun(call) : approveCalls(call));
  });
}

async function showActive({ parsed, terminal, service, isJson }: ControlCall): Promise<number> {
  const runs = await listActiveRuns(service);
  if (isJson) for (const run of runs) await terminal.write(formatJson(run));
  else {
    const rows = runs.map(({ status, approvals, since, agent = "", run_id, session_id }) => [
      approvals.length > 0 ? "waits" : status,
      formatAge(since),
      agent,
      session_id,
      run_id,
    ]);
    await terminal.write(formatTable(["STATUS", "AGE", "AGENT", "SESSION", "RUN"], rows, terminal));
    if (rows.length === 0) terminal.warn("no run is live or queued");
    else if (runs.some(({ approvals }) => approvals.length > 0))
      terminal.warn(
        terminal.styleError("dim", `runs that wait need a decision: ${describeNextCommand(parsed, "approve")}`),
      );
    const [interrupted] = runs.filter(({ status }) => status === "interrupted");
    if (interrupted !== undefined)
      terminal.warn(terminal.styleError("dim", await describeUnfinished(service, parsed, interrupted.session_id)));
  }
  return 0;
}

async function showRuns({ parsed, terminal, service, isJson }: ControlCall): Promise<number> {
  const limit = readLimit(parsed);
  const details = await findSession(service, parsed.argument ?? "", parsed);
  const { session_id: sessionId, queued } = details;
  const liveState = await nameLiveRunState(service, details);
  const items: Run[] = [];
  let next: string | undefined;
  do {
    const page = await service.listRuns(sessionId, { limit: Math.min(MAX_PAGE, limit - items.length), after: next });
    items.push(...page.items);
    next = page.next;
  } while (next !== undefined && items.length < limit);
  if (isJson) {
    for (const { run_id, created_at, agent } of queued)
      await terminal.write(formatJson({ run_id, status: "queued", created_at, agent }));
    for (const run of items) await terminal.write(formatJson(run));
    return 0;
  }
  await terminal.write(formatRuns({ queued, runs: items }, liveState, terminal));
  if (queued.length + items.length === 0) terminal.warn("the session has no runs");
  if (next !== undefined) terminal.warn(terminal.styleError("dim", "there are more; use --limit N"));
  return 0;
}

async function cancelRun(call: ControlCall): Promise<number> {
  const { parsed, terminal, service, isJson } = call;
  const found = await findSessionByWholeId(service, parsed.argument ?? "", parsed);
  const { session_id: session, runs, queued } = found;
  const live = runs.find(({ status }) => status === "live");
  const run_id = textOption(parsed, "run") ?? live?.run_id ?? queued[0]?.run_id;
  if (run_id === undefined) {
    const message = `nothing to cancel: no run of session \`${session}\` is live or queued`;
    return reportRefusal(call, { session_id: session, result: "refused", code: "unknown_run", message });
  }
  const isKnown = run_id === live?.run_id || queued.some((message) => message.run_id === run_id);
  // A message that is not among the first queued ones may still be queued.
  const ended = isKnown ? undefined : await findRun(service, session, run_id);
  if (ended !== undefined && ended.status !== "live") {
    const message = `nothing to cancel: run \`${run_id}\` is already ${ended.status}`;
    return reportRefusal(call, { session_id: session, run_id, result: "refused", code: "run_ended", message });
  }
  if (!isKnown && ended === undefined && queued.length < MAX_QUEUED)
    throw new CliError(
      `no run \`${cleanText(run_id)}\` in session \`${cleanText(session)}\``,
      `list its runs with \`${describeNextCommand(parsed, `sessions runs ${quoteWord(session)}`)}\``,
    );
  const reason = textOption(parsed, "reason");
  const given = reason === undefined ? {} : { reason };
  const result = await service.send({ type: "cancel", id: randomUUID(), session, run_id, ...given });
  assertSent(result);
  const isDone = result.kind === "done";
  if (isJson)
    await terminal.write(formatJson({ session_id: session, run_id, result: result.kind, ...describe(result) }));
  else if (result.kind === "refused") terminal.warn(`not cancelled: ${cleanText(result.message)}`);
  else
    await terminal.write(
      `${isDone ? "cancelled" : "will be cancelled when its process answers"}: ${cleanText(run_id)}\n`,
    );
  return result.kind === "refused" ? 1 : 0;
}

/** Prints why nothing was done, for a request that this command did not send. Returns the exit code. */
async function reportRefusal(
  { terminal, isJson }: ControlCall,
  refusal: { readonly message: string; readonly [name: string]: string },
): Promise<number> {
  if (isJson) await terminal.write(formatJson(refusal));
  else terminal.warn(cleanText(refusal.message));
  return 1;
}

async function findRun(service: SessionService, sessionId: string, runId: string): Promise<Run | undefined> {
  let after: string | undefined;
  do {
    const page = await service.listRuns(sessionId, { limit: MAX_PAGE, after });
    const found = page.items.find(({ run_id }) => run_id === runId);
    if (found !== undefined) return found;
    after = page.next;
  } while (after !== undefined);
  return undefined;
}

/** Throws a CliError if it is unknown whether the command arrived. */
function assertSent(result: CommandResult): asserts result is Exclude<CommandResult, { kind: "lost" }> {
  if (result.kind === "lost")
    throw new CliError(result.message, "check that the server runs, and run the command again");
}

function describe(result: CommandResult): object {
  return result.kind === "refused" ? { code: result.code, message: result.message } : {};
}

async function approveCalls(call: ControlCall): Promise<number> {
  const { parsed, terminal, service, isJson } = call;
  const { argument, options } = parsed;
  const decision = readDecision(parsed);
  if (argument === undefined) {
    if (decision !== undefined || options["call"] !== undefined)
      throw new CliError(
        "`--allow`, `--deny` and `--call` need a SESSION",
        `list what waits with \`${describeNextCommand(parsed, "approve")}\``,
      );
    return listWaiting(await listActiveRuns(service), call);
  }
  const find = decision === undefined ? findSession : findSessionByWholeId;
  const { session_id: session } = await find(service, argument, parsed);
  const approvals = await service.listApprovals(session);
  const chosen = textOption(parsed, "call");
  // A list without entries is empty, but a decision has a result.
  const output = { ...call, isJson: isJson && decision !== undefined };
  const about = { session_id: session, ...(chosen === undefined ? {} : { call_id: chosen }) };
  const refuse = (message: string): Promise<number> =>
    reportRefusal(output, { ...about, result: "refused", code: "unknown_call", message });
  if (approvals.length === 0) return refuse(`nothing waits for approval in session \`${session}\``);
  const waiting = approvals.filter(({ call_id }) => chosen === undefined || call_id === chosen);
  if (waiting.length === 0) {
    const others = approvals.map(({ call_id }) => call_id).join(", ");
    return refuse(`call \`${chosen ?? ""}\` does not wait for approval; waiting: ${cutColumns(others, 500)}`);
  }
  if (decision === undefined && !isJson) {
    const prompt = findPromptTerminal();
    if (prompt !== undefined) {
      try {
        // In raw mode, Ctrl-C arrives as a key. It ends the prompt, so that the terminal is restored.
        const stop = new AbortController();
        const about = { signal: stop.signal, onInterrupt: () => stop.abort() };
        return await decideAll(call, session, waiting, (asked) =>
          promptForApproval(prompt, toWaitingCall(asked), about),
        );
      } finally {
        prompt.close();
      }
    }
  }
  const mustChoose = waiting.length > 1 && options["all"] !== true;
  if (decision === undefined || mustChoose) {
    const calls = waiting.map((asked) => ({ session_id: session, ...asked }));
    await printCalls(calls, terminal, isJson);
    if (decision === undefined) return 0;
    throw new CliError(`${waiting.length} calls wait for approval`, "choose one with `--call ID`, or add --all");
  }
  return decideAll(call, session, waiting, () => Promise.resolve(decision));
}

function readDecision(parsed: ParsedCommand): ToolDecision | undefined {
  const { allow, deny, all, call } = parsed.options;
  const reason = textOption(parsed, "reason");
  if (allow === true && deny === true) throw new CliError("`--allow` and `--deny` cannot be used together");
  if (reason !== undefined && deny !== true) throw new CliError("`--reason` needs `--deny`");
  if (all === true && allow !== true && deny !== true) throw new CliError("`--all` needs `--allow` or `--deny`");
  if (all === true && call !== undefined) throw new CliError("`--all` and `--call` cannot be used together");
  if (allow === true) return { decision: "approved" };
  return deny === true ? { decision: "rejected", ...(reason === undefined ? {} : { reason }) } : undefined;
}

function toWaitingCall({ run_id, call_id, name, arguments: given, expires_at, digest }: PendingDecision) {
  return { runId: run_id, callId: call_id, name, arguments: given, expiresAt: expires_at, digest };
}

async function listWaiting(runs: readonly BusyRun[], { parsed, terminal, isJson }: ControlCall): Promise<number> {
  const waiting = runs.flatMap(({ session_id, approvals }) => approvals.map((call) => ({ session_id, ...call })));
  await printCalls(waiting, terminal, isJson);
  if (waiting.length === 0) terminal.warn("nothing waits for approval");
  else if (!isJson)
    terminal.warn(
      terminal.styleError("dim", `to decide: ${describeNextCommand(parsed, "approve SESSION --allow")}, or --deny`),
    );
  return waiting.length === 0 ? 1 : 0;
}

async function printCalls(
  calls: readonly (PendingDecision & { readonly session_id: string })[],
  terminal: Terminal,
  isJson: boolean,
): Promise<void> {
  const rows = calls.map(({ session_id, call_id, name, arguments: given }) => [
    session_id,
    call_id,
    `${name} ${JSON.stringify(given)}`,
  ]);
  const lines = isJson ? calls.map(formatJson).join("") : formatTable(["SESSION", "CALL", "TOOL"], rows, terminal);
  await terminal.write(lines);
}

/** Sends a decision on each call, until the user closes the prompt. */
async function decideAll(
  { parsed, terminal, service, isJson }: ControlCall,
  session: string,
  waiting: readonly PendingDecision[],
  decide: (call: PendingDecision) => Promise<ToolDecision | undefined>,
): Promise<number> {
  let isRefused = false;
  for (const call of waiting) {
    const decision = await decide(call);
    if (decision === undefined) return STOPPED;
    const { run_id, call_id, digest, name } = call;
    const shown = digest === undefined ? {} : { digest };
    const command = { type: "approve", id: randomUUID(), session, run_id, call_id, ...shown, ...decision } as const;
    const result = await service.send(command);
    assertSent(result);
    isRefused ||= result.kind === "refused";
    const word = decision.decision === "approved" ? "allowed" : "denied";
    if (isJson)
      await terminal.write(
        formatJson({
          session_id: session,
          call_id,
          decision: word,
          result: result.kind,
          ...describe(result),
        }),
      );
    else if (result.kind === "refused") terminal.warn(`${cleanText(name)}: not decided: ${cleanText(result.message)}`);
    else await terminal.write(`${word}: ${cleanText(name)} (call ${cleanText(call_id)})\n`);
  }
  if (!service.isRemote && !isRefused)
    terminal.warn(`if no process continues the run: ${await describeLocalResume(service, parsed, session)}`);
  return isRefused ? 1 : 0;
}
