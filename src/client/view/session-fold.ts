/**
 * The view of one session, folded from its records. They must come in order and without doubles; whose job that is
 * says with `sure` whether one before it can be missing.
 *
 * Folds are changed in place, and the immutable view is made when it is asked for: what did not change keeps its
 * identity, and an event costs the same however long the message, the turn or the session.
 */
import {
  type AnyEvent,
  BoundedMap,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  mayLackRun,
} from "../../protocol/index.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { IssueView, SessionView, StreamState, TurnView } from "../view.ts";
import { GrowingList } from "./growing-list.ts";
import { TodoFold } from "./todo-fold.ts";
import { TurnFold } from "./turn-fold.ts";
import { type TurnHost, TurnRoom } from "./turn-room.ts";
import { UniqueKeys } from "./unique-keys.ts";
import { withFields } from "./with-fields.ts";

type TodoEvent = EventOf<"todo_list" | "todo_update">;

export class SessionFold implements TurnHost {
  readonly limits: ReceiverLimits;
  isDead = false;
  /** Turns lie in the order of their times, else as they came. */
  readonly #byTime: boolean;
  readonly #turns = new GrowingList<TurnView>();
  readonly #turnKeys = new UniqueKeys();
  /** By the run's id; the one without a name is under undefined. */
  readonly #live = new Map<string | undefined, TurnFold>();
  readonly #ended: BoundedMap<true>;
  /** The live turn the last record was of. */
  #last: TurnFold | undefined;
  #earlierTurns = 0;
  #madeUnnamed = 0;
  /** The last run without a name ended and had a run_start: what follows without one is out of place. */
  #isSealed = false;
  readonly #todos: TodoFold;
  readonly #others: GrowingList<AnyEvent>;
  readonly #issues = new GrowingList<IssueView>();
  #issueCount = 0;
  #view: SessionView;
  #isStale = false;
  /** More than turns may have changed. */
  #isRestStale = false;
  /** Runs seen at all. */
  runCount = 0;
  /** Of the first run whose end proved that something of it is missing: what. */
  proofFault: string | undefined;
  /** Nothing of any run so far can be missing, of those that are going as far as they came. */
  verified = true;

