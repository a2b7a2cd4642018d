/** A transport controlled by the test, and a feed whose frames are numbers. */
import { setImmediate } from "node:timers/promises";
import type { StreamFeed } from "../../src/client/connection/reconnecting-stream.ts";
import type {
  ClientCommand,
  CommandResult,
  FrameSink,
  StreamPosition,
  StreamOutcome,
  StreamRequest,
  Transport,
} from "../../src/client/transport.ts";
import type { StreamReason, StreamState } from "../../src/client/view.ts";

export interface OpenCall {
  readonly request: StreamRequest;
  readonly sink: FrameSink;
  readonly signal: AbortSignal;
  /** Delivers the frames from number `from` to `to`. */
  give(from: number, to?: number): void;
  end(outcome: StreamOutcome): Promise<void>;
}

export class ScriptedTransport implements Transport {
  readonly opens: OpenCall[] = [];
  readonly sends: { readonly command: ClientCommand; readonly signal: AbortSignal }[] = [];
  /** Results of commands, in order; the last one is repeated. */
  answers: CommandResult[] = [{ kind: "accepted" }];
  /** Ignores the abort signal. */
  isDeaf = false;

  get last(): OpenCall {
    const call = this.opens.at(-1);
    if (call === undefined) throw new Error("nothing was opened");
    return call;
  }

  open(request: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome> {
    return new Promise((resolve) => {
      if (!this.isDeaf) signal.addEventListener("abort", () => resolve({ kind: "aborted" }));
      this.opens.push({
        request,
        sink,
        signal,
        give(from, to = from) {
          for (let number = from; number <= to; number++) sink.frame(String(number), `c${number}`);
        },
        async end(outcome) {
          resolve(outcome);
          await setImmediate();
        },
      });
    });
  }

  async send(command: ClientCommand, signal: AbortSignal): Promise<CommandResult> {
    this.sends.push({ command, signal });
    const [answer = { kind: "accepted" }] = this.answers;
    if (this.answers.length > 1) this.answers.shift();
    return answer;
  }

  close(): void {
    // Nothing is held.
  }
}

/** A feed for frames numbered from 1; `endsAt` is the last frame of the run. */
export class CountingFeed implements StreamFeed {
  readonly sessionId = "s";
  readonly faults: string[] = [];
  readonly refusals: string[] = [];
  readonly begun: string[] = [];
  /** Every reason passed to `setRepairing`, in order; `undefined` means repaired. */
  readonly repairing: (StreamReason | undefined)[] = [];
  taken: number[] = [];
  endsAt = 3;
  restarts = 0;
  givenUp = 0;
  skippedTo: number | undefined;
  onMissing: (() => void) | undefined;
  onOverflow: (() => void) | undefined;
  readonly #held = new Set<number>();
  #state: StreamState = { status: "live", verified: false, undetectable: [] };

  get position(): StreamPosition {
    const last = this.taken.at(-1);
    return last === undefined ? {} : { after: `c${last}` };
  }

  get frameCount(): number {
    return this.taken.length;
  }

  get runCount(): number {
    return this.taken.length === 0 ? 0 : 1;
  }

  get detectsLoss(): boolean {
    return true;
  }

  get hasLiveRun(): boolean {
    const last = this.taken.at(-1) ?? 0;
    return last > 0 && last < this.endsAt;
  }

  get missing(): { readonly count: number | undefined } | undefined {
    if (this.#held.size === 0) return undefined;
    return { count: Math.min(...this.#held) - this.#next };
  }

  get state(): StreamState {
    return this.#state;
  }

  get #next(): number {
    return (this.taken.at(-1) ?? 0) + 1;
  }

  take(text: string): void {
    const number = Number(text);
    if (number < this.#next) return;
    const wasMissing = this.#held.size > 0;
    this.#held.add(number);
    while (this.#held.delete(this.#next)) this.taken.push(this.#next);
    if (!wasMissing && this.#held.size > 0) this.onMissing?.();
  }

  confirmStart(): boolean {
    return true;
  }

  fault(message: string): void {
    this.faults.push(message);
  }

  refuse(message: string): void {
    this.refusals.push(message);
  }

  begin(cursor: string): void {
    this.begun.push(cursor);
  }

  setRepairing(reason: StreamReason | undefined): void {
    this.repairing.push(reason);
  }

  skipTo(eventId: number): void {
    this.skippedTo = eventId;
    this.taken.push(eventId - 1);
  }

  giveUp(): void {
    this.givenUp++;
    this.taken.push(...[...this.#held].sort((a, b) => a - b));
    this.#held.clear();
  }

  restart(): void {
    this.restarts++;
    this.taken = [];
    this.#held.clear();
  }

  finish(): void {
    this.#leave(this.hasLiveRun || this.taken.length === 0 ? "truncated" : "complete");
  }

  fail(reason: StreamReason): void {
    this.#leave("failed", reason);
  }

  #leave(status: StreamState["status"], reason?: StreamReason): void {
    if (this.#state.status !== "live") throw new Error("the feed has already ended");
    this.#state = { status, verified: false, undetectable: [], ...(reason !== undefined && { reason }) };
  }
}
