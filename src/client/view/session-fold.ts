/**
 * Folds the records of one session into its view. Records must arrive in order and without duplicates; `sure` tells
 * whether one may be missing before a record.
 *
 * Folds are mutable, and the immutable view is created on demand: unchanged parts keep their identity, and an event
 * costs the same however long the message, turn or session is.
 */
import type { AnyEvent, EventOf, EventRecord } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { opensNoRun } from "../../protocol/record.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { IssueView, SessionView, StreamState, TurnView } from "../view.ts";
import { DecisionFold } from "./decision-fold.ts";
import { GrowingList } from "./growing-list.ts";
import { TodoFold } from "./todo-fold.ts";
import { TurnFold } from "./turn-fold.ts";
import { type TurnHost, TurnQuota } from "./turn-quota.ts";
import { UniqueKeys } from "./unique-keys.ts";
import { withFields } from "./with-fields.ts";

type TodoEvent = EventOf<"todo_list" | "todo_update">;

export class SessionFold implements TurnHost {
  readonly limits: ReceiverLimits;
  isStreamOver = false;
  /** Order turns by start time instead of arrival. */
  readonly #byTime: boolean;
  readonly #turns = new GrowingList<TurnView>();
  readonly #turnKeys = new UniqueKeys();
  /** Live turns by run ID; a run without an ID is under undefined. */
  readonly #live = new Map<string | undefined, TurnFold>();
  readonly #ended: BoundedMap<true>;
  /** The live turn of the last record. */
  #last: TurnFold | undefined;
  #earlierTurns = 0;
  #unnamedCount = 0;
  /**
   * The last run without an ID had a run_start and has ended, so further records without a run_start are out of place.
   */
  #isUnnamedRunEnded = false;
  readonly #todos: TodoFold;
  readonly #decisions: DecisionFold;
  readonly #others: GrowingList<AnyEvent>;
  readonly #issues = new GrowingList<IssueView>();
  #issueCount = 0;
  #view: SessionView;
  #isStale = false;
  /** Something other than turns may have changed. */
  #areOtherFieldsStale = false;
  /** Number of runs received so far. */
  runCount = 0;
  /** The mismatch found at the end of the first incomplete run. */
  proofFault: string | undefined;
  /** True while no record of any run can be missing. */
  verified = true;

