/**
 * The incremental checker of a stream's life cycle. It takes records in the order they came, from any number of
 * sessions, and names every rule that is broken. Its memory is bounded, however long the stream.
 */
import { BoundedMap } from "../bounded-map.ts";
import type { EventOf, EventRecord } from "../record.ts";
import { isKnownEvent, isTerminal, mayLackRun } from "../record.ts";
import { createRaise, type Issue } from "../rules.ts";
import { LIFECYCLE_RULES, type Report } from "./rules.ts";
import { RunState } from "./run.ts";

const raise = createRaise(LIFECYCLE_RULES);

export interface VerifierOptions {
  /** False for dialects that do not tell when a tool starts. */
  readonly expectsToolStart?: boolean;
  /** Sessions remembered at once; the one longest untouched is forgotten. */
  readonly maxSessions?: number;
  /** Runs going at once, over all sessions. */
  readonly maxLiveRuns?: number;
}

export interface VerifierTotals {
  sessions: number;
  runs: number;
  spans: number;
  toolCalls: number;
  tokens: number;
}

interface Session {
  lastId: number | undefined;
  contiguous: boolean;
  /** Runs that are over. */
  readonly ended: BoundedMap<true>;
  /** The last run ended and had a run_start: what follows without one is out of place. */
  sealed: boolean;
  remarkedEnvelope: boolean;
  readonly todos: BoundedMap<ReadonlySet<string>>;
}

interface LiveRun {
  readonly sessionId: string | undefined;
  readonly run: RunState;
}

/** No two pairs have the same. */
function liveKey(session: string | undefined, run: string | undefined): string {
  return `${session?.length ?? "-"}:${session ?? ""}${run === undefined ? "-" : `:${run}`}`;
}

/** Of one session. */
const MAX_ENDED = 100;
const MAX_LISTS = 100;

export class Verifier {
  readonly #sessions: BoundedMap<Session>;
  /** Over all sessions: what is held does not multiply. */
  readonly #live: BoundedMap<LiveRun>;
  readonly #options: Required<VerifierOptions>;
  readonly totals: VerifierTotals = { sessions: 0, runs: 0, spans: 0, toolCalls: 0, tokens: 0 };

  constructor({ expectsToolStart = true, maxSessions = 10_000, maxLiveRuns = 10_000 }: VerifierOptions = {}) {
    this.#options = { expectsToolStart, maxSessions, maxLiveRuns };
    this.#sessions = new BoundedMap(maxSessions);
    this.#live = new BoundedMap(maxLiveRuns);
  }

  check(record: EventRecord): readonly Issue[] {
    const issues: Issue[] = [];
    const report: Report = (rule, message) => issues.push(raise(rule, message));
    const session = this.#sessions.getOrCreate(record.envelope.session_id ?? "", () => this.#openSession());
    checkIds(session, record, report);
    checkTodos(session, record, report);
    const run = this.#runOf(session, record, report);
    if (run === undefined) return issues;
    const before = { spans: run.spans.count, calls: run.tools.count, tokens: run.tokens };
    run.check(record, report);
    this.totals.spans += run.spans.count - before.spans;
    this.totals.toolCalls += run.tools.count - before.calls;
    this.totals.tokens += run.tokens - before.tokens;
    if (isTerminal(record.event)) {
      this.#live.delete(liveKey(record.envelope.session_id, run.id));
      if (run.id !== undefined) session.ended.set(run.id, true);
      session.sealed = run.started;
    }
    return issues;
  }

  /** Runs that are still going: at the end of a stream, those that were cut. */
  *liveRuns(): Generator<{ readonly sessionId: string | undefined; readonly runId: string | undefined }> {
    for (const { sessionId, run } of this.#live.values()) yield { sessionId, runId: run.id };
  }

  #openSession(): Session {
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

  #runOf(session: Session, { envelope, event }: EventRecord, report: Report): RunState | undefined {
    const id = envelope.run_id;
    const key = liveKey(envelope.session_id, id);
    const live = this.#live.get(key)?.run;
    const starts = event.type === "run_start";
    if (live !== undefined) {
      // A run without a name that is started again is another run; the last one was never ended.
      if (!(starts && id === undefined && live.started)) return live;
      report("run-unended", "the run before has no reply");
    } else if (id !== undefined && session.ended.get(id) !== undefined && !starts) {
      report("after-reply", `run ${id} is over`);
      return undefined;
    } else if (id === undefined && !starts) {
      if (mayLackRun(event) || !isKnownEvent(event)) return undefined;
      if (session.sealed) {
        report("after-reply", `\`${event.type}\` follows the end of the run, with no run_start between`);
        return undefined;
      }
    }
    if (!starts) report("run-start-missing", `the run begins with \`${event.type}\``);
    if (starts) session.sealed = false;
    const run = new RunState(id, starts, this.#options.expectsToolStart);
    this.totals.runs++;
    this.#live.set(key, { sessionId: envelope.session_id, run });
    return run;
  }
}

function checkIds(session: Session, { envelope, event }: EventRecord, report: Report): void {
  const { event_id: id, prev_event_id: previous } = envelope;
  if (event.type === "run_start") session.contiguous = (event as EventOf<"run_start">).contiguous === true;
  if ((id === undefined || envelope.session_id === undefined) && !session.remarkedEnvelope) {
    session.remarkedEnvelope = true;
    const missing = [id === undefined ? "event_id" : "", envelope.session_id === undefined ? "session_id" : ""].filter(
      Boolean,
    );
    report("envelope-missing", `no ${missing.join(" and no ")}: order and losses cannot be checked`);
  }
  if (id === undefined) return;
  const last = session.lastId;
  session.lastId = Math.max(id, last ?? id);
  if (last === undefined) {
    if (id === 0) report("event-id-zero", "the first event_id is 0");
    return;
  }
  if (id === last) report("event-id-duplicate", `event_id ${id} came before`);
  else if (id < last) report("event-id-order", `event_id ${id} comes after ${last}`);
  else if (previous !== undefined ? previous !== last : id !== last + 1) {
    if (previous !== undefined) report("event-id-gap", `the frame before should have been ${previous}, it was ${last}`);
    else if (session.contiguous)
      report("event-id-gap", `event_id jumps from ${last} to ${id}: ${id - last - 1} missing`);
    else report("event-id-jump", `event_id jumps from ${last} to ${id}`);
  }
}

function checkTodos(session: Session, { event }: EventRecord, report: Report): void {
  if (event.type === "todo_list") {
    const { list_id, items } = event as EventOf<"todo_list">;
    session.todos.set(list_id, new Set(items.map((item) => item.id)));
  } else if (event.type === "todo_update") {
    const { list_id, item_id } = event as EventOf<"todo_update">;
    const items = session.todos.get(list_id);
    if (items === undefined) report("todo-unknown", `there is no list ${list_id}`);
    else if (!items.has(item_id)) report("todo-unknown", `list ${list_id} has no item ${item_id}`);
  }
}
