/**
 * Checks the life cycle of a stream incrementally. Takes records in order of arrival, from any number of sessions, and
 * reports every broken rule. Memory is bounded, regardless of the length of the stream.
 */
import { BoundedMap } from "../bounded-map.ts";
import { matchRun, runKey, type NamedRun } from "../match-run.ts";
import type { EventOf, EventRecord } from "../record.ts";
import { isTerminal, opensNoRun } from "../record.ts";
import { createIssueFactory, type Issue } from "../rules.ts";
import { LIFECYCLE_RULES, type IssueReporter } from "./lifecycle-rules.ts";
import { RunChecker } from "./run-checker.ts";

const createIssue = createIssueFactory(LIFECYCLE_RULES);

/** Options of a `Verifier`. */
export interface VerifierOptions {
  /** False for dialects that do not report when a tool starts. Default: true. */
  readonly expectsToolStart?: boolean;
}

/** Counts of what was checked so far. */
export interface VerifierTotals {
  sessions: number;
  runs: number;
  spans: number;
  toolCalls: number;
  tokens: number;
}

interface SessionState {
  lastId: number | undefined;
  contiguous: boolean;
  /** IDs of runs that ended. */
  readonly ended: BoundedMap<true>;
  /**
   * True if the last run had a `run_start` and ended: until the next `run_start`, frames without a run ID are errors.
   */
  sealed: boolean;
  remarkedEnvelope: boolean;
  readonly todos: BoundedMap<ReadonlySet<string>>;
}

interface CheckedRun {
  /** Session and run ID of its first record. */
  readonly source: NamedRun;
  readonly run: RunChecker;
}

/** Sessions in memory; the oldest is evicted first. */
const MAX_SESSIONS = 10_000;
/** Over all sessions. */
const MAX_LIVE_RUNS = 10_000;
/** Per session. */
const MAX_ENDED = 100;
const MAX_LISTS = 100;

/**
 * Checks that records keep the life-cycle rules.
 *
 * ```ts
 * const verifier = new Verifier();
 * for (const record of records) report(verifier.check(record));
 * for (const { runId } of verifier.liveRuns()) console.log(`run ${runId} did not end`);
 * ```
 */
export class Verifier {
  readonly #sessions = new BoundedMap<SessionState>(MAX_SESSIONS);
  /** One map for all sessions, so that the limit applies to all of them together. */
  readonly #live = new BoundedMap<CheckedRun>(MAX_LIVE_RUNS);
  readonly #expectsToolStart: boolean;
  readonly totals: VerifierTotals = { sessions: 0, runs: 0, spans: 0, toolCalls: 0, tokens: 0 };

  constructor({ expectsToolStart = true }: VerifierOptions = {}) {
    this.#expectsToolStart = expectsToolStart;
  }