  constructor(sessionId: string, limits: ReceiverLimits, { byTime = false }: { readonly byTime?: boolean } = {}) {
    this.limits = limits;
    this.#byTime = byTime;
    this.#ended = new BoundedMap(limits.maxTurns);
    const room = new TurnRoom("the session", this);
    this.#todos = new TodoFold(room);
    this.#others = new GrowingList(room, limits.maxIssues);
    this.#view = {
      id: sessionId,
      state: { status: "live", verified: true, cannotKnow: [] },
      turns: this.#turns.show(),
      earlierTurns: 0,
      todoLists: this.#todos.show(),
      others: this.#others.show(),
      issues: this.#issues.show(),
      issueCount: 0,
    };
  }

  /** Runs that are going right now. */
  get liveRuns(): number {
    return this.#live.size;
  }

  /** `sure`: the record's number proves that nothing before it in its stream is missing. */
  apply(record: EventRecord, sure: boolean): void {
    const { envelope, event } = record;
    this.#isStale = true;
    let turn = this.#last;
    if (turn === undefined || turn.runId !== envelope.run_id || event.type === "run_start") {
      turn = this.#turnOf(record);
      if (turn === undefined) return;
      this.#last = turn;
    }
    turn.isStale = true;
    turn.apply(envelope, event, sure);
    if (!turn.proof.holds) this.verified = false;
    if (turn.isOver) this.#end(turn);
  }

  /** The same object as last time where it did not change. */
  setState(state: StreamState): void {
    if (state === this.#view.state) return;
    this.#view = { ...this.#view, state };
    const isDead = state.status === "truncated" || state.status === "failed";
    if (isDead === this.isDead) return;
    this.isDead = isDead;
    this.#isStale = true;
    for (const turn of this.#live.values()) turn.touch();
  }

  addIssue(issue: IssueView): void {
    this.#isStale = true;
    this.#isRestStale = true;
    this.#issueCount++;
    if (this.limits.maxIssues === 0) return;
    if (this.#issues.length >= this.limits.maxIssues) this.#issues.shift();
    this.#issues.push(issue);
  }

  /** The session as it is now; the same object as last time when nothing changed. */
  snapshot(): SessionView {
    if (!this.#isStale) return this.#view;
    this.#isStale = false;
    this.#showLive();
    const turns = this.#turns.show();
    if (this.#isRestStale) {
      this.#isRestStale = false;
      this.#view = withFields<SessionView>(this.#view, {
        turns,
        earlierTurns: this.#earlierTurns,
        todoLists: this.#todos.show(),
        others: this.#others.show(),
        issues: this.#issues.show(),
        issueCount: this.#issueCount,
      });
    } else if (turns !== this.#view.turns) this.#view = { ...this.#view, turns };
    return this.#view;
  }

  /** The turn a record belongs to; undefined where it belongs to none, and then nothing is left to do. */
  #turnOf(record: EventRecord): TurnFold | undefined {
    const { event } = record;
    const { run_id } = record.envelope;
    const starts = event.type === "run_start";
    const live = this.#live.get(run_id);
    if (live !== undefined) {
      if (!starts) return live;
      if (!live.proof.isStarted) {
        this.addIssue({ rule: "run-start-late", message: `other frames of run ${live.key} came before` });
        return live;
      }
      // A run that is started again is another run; the last one was never ended.
      this.#abandon(live, "run-unended", "interrupted", "did not end before the next one began");
    } else if (run_id !== undefined && this.#ended.get(run_id) !== undefined && !starts) {
      return this.#refuse(event);
    } else if (run_id === undefined && !starts) {
      if (mayLackRun(event) || !isKnownEvent(event)) {
        this.#isRestStale = true;
        if (event.type === "todo_list" || event.type === "todo_update") this.takeTodo(event as TodoEvent);
        else this.#others.push(event);
        return undefined;
      }
      if (this.#isSealed) return this.#refuse(event);
    }
    return this.#openTurn(record, starts);
  }

  /** What is not shown is missing. */
  #refuse({ type }: AnyEvent): undefined {
    this.addIssue({ rule: "after-reply", message: `\`${type}\` follows the end of its run` });
    this.verified = false;
  }

  #openTurn(record: EventRecord, starts: boolean): TurnFold {
    if (this.#live.size >= this.limits.maxLiveTurns) {
      const [oldest] = this.#live.values();
      if (oldest !== undefined) {
        const fault = this.#abandon(oldest, "too_many_open", "too_many_open", "was given up: too many were going");
        this.proofFault ??= fault;
      }
    }
    if (starts) this.#isSealed = false;
    // A wire may tell the run's id in its run_start alone.
    const runId = record.envelope.run_id;
    const name = runId ?? (starts ? (record.event as EventOf<"run_start">).run_id : undefined);
    const key = this.#turnKeys.take(name ?? `#${++this.#madeUnnamed}`);
    let index = this.#turns.length;
    const turn = new TurnFold(key, record, this);
    const { startedAt } = turn.first;
    if (this.#byTime && startedAt !== undefined) {
      this.#showLive();
      while ((this.#turns.at(index - 1)?.startedAt ?? startedAt) > startedAt) index--;
      for (const live of this.#live.values()) if (live.number >= index + this.#earlierTurns) live.number++;
    }
    turn.number = index + this.#earlierTurns;
    this.runCount++;
    this.#live.set(runId, turn);
    const isFull = this.#turns.length >= this.limits.maxTurns;
    // In a full list one that began before all others is not shown at all.
    const isShown = index > 0 || !isFull;
    if (isShown) this.#turns.insert(index, turn.first);
    if (isFull) {
      const oldest = isShown ? this.#turns.shift() : turn.first;
      if (oldest !== undefined) this.#turnKeys.release(oldest.key);
      this.#earlierTurns++;
      this.#isRestStale = true;
    }
    return turn;
  }

  takeTodo(event: TodoEvent): boolean {
    this.#isRestStale = true;
    if (event.type === "todo_list") return this.#todos.put(event);
    const fault = this.#todos.update(event);
    if (fault !== undefined) this.addIssue({ rule: "todo-unknown", message: fault });
    return false;
  }

  #abandon(turn: TurnFold, rule: string, code: string, what: string): string {
    const message = `run ${turn.key} ${what}`;
    this.addIssue({ rule, message });
    turn.abandon(code, message);
    this.verified = false;
    this.#end(turn);
    return message;
  }

  /** A turn that is over is shown for the last time: only its view is kept. */
  #end(turn: TurnFold): void {
    this.#live.delete(turn.runId);
    if (turn.runId !== undefined) this.#ended.set(turn.runId, true);
    this.#isSealed = turn.proof.isStarted;
    this.proofFault ??= turn.proofFault;
    if (this.#last === turn) this.#last = undefined;
    this.#showTurn(turn);
  }

  /** A turn that is over was shown for the last time when it ended. */
  #showLive(): void {
    for (const turn of this.#live.values()) if (turn.isStale) this.#showTurn(turn);
  }

  #showTurn(turn: TurnFold): void {
    const index = turn.number - this.#earlierTurns;
    const before = this.#turns.at(index);
    // One that had to make room is no longer shown.
    if (index < 0 || before === undefined) turn.isStale = false;
    else this.#turns.set(index, turn.show(before));
  }
}
