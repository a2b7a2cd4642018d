/**
 * Follows a session until a run ends or waits for an approval that this process cannot give. It only reads records, so
 * any process may run the agent.
 */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { isTerminal } from "../../protocol/record.ts";
import type { SessionService } from "../sessions/session-service.ts";
import { PendingApprovals, type WaitingCall } from "./pending-approvals.ts";

export type FollowOutcome =
  | {
      readonly kind: "ended";
      readonly status: EventOf<"run_end">["status"];
      readonly reason?: string;
      readonly code?: string;
    }
  | {
      readonly kind: "waiting";
      /** None if the run only needs tools that this process lacks. */
      readonly calls: readonly WaitingCall[];
    }
  /** The signal was aborted. */
  | { readonly kind: "stopped" };

export interface RunFollowerOptions {
  readonly service: Pick<SessionService, "getSession" | "followRecords">;
  readonly sessionId: string;
  readonly runId: string;
  /** The record after which to start. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** Resolves when the session is held and recovered after a crash. */
  readonly recovered: Promise<void>;
  /** Receives the records of the run. */
  readonly onRecord: (record: StampedRecord) => Promise<void>;
  /** Receives records of other runs, which come first. */
  readonly onOtherRun: (record: StampedRecord) => void;
  /** Returns false if this process would have to continue the run but lacks tools for it. */
  readonly canContinue: () => boolean;
  /** Receives all calls, of any run, that can be decided now. Returns false if no decision is made here. */
  readonly onApprovals: (calls: readonly WaitingCall[]) => boolean;
  /** Receives why the connection was lost, and undefined when it is back. */
  readonly onInterruption?: (message: string | undefined) => void;
}

export class RunFollower {
  readonly #options: RunFollowerOptions;
  readonly #approvals = new PendingApprovals();
  readonly #firstId = Promise.withResolvers<number | undefined>();
  readonly #blocked = Promise.withResolvers<FollowOutcome>();
  #hasStarted = false;
  #readTo = 0;

  constructor(options: RunFollowerOptions) {
    this.#options = options;
  }

  /** Resolves to the ID of the run's first record, or to undefined if following ends before the run starts. */
  get firstId(): Promise<number | undefined> {
    return this.#firstId.promise;
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  async follow(): Promise<FollowOutcome> {
    try {
      return await Promise.race([this.#read(), this.#blocked.promise]);
    } finally {
      this.#firstId.resolve(undefined);
    }
  }

  /**
   * Checks whether the run waits for a decision that is not made here; also called when the user stops deciding.
   * Returns true if so: the run is left waiting.
   */
  async checkApprovals(): Promise<boolean> {
    const { service, sessionId, recovered, onApprovals } = this.#options;
    // Until then it is unknown which process continues the run.
    await recovered;
    const canContinue = this.#options.canContinue();
    const { waiting } = this.#approvals;
    if (onApprovals(canContinue ? waiting : []) && canContinue) return false;
    // If this process cannot continue the run, nothing else will happen.
    const calls = canContinue ? this.#approvals.listBlocking(Date.now()) : waiting;
    if (canContinue && calls.length === 0) return false;
    if ((await service.getSession(sessionId))?.last_event_id !== this.#readTo) return false;
    this.#blocked.resolve({ kind: "waiting", calls });
    return true;
  }

  async #read(): Promise<FollowOutcome> {
    const { service, sessionId, after, signal, onInterruption } = this.#options;
    // A later record may contain the decision on an earlier call.
    const { last_event_id: caughtUp = 0 } = (await service.getSession(sessionId)) ?? {};
    const request = { after: String(after), follow: true, signal, onInterruption };
    let end: EventOf<"run_end"> | undefined;
    for await (const page of service.followRecords(sessionId, request)) {
      for (const record of page.records) {
        this.#approvals.add(record);
        await this.#deliver(record);
        if (record.envelope.run_id !== this.#options.runId) continue;
        if (record.event.type === "run_end") end = record.event as EventOf<"run_end">;
        if (end !== undefined && isTerminal(record.event)) return describeEnd(end);
      }
      this.#readTo = page.lastId;
      if (page.lastId >= caughtUp) await this.checkApprovals();
    }
    return { kind: "stopped" };
  }

  async #deliver(record: StampedRecord): Promise<void> {
    const { runId, onRecord, onOtherRun } = this.#options;
    const { run_id, event_id } = record.envelope;
    if (run_id === runId && !this.#hasStarted) {
      this.#hasStarted = true;
      this.#firstId.resolve(event_id);
    }
    if (run_id === runId) await onRecord(record);
    else onOtherRun(record);
  }
}

function describeEnd({ status, reason, code }: EventOf<"run_end">): FollowOutcome {
  return { kind: "ended", ...dropUndefined({ status, reason, code }) };
}