  /** Checks the next record and returns the rules it breaks. */
  check(record: EventRecord): readonly Issue[] {
    const issues: Issue[] = [];
    const report: IssueReporter = (rule, message) => issues.push(createIssue(rule, message));
    const session = this.#sessions.getOrCreate(record.envelope.session_id ?? "", () => this.#openSession());
    if (this.#restartsIds(session, record)) session.lastId = undefined;
    checkIds(session, record, report);
    checkTodos(session, record, report);
    const checked = this.#runOf(session, record, report);
    if (checked === undefined) return issues;
    const { run, source } = checked;
    const before = { spans: run.spans.count, calls: run.tools.count, tokens: run.tokens };
    run.check(record, report);
    this.totals.spans += run.spans.count - before.spans;
    this.totals.toolCalls += run.tools.count - before.calls;
    this.totals.tokens += run.tokens - before.tokens;
    if (isTerminal(record.event)) {
      this.#live.delete(runKey(source.sessionId, run.id));
      const own = this.#sessions.getOrCreate(source.sessionId ?? "", () => this.#openSession());
      if (run.id !== undefined) own.ended.set(run.id, true);
      own.sealed = run.started;
    }
    return issues;
  }

  /** Runs that have not ended. At the end of a stream, these were cut off. */
  *liveRuns(): Generator<{ readonly sessionId: string | undefined; readonly runId: string | undefined }> {
    for (const { source } of this.#live.values()) yield source;
  }

  /** True for a new run of a sender that numbers each run separately. */
  #restartsIds(session: SessionState, { envelope, event }: EventRecord): boolean {
    const { event_id: id, run_id: runId, session_id: sessionId } = envelope;
    if (event.type !== "run_start" || (event as EventOf<"run_start">).contiguous === true) return false;
    if (id === undefined || session.lastId === undefined || id > session.lastId) return false;
    return runId === undefined || !(session.ended.has(runId) || this.#live.has(runKey(sessionId, runId)));
  }

  #openSession(): SessionState {
    this.totals.sessions++;
    return {
      lastId: undefined,
      contiguous: false,
      ended: new BoundedMap(MAX_ENDED),
      sealed: false,
      remarkedEnvelope: false,
      todos: new BoundedMap(MAX_LISTS),
    };
  }

  #runOf(session: SessionState, record: EventRecord, report: IssueReporter): CheckedRun | undefined {
    const { envelope, event } = record;
    const id = envelope.run_id;
    const starts = event.type === "run_start";
    const live = matchRun(record, this.#live);
    if (live === "several") {
      report("session-unmatched", `\`${event.type}\` may belong to several runs; it needs a session_id`);
      return undefined;
    }
    if (live !== undefined) {
      // A second `run_start` without a run ID starts another run; the previous one never ended.
      if (!(starts && id === undefined && live.run.started)) return live;
      report("run-unended", "the previous run has no reply");
    } else if (id !== undefined && session.ended.get(id) !== undefined && !starts) {
      report("after-reply", `run ${id} has ended`);
      return undefined;
    } else if (id === undefined && !starts) {
      if (opensNoRun(event)) return undefined;
      if (session.sealed) {
        report("after-reply", `\`${event.type}\` follows the end of the run without a new run_start`);
        return undefined;
      }
    }
    if (!starts) report("run-start-missing", `the run starts with \`${event.type}\``);
    if (starts) session.sealed = false;
    const run = new RunChecker(id, starts, this.#expectsToolStart);
    this.totals.runs++;
    const checked = { source: { sessionId: envelope.session_id, runId: id }, run };
    this.#live.set(runKey(envelope.session_id, id), checked);
    return checked;
  }
}

function checkIds(session: SessionState, { envelope, event }: EventRecord, report: IssueReporter): void {
  const { event_id: id, prev_event_id: previous } = envelope;
  if (event.type === "run_start") session.contiguous = (event as EventOf<"run_start">).contiguous === true;
  if ((id === undefined || envelope.session_id === undefined) && !session.remarkedEnvelope) {
    session.remarkedEnvelope = true;
    const missing = [id === undefined ? "event_id" : "", envelope.session_id === undefined ? "session_id" : ""].filter(
      Boolean,
    );
    report("envelope-missing", `${missing.join(" and ")} missing: order and completeness cannot be checked`);
  }
  if (id === undefined) return;
  const last = session.lastId;
  session.lastId = Math.max(id, last ?? id);
  if (last === undefined) {
    if (id === 0) report("event-id-zero", "the first event_id is 0");
    return;
  }
  if (id === last) report("event-id-duplicate", `event_id ${id} was already used`);
  else if (id < last) report("event-id-order", `event_id ${id} follows ${last}`);
  else if (previous !== undefined ? previous !== last : id !== last + 1) {
    if (previous !== undefined) report("event-id-gap", `the previous frame should be ${previous}, but it was ${last}`);
    else if (session.contiguous)
      report("event-id-gap", `event_id jumps from ${last} to ${id}; missing frames: ${id - last - 1}`);
    else report("event-id-jump", `event_id jumps from ${last} to ${id}`);
  }
}

function checkTodos(session: SessionState, { event }: EventRecord, report: IssueReporter): void {
  if (event.type === "todo_list") {
    const { list_id, items } = event as EventOf<"todo_list">;
    session.todos.set(list_id, new Set(items.map((item) => item.id)));
  } else if (event.type === "todo_update") {
    const { list_id, item_id } = event as EventOf<"todo_update">;
    const items = session.todos.get(list_id);
    if (items === undefined) report("todo-unknown", `there is no to-do list ${list_id}`);
    else if (!items.has(item_id)) report("todo-unknown", `to-do list ${list_id} has no item ${item_id}`);
  }
}
