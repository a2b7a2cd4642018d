/**
 * Passes all records of a session to the sequencer: those of its runs, and those outside any run. It checks updates of
 * to-do lists and knows which tools are allowed; both outlive runs.
 */
import type { AcquiredLease, Landmark, Log, LogEntry } from "../log/log.ts";
import { type AnyEvent, type EventOf, LoomError } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { ErrorReporter } from "./error-reporter.ts";
import type { RunHost } from "./run-contract.ts";
import { type EventDraft, type PushResult, type PushOptions, Sequencer } from "./sequencer.ts";
import type { SessionOptions } from "./session-options.ts";

export class SessionRecords implements RunHost {
  readonly sessionId: string;
  readonly sequencer: Sequencer;
  readonly now: () => number;
  readonly onEnd: RunHost["onEnd"];
  readonly #reporter: ErrorReporter;
  readonly #listeners = new Set<(entries: readonly LogEntry[]) => void>();
  #todos = new TodoLists();
  /** Tools that need no approval in this session. */
  #allowed = new Set<string>();

  /** `onFailure` is called when the log fails, and `onEnd` when a run has written its last record. */
  constructor(
    log: Log,
    { sessionId, epoch, lastId, lastTs }: AcquiredLease,
    { now = Date.now, maxBacklogBytes, onCommit }: SessionOptions,
    reporter: ErrorReporter,
    onFailure: (error: LoomError) => void,
    onEnd: RunHost["onEnd"],
  ) {
    this.sessionId = sessionId;
    this.now = now;
    this.onEnd = onEnd;
    this.#reporter = reporter;
    if (onCommit !== undefined) this.#listeners.add(onCommit);
    this.sequencer = new Sequencer({
      log,
      sessionId,
      epoch,
      lastId,
      lastTs,
      now,
      maxBacklogBytes,
      onCommit: (entries) => reporter.notify(this.#listeners, entries),
      onFailure,
    });
  }

  /** Reads the to-do lists and the permissions of tools from the log. Of each kind, the newest is first. */
  async load(log: Log, landmarks: readonly Landmark[]): Promise<void> {
    this.#todos = new TodoLists();
    this.#allowed = new Set();
    for (const { eventId, runId } of landmarks.toReversed()) {
      const { records } = await log.read(this.sessionId, { after: eventId - 1, limit: 1 });
      for (const { event } of records) this.#add({ event, runId });
    }
  }

  /** Tools of which users allowed all calls in the session. */
  get allowedTools(): ReadonlySet<string> {
    return this.#allowed;
  }

  isAllowed(tool: string): boolean {
    return this.#allowed.has(tool);
  }

  /** See `Session.onCommit`. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onRejected(error: unknown): void {
    this.#reporter.reportRejection(error);
  }

  report(error: unknown): string {
    return this.#reporter.report(error);
  }

  /** Accepts the whole unit, or throws and accepts nothing. */
  push(drafts: readonly EventDraft[], options?: PushOptions): PushResult {
    for (const { event } of drafts) this.#todos.assert(event);
    const pushed = this.sequencer.push(drafts, options);
    for (const draft of drafts) this.#add(draft);
    return pushed;
  }

  #add({ event, runId }: EventDraft): void {
    this.#todos.add(event);
    // A run cannot allow its own tools.
    if (event.type !== "tool_permission" || runId !== undefined) return;
    const { name, rule } = event as EventOf<"tool_permission">;
    if (rule === "allow") this.#allowed.add(name.toWellFormed());
    else this.#allowed.delete(name.toWellFormed());
  }
}

/** Only the latest lists; receivers remember no more. */
const MAX_LISTS = 100;

/** The item IDs of a session's to-do lists, so that updates of unknown items are rejected. */
class TodoLists {
  readonly #items = new BoundedMap<ReadonlySet<string>>(MAX_LISTS);

  add(event: AnyEvent): void {
    if (event.type !== "todo_list") return;
    const { list_id, items } = event as EventOf<"todo_list">;
    this.#items.set(list_id, new Set(items.map(({ id }) => id)));
  }

  /** Throws `unknown_todo` for an update of a list or item that does not exist. */
  assert(event: AnyEvent): void {
    if (event.type !== "todo_update") return;
    const { list_id, item_id } = event as EventOf<"todo_update">;
    const items = this.#items.get(list_id);
    if (items === undefined) throw new LoomError("unknown_todo", `There is no to-do list "${list_id}"`, { list_id });
    if (!items.has(item_id))
      throw new LoomError("unknown_todo", `To-do list "${list_id}" has no item "${item_id}"`, { list_id, item_id });
  }
}
