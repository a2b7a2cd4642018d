/**
 * A model of a log: it keeps everything ever appended in plain lists and answers by scanning them. It shares no code
 * with the logs, and lists the acceptable errors where several apply.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import type { AnyEvent, ErrorCode } from "../../../src/protocol/index.ts";
import type {
  AcquireOptions,
  Append,
  Command,
  CommandState,
  Landmark,
  LandmarkKind,
  LogEntry,
  ReadOptions,
  RunInfo,
  SubmitOptions,
} from "../../../src/log/log.ts";
import type { LogLimits } from "../../../src/log/log-limits.ts";
import type { PruneReport, RetentionPolicy } from "../../../src/log/retention-policy.ts";

/** A value, or the error codes of which one must occur. */
export type Expected<T> = { readonly value: T } | { readonly refusals: readonly ErrorCode[] };

export interface ModelSession {
  readonly sessionId: string;
  readonly createdAt: number;
  /** ID of the first record ever appended. */
  readonly begin: number;
  /** Everything ever appended, including pruned records. */
  readonly history: LogEntry[];
  readonly commands: CommandState[];
  readonly owner: string;
  readonly rootId: string;
  title: string | undefined;
  firstId: number;
  /** Set from the log's answer when the session was created. */
  incarnation: string | undefined;
  /** The current lease, expired or not. The epoch comes from the log's answer. */
  lease: { readonly holder: string; expiresAt: number; epoch: number } | undefined;
}

const sizeOf = ({ text }: LogEntry): number => Buffer.byteLength(text);

function refuse(...refusals: readonly ErrorCode[]): { readonly refusals: readonly ErrorCode[] } {
  return { refusals };
}

export class LogModel {
  readonly sessions: ModelSession[] = [];
  readonly #limits: LogLimits;
  readonly #clock: { readonly now: number };

  constructor(limits: LogLimits, clock: { readonly now: number }) {
    this.#limits = limits;
    this.#clock = clock;
  }

  find(sessionId: string): ModelSession | undefined {
    return this.sessions.find((session) => session.sessionId === sessionId);
  }

  create(
    sessionId: string,
    options: { title?: string; firstId?: number; owner?: string; rootId?: string } = {},
  ): Expected<ModelSession> {
    const { title, firstId = 1, owner, rootId = sessionId } = options;
    const known = this.find(sessionId);
    if (known !== undefined)
      return owner === undefined || owner === known.owner ? { value: known } : refuse("session_exists");
    const session: ModelSession = {
      sessionId,
      createdAt: this.#clock.now,
      begin: firstId,
      history: [],
      commands: [],
      owner: owner ?? "local",
      rootId,
      title,
      firstId,
      incarnation: undefined,
      lease: undefined,
    };
    this.sessions.push(session);
    return { value: session };
  }

  delete(sessionId: string): boolean {
    const index = this.sessions.findIndex((session) => session.sessionId === sessionId);
    if (index >= 0) this.sessions.splice(index, 1);
    return index >= 0;
  }