  constructor(sessionId: string, limits: ReceiverLimits, { byTime = false }: { readonly byTime?: boolean } = {}) {
    this.limits = limits;
    this.#byTime = byTime;
    this.#ended = new BoundedMap(limits.maxTurns);
    const quota = new TurnQuota("the session", this);
    this.#todos = new TodoFold(quota);
    this.#decisions = new DecisionFold(quota.maxItems);
    this.#others = new GrowingList(quota, limits.maxIssues);
    this.#view = {
      id: sessionId,
      state: { status: "live", verified: true, undetectable: [] },
      turns: this.#turns.show(),
      earlierTurns: 0,
      todoLists: this.#todos.show(),
      others: this.#others.show(),
      issues: this.#issues.show(),
      issueCount: 0,
    };
  }

  /** Number of live runs. */
  get liveRuns(): number {
    return this.#live.size;
  }

  /** Applies a record. `sure` is true if its number proves that nothing before it is missing. */
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

  /** Sets the stream state. Pass the same object if it is unchanged. */
  setState(state: StreamState): void {
    if (state === this.#view.state) return;
    this.#view = { ...this.#view, state };
    const isDead = state.status === "truncated" || state.status === "failed";
    if (isDead === this.isStreamOver) return;
    this.isStreamOver = isDead;
    this.#isStale = true;
    for (const turn of this.#live.values()) turn.touch();
  }

  addIssue(issue: IssueView): void {
    this.#isStale = true;
    this.#areOtherFieldsStale = true;
    this.#issueCount++;
    if (this.limits.maxIssues === 0) return;
    if (this.#issues.length >= this.limits.maxIssues) this.#issues.shift();
    this.#issues.push(issue);
  }

  /** Returns the current view; the same object as before if nothing changed. */
  snapshot(): SessionView {
    if (!this.#isStale) return this.#view;
    this.#isStale = false;
    this.#showLive();
    const turns = this.#turns.show();
    if (this.#areOtherFieldsStale) {
      this.#areOtherFieldsStale = false;
      this.#view = withFields<SessionView>(this.#view, {
        turns,
        earlierTurns: this.#earlierTurns,
        todoLists: this.#todos.show(),
        allowedTools: this.#decisions.allowedTools,
        feedback: this.#decisions.feedback,
        others: this.#others.show(),
        issues: this.#issues.show(),
        issueCount: this.#issueCount,
      });
    } else if (turns !== this.#view.turns) this.#view = { ...this.#view, turns };
    return this.#view;
  }

  /** Returns the turn of a record, or undefined if it belongs to none and is already handled. */
  #turnOf(record: EventRecord): TurnFold | undefined {
    const { event } = record;
    const { run_id } = record.envelope;
    const starts = event.type === "run_start";
    const live = this.#live.get(run_id);
    if (live !== undefined) {
      if (!starts) return live;
      if (!live.proof.isStarted) {
        this.addIssue({
          rule: "run-start-late",
          message: `run_start of run ${live.key} arrived after other frames of the run`,
        });
        return live;
      }
      // A repeated run_start begins another run; the previous one never ended.
      this.#abandon(live, "run-unended", "interrupted", "did not end before the next run_start");
    } else if (run_id !== undefined && this.#ended.get(run_id) !== undefined && !starts) {
      return this.#refuse(event);
    } else if (run_id === undefined && !starts) {
      if (opensNoRun(event)) {
        this.#areOtherFieldsStale = true;
        if (event.type === "todo_list" || event.type === "todo_update") this.takeTodo(event as TodoEvent);
        else if (event.type === "tool_permission" || event.type === "feedback")
          this.#decisions.apply(event as EventOf<"tool_permission" | "feedback">);
        else this.#others.push(event);
        return undefined;
      }
      if (this.#isUnnamedRunEnded) return this.#refuse(event);
    }
    return this.#openTurn(record, starts);
  }

  /** Ignores an event after the end of its run. Since it is not shown, the view is incomplete. */
  #refuse({ type }: AnyEvent): undefined {
    this.addIssue({ rule: "after-reply", message: `\`${type}\` arrived after the end of its run` });
    this.verified = false;
  }

  #openTurn(record: EventRecord, starts: boolean): TurnFold {
    if (this.#live.size >= this.limits.maxLiveTurns) {
      const [oldest] = this.#live.values();
      if (oldest !== undefined) {
        const fault = this.#abandon(oldest, "too_many_open", "too_many_open", "was given up: too many live runs");
        this.proofFault ??= fault;
      }
    }
    if (starts) this.#isUnnamedRunEnded = false;
    // Some dialects name the run only in its run_start.
    const runId = record.envelope.run_id;
    const name = runId ?? (starts ? (record.event as EventOf<"run_start">).run_id : undefined);
    const key = this.#turnKeys.take(name ?? `#${++this.#unnamedCount}`);
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
    // In a full list, a turn older than all others is not shown.
    const isShown = index > 0 || !isFull;
    if (isShown) this.#turns.insert(index, turn.first);
    if (isFull) {
      const oldest = isShown ? this.#turns.shift() : turn.first;
      if (oldest !== undefined) this.#turnKeys.release(oldest.key);
      this.#earlierTurns++;
      this.#areOtherFieldsStale = true;
    }
    return turn;
  }

  takeTodo(event: TodoEvent): boolean {
    this.#areOtherFieldsStale = true;
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

  /** Ends a turn. Only its final view is kept. */
  #end(turn: TurnFold): void {
    this.#live.delete(turn.runId);
    if (turn.runId !== undefined) this.#ended.set(turn.runId, true);
    this.#isUnnamedRunEnded = turn.proof.isStarted;
    this.proofFault ??= turn.proofFault;
    if (this.#last === turn) this.#last = undefined;
    this.#showTurn(turn);
  }

  /** Updates the view of live turns; ended ones are final. */
  #showLive(): void {
    for (const turn of this.#live.values()) if (turn.isStale) this.#showTurn(turn);
  }

  #showTurn(turn: TurnFold): void {
    const index = turn.number - this.#earlierTurns;
    const before = this.#turns.at(index);
    // The turn was removed because of the limit.
    if (index < 0 || before === undefined) turn.isStale = false;
    else this.#turns.set(index, turn.show(before));
  }
}
