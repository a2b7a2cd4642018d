/** Writes the events of a session directly to the log, without an agent. */
import type { Log } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { describeHolder } from "../../src/log/holder.ts";
import type { LoomEvent } from "../../src/protocol/index.ts";

const HELD_MS = 3_600_000;

export class LogWriter {
  readonly #log: Log;
  readonly #sessionId: string;
  readonly #nodeId: string;
  #epoch = 0;
  #last = 0;
  #runId = "";
  #first = 0;
  #batch: ReturnType<typeof createEntry>[] = [];

  constructor(log: Log, sessionId: string, nodeId = "node-1") {
    this.#log = log;
    this.#sessionId = sessionId;
    this.#nodeId = nodeId;
  }

  async open(): Promise<this> {
    await this.#log.createSession(this.#sessionId);
    const lease = await this.#log.acquire(this.#sessionId, { holder: describeHolder(), ttlMs: HELD_MS });
    this.#epoch = lease.epoch;
    this.#last = lease.lastId;
    return this;
  }

  begin(runId: string, more: Partial<Extract<LoomEvent, { readonly type: "run_start" }>> = {}): void {
    this.#runId = runId;
    this.#first = this.#nextId;
    this.#put({ type: "run_start", agent: "react", contiguous: true, ...more });
  }

  /** Writes events of the run's node. */
  put(...events: readonly LoomEvent[]): void {
    for (const event of events) this.#put(event, this.#nodeId);
  }

  /** Writes an event of the run itself, or of another node run. */
  putAt(nodeId: string | undefined, event: LoomEvent): void {
    this.#put(event, nodeId);
  }

  end(more: Partial<Extract<LoomEvent, { readonly type: "run_end" }>> = {}, answer = ""): void {
    const isCompleted = more.status === undefined || more.status === "completed";
    const last = this.#nextId + (isCompleted ? 1 : 0);
    const proof = { first_event_id: this.#first, last_event_id: last, frame_count: last - this.#first + 1 };
    this.#put({ type: "run_end", status: "completed", summary: {}, ...proof, ...more });
    if (isCompleted) this.#put({ type: "reply", reply: answer });
  }

  async flush(): Promise<void> {
    const entries = this.#batch.splice(0);
    const append = { sessionId: this.#sessionId, epoch: this.#epoch, expectedLastId: this.#last, entries };
    ({ lastId: this.#last } = await this.#log.append(append));
  }

  get #nextId(): number {
    return this.#last + this.#batch.length + 1;
  }

  #put(event: LoomEvent, nodeId?: string): void {
    const place = { session_id: this.#sessionId, run_id: this.#runId, event_id: this.#nextId, ts: Date.now() };
    this.#batch.push(createEntry({ envelope: nodeId === undefined ? place : { ...place, node_id: nodeId }, event }));
  }
}
