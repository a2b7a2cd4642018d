/**
 * Sends commands and retries them with the same ID until the server answers or the time limit is reached. The ID makes
 * retries safe. `send` never rejects, even if the transport throws.
 */
import type { ClientCommand, CommandResult, Transport } from "../transport.ts";
import { computeBackoff, type ReconnectOptions } from "./backoff.ts";
import { type Clock, Pause } from "./clock.ts";
import { isTemporaryRefusal } from "./temporary-refusal.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

export interface CommandSenderOptions {
  readonly transport: Transport;
  readonly reconnect: ReconnectOptions;
  /** How long one command is retried, in milliseconds. */
  readonly commandLimitMs: number;
  readonly clock: Clock;
}

/** Sends the commands of one connection. */
export class CommandSender {
  readonly #options: CommandSenderOptions;
  readonly #pauses = new Set<Pause>();
  readonly #closing = new AbortController();
  #wasReachable = false;

  constructor(options: CommandSenderOptions) {
    this.#options = options;
  }

  /** Sends a command. Resolves with its result, or `lost` after the time limit or `close()`. */
  async send(command: ClientCommand): Promise<CommandResult> {
    const { reconnect, commandLimitMs, clock } = this.#options;
    const closing = this.#closing.signal;
    if (closing.aborted) return createLostResult("connection_lost", "The connection was closed");
    const pause = new Pause(clock);
    const late = new AbortController();
    const timer = clock.setTimeout(() => {
      late.abort();
      pause.wake();
    }, commandLimitMs);
    const stop = AbortSignal.any([closing, late.signal]);
    this.#pauses.add(pause);
    let outcome: CommandResult | undefined;
    const giveUp = (): CommandResult =>
      outcome ??
      (closing.aborted
        ? createLostResult("connection_lost", "The connection was closed")
        : createLostResult("command_timeout", `The server did not answer the command within ${commandLimitMs} ms`));
    try {
      for (let sends = 1; ; sends++) {
        outcome = await untilAborted(this.#sendOnce(command, stop), stop, giveUp);
        if (outcome.kind !== "lost" || stop.aborted) return outcome;
        await pause.wait(computeBackoff(sends, reconnect, clock.random(), outcome.retryAfterMs));
        if (stop.aborted) return outcome;
      }
    } finally {
      clock.clearTimeout(timer);
      this.#pauses.delete(pause);
    }
  }

  /** Notes that the server is reachable, and sends waiting commands now. */
  noteReachable(): void {
    this.#wasReachable = true;
    this.wake();
  }

  /** Sends waiting commands now instead of after their delay. */
  wake(): void {
    for (const pause of this.#pauses) pause.wake();
  }

  /** Ends all pending commands as lost. */
  close(): void {
    this.#closing.abort();
    this.wake();
  }

  async #sendOnce(command: ClientCommand, signal: AbortSignal): Promise<CommandResult> {
    try {
      const outcome = await this.#options.transport.send(command, signal);
      const isPassing =
        outcome.kind === "refused" && outcome.isForeign && isTemporaryRefusal(outcome, this.#wasReachable);
      return isPassing ? createLostResult("connection_lost", outcome.message) : outcome;
    } catch (error) {
      // Transports should not throw, but a faulty one must not break the caller.
      return createLostResult("connection_lost", String(error));
    }
  }
}

function createLostResult(code: "connection_lost" | "command_timeout", message: string): CommandResult {
  return { kind: "lost", code, message };
}

/** Creates a random command ID. `randomUUID` is missing on pages that are not served over HTTPS. */
export function createCommandId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