  acquire(sessionId: string, { holder, ttlMs, takeover }: AcquireOptions): Expected<ModelSession> {
    this.create(sessionId);
    const session = this.find(sessionId)!;
    if (this.holderOf(session) !== undefined && takeover !== true) return refuse("lease_held");
    session.lease = { holder, expiresAt: this.#clock.now + ttlMs, epoch: Number.NaN };
    return { value: session };
  }

  renew(sessionId: string, epoch: number, ttlMs: number): Expected<ModelSession> {
    const session = this.find(sessionId);
    if (session === undefined) return refuse("unknown_session");
    if (session.lease?.epoch !== epoch) return refuse("fenced");
    session.lease.expiresAt = this.#clock.now + ttlMs;
    return { value: session };
  }

  release(sessionId: string, epoch: number): void {
    const session = this.find(sessionId);
    if (session?.lease?.epoch === epoch) session.lease = undefined;
  }

  append({ sessionId, epoch, expectedLastId, entries, settle = [] }: Append): Expected<{ lastId: number }> {
    const refusals: ErrorCode[] = [];
    const { maxEventBytes, maxBatchBytes, maxBatchRecords } = this.#limits;
    const bytes = entries.map(sizeOf);
    if (bytes.some((size) => size > maxEventBytes)) refusals.push("event_too_large");
    if (bytes.length > maxBatchRecords || sum(bytes) > maxBatchBytes) refusals.push("batch_too_large");
    const isContiguous = ({ record: { envelope } }: LogEntry, index: number) =>
      envelope.session_id === sessionId && envelope.event_id === expectedLastId + 1 + index;
    if (!entries.every(isContiguous)) refusals.push("conflict");
    const session = this.find(sessionId);
    if (session === undefined) return refuse(...refusals, "unknown_session");
    if (session.lease?.epoch !== epoch) refusals.push("fenced");
    if (refusals.length === 0 && isRetry(session, { expectedLastId, entries, settle }))
      return { value: { lastId: expectedLastId + entries.length } };
    if (lastIdOf(session) !== expectedLastId) refusals.push("conflict");
    const isWaiting = (id: string) => session.commands.some((c) => c.commandId === id && c.outcome === undefined);
    const ids = settle.map(({ commandId }) => commandId);
    if (!ids.every(isWaiting) || new Set(ids).size < ids.length) refusals.push("command_settled");
    if (refusals.length > 0) return refuse(...refusals);
    session.history.push(...entries);
    for (const { commandId, outcome } of settle) {
      const index = session.commands.findIndex((command) => command.commandId === commandId);
      session.commands[index] = { ...session.commands[index]!, outcome };
    }
    return { value: { lastId: lastIdOf(session) } };
  }

  read(sessionId: string, { after, limit = 1e9, maxBytes = 1e9 }: ReadOptions): Expected<readonly string[]> {
    const session = this.find(sessionId);
    if (session === undefined) return refuse("unknown_session");
    if (!Number.isSafeInteger(after) || after < 0) return refuse("cursor_invalid");
    if (after > lastIdOf(session)) return refuse("cursor_ahead");
    if (after + 1 < session.firstId) return refuse("evicted");
    const rest = session.history.slice(after + 1 - session.begin);
    const fits = (count: number) =>
      count <= Math.min(limit, this.#limits.maxPageRecords) &&
      sum(rest.slice(0, count).map(sizeOf)) <= Math.min(maxBytes, this.#limits.maxPageBytes);
    let count = Math.min(1, rest.length);
    while (count < rest.length && fits(count + 1)) count++;
    return { value: rest.slice(0, count).map(({ text }) => text) };
  }

  submit(command: Command, { maxQueued = 100, onlyIfIdle, interrupt }: SubmitOptions = {}): Expected<CommandState> {
    const session = this.find(command.sessionId);
    if (session === undefined) return refuse("unknown_session");
    const find = ({ commandId }: Command) => session.commands.find((state) => state.commandId === commandId);
    const isOther = (one: Command): boolean => {
      const known = find(one);
      return known !== undefined && !(known.kind === one.kind && isDeepStrictEqual(known.body, one.body));
    };
    if (isOther(command)) return refuse("command_conflict");
    const known = find(command);
    if (known !== undefined) return { value: known };
    if (interrupt !== undefined && isOther(interrupt)) return refuse("command_conflict");
    const added = [interrupt, command].filter((one) => one !== undefined).filter((one) => find(one) === undefined);
    const pending = pendingOf(session);
    const refusals: ErrorCode[] = [];
    if (pending.length + added.length > this.#limits.maxPendingCommands) refusals.push("inbox_full");
    if (command.kind === "enqueue") {
      const messages = pending.filter(({ kind }) => kind === "enqueue").length;
      const isBusy = messages > 0 || runsOf(session).some(({ status }) => status === "live");
      if (onlyIfIdle === true && isBusy) refusals.push("run_live");
      if (messages >= maxQueued || 2 * messages >= this.#limits.maxPendingCommands) refusals.push("queue_full");
    }
    if (refusals.length > 0) return refuse(...refusals);
    for (const one of added) session.commands.push({ ...one, createdAt: this.#clock.now, outcome: undefined });
    return { value: find(command)! };
  }

  prune({ maxAgeMs, maxSessionBytes, maxBytes, now = this.#clock.now }: RetentionPolicy): PruneReport {
    const report = { runs: 0, records: 0, bytes: 0 };
    const apply = (session: ModelSession, { lastId, runs }: ModelCut): void => {
      const gone = heldOf(session).slice(0, lastId + 1 - session.firstId);
      session.firstId = lastId + 1;
      report.runs += runs.length;
      report.records += gone.length;
      report.bytes += sum(gone.map(sizeOf));
    };
    for (const session of this.sessions) {
      for (let cut = findCut(session); cut !== undefined; cut = findCut(session)) {
        const isOld = maxAgeMs !== undefined && cut.runs.every(({ endedAt }) => now - endedAt! > maxAgeMs);
        const isLarge = maxSessionBytes !== undefined && bytesOf(session) > maxSessionBytes;
        if (!isOld && !isLarge) break;
        apply(session, cut);
      }
    }
    while (sum(this.sessions.map(bytesOf)) > (maxBytes ?? Number.POSITIVE_INFINITY)) {
      const cuts = this.sessions.flatMap((session) => {
        const cut = findCut(session);
        return cut === undefined ? [] : [{ session, cut, at: Math.max(...cut.runs.map(({ endedAt }) => endedAt!)) }];
      });
      const first = cuts.find(({ at }) => cuts.every((other) => at <= other.at));
      if (first === undefined) break;
      apply(first.session, first.cut);
    }
    return report;
  }

  holderOf({ lease }: ModelSession): string | undefined {
    return lease !== undefined && lease.expiresAt > this.#clock.now ? lease.holder : undefined;
  }

  orphans(): readonly string[] {
    return this.sessions
      .filter((session) => this.holderOf(session) === undefined)
      .filter((session) => pendingOf(session).length > 0 || runsOf(session).some(({ status }) => status === "live"))
      .map(({ sessionId }) => sessionId);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

export function lastIdOf({ begin, history }: ModelSession): number {
  return begin - 1 + history.length;
}

export function heldOf({ history, begin, firstId }: ModelSession): readonly LogEntry[] {
  return history.slice(firstId - begin);
}

export function bytesOf(session: ModelSession): number {
  return sum(heldOf(session).map(sizeOf));
}

export function pendingOf({ commands }: ModelSession): readonly CommandState[] {
  return commands.filter(({ outcome }) => outcome === undefined);
}

function isRetry(
  session: ModelSession,
  batch: Required<Pick<Append, "expectedLastId" | "entries" | "settle">>,
): boolean {
  const { expectedLastId, entries, settle } = batch;
  if (entries.length + settle.length === 0 || expectedLastId + 1 < session.firstId) return false;
  if (expectedLastId + entries.length > lastIdOf(session)) return false;
  const there = session.history.slice(expectedLastId + 1 - session.begin).slice(0, entries.length);
  return (
    there.every(({ text }, index) => text === entries[index]?.text) &&
    settle.every(({ commandId, outcome }) =>
      session.commands.some(
        (command) => command.commandId === commandId && isDeepStrictEqual(command.outcome, outcome),
      ),
    )
  );
}

/** When the session was created or its latest run started or ended. */
export function updatedAtOf(session: ModelSession): number {
  const runs = allRunsOf(session);
  return Math.max(session.createdAt, ...runs.map(({ startedAt }) => startedAt), ...runs.map((run) => run.endedAt ?? 0));
}

/** Runs that are not pruned, in the order they started. */
export function runsOf(session: ModelSession): readonly RunInfo[] {
  return allRunsOf(session).filter(({ lastId }) => lastId === undefined || lastId >= session.firstId);
}

function allRunsOf({ history }: ModelSession): readonly RunInfo[] {
  const names = history.flatMap(({ record }) => record.envelope.run_id ?? []);
  return [...new Set(names)].map((runId) => {
    const records = history.map(({ record }) => record).filter(({ envelope }) => envelope.run_id === runId);
    const { envelope, event } = records[0]!;
    const end = records.find((record) => endOf(record.event) !== undefined);
    const start = event.type === "run_start" ? (event as { request_id?: string; agent?: string }) : undefined;
    return {
      runId,
      firstId: envelope.event_id,
      startedAt: envelope.ts!,
      requestId: start?.request_id,
      agent: start?.agent,
      status: end === undefined ? "live" : endOf(end.event)!.status,
      lastId: end?.envelope.event_id,
      endedAt: end?.envelope.ts,
      code: end === undefined ? undefined : endOf(end.event)!.code,
    };
  });
}

function endOf(event: AnyEvent): { status: RunInfo["status"]; code: string | undefined } | undefined {
  if (event.type === "reply") return { status: "completed", code: undefined };
  const { type, status, code } = event as { type: string; status: RunInfo["status"]; code?: string };
  return type === "run_end" && status !== "completed" ? { status, code } : undefined;
}

export function landmarksOf(session: ModelSession, kind: LandmarkKind): readonly Landmark[] {
  const found: Landmark[] = [];
  for (const { record } of heldOf(session).toReversed()) {
    const event = record.event as { type: string; checkpoint_id?: string; list_id?: string };
    const key = kind === "checkpoint" ? event.checkpoint_id : event.list_id;
    if (event.type !== kind || key === undefined || found.some((known) => known.key === key)) continue;
    found.push({ kind, key, eventId: record.envelope.event_id, runId: record.envelope.run_id });
  }
  return found;
}

interface ModelCut {
  readonly lastId: number;
  readonly runs: readonly RunInfo[];
}

/** Finds the first end of a run that no other run spans. */
function findCut(session: ModelSession): ModelCut | undefined {
  const runs = runsOf(session);
  const ends = runs.flatMap(({ lastId }) => lastId ?? []).sort((a, b) => a - b);
  const isAcross = (run: RunInfo, id: number) => run.firstId <= id && (run.lastId === undefined || run.lastId > id);
  const lastId = ends.find((id) => !runs.some((run) => isAcross(run, id)));
  return lastId === undefined ? undefined : { lastId, runs: runs.filter(({ firstId }) => firstId <= lastId) };
}

/** The record after the last run that ended before the first run live at `id` started. */
export function foldStartOf(session: ModelSession, id: number): number {
  const runs = runsOf(session);
  const going = runs.filter(({ firstId, lastId }) => firstId <= id && (lastId === undefined || lastId > id));
  for (let at = Math.min(id, ...going.map(({ firstId }) => firstId - 1)); at >= session.firstId; at--)
    if (runs.some(({ lastId }) => lastId === at)) return at + 1;
  return session.firstId;
}
