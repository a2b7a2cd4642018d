/**
 * Commands that survive a lost connection: asked again, with the same id, until there is an answer or it has taken too
 * long. The id makes that safe. Whatever the transport does, nothing here rejects.
 */
import type { ClientCommand, CommandOutcome, Transport } from "../transport.ts";
import { untilAborted } from "../transport/until-aborted.ts";
import { computePause, type ReconnectOptions } from "./back-off.ts";
import { type Clock, Pause } from "./clock.ts";
import { isPassingRefusal } from "./passing-refusal.ts";

export interface CommandSenderOptions {
  readonly transport: Transport;
  readonly reconnect: ReconnectOptions;
  /** How long one command is asked again. */
  readonly commandLimitMs: number;
  readonly clock: Clock;
}

export class CommandSender {
  readonly #options: CommandSenderOptions;
  readonly #pauses = new Set<Pause>();
  readonly #closing = new AbortController();
  #hasWorked = false;

  constructor(options: CommandSenderOptions) {
    this.#options = options;
  }

  async send(command: ClientCommand): Promise<CommandOutcome> {
    const { reconnect, commandLimitMs, clock } = this.#options;
    const closing = this.#closing.signal;
    if (closing.aborted) return lose("connection_lost", "the connection was closed");
    const pause = new Pause(clock);
    const late = new AbortController();
    const timer = clock.setTimeout(() => {
      late.abort();
      pause.wake();
    }, commandLimitMs);
    const stop = AbortSignal.any([closing, late.signal]);
    this.#pauses.add(pause);
    let outcome: CommandOutcome | undefined;
    const giveUp = (): CommandOutcome =>
      outcome ??
      (closing.aborted
        ? lose("connection_lost", "the connection was closed")
        : lose("command_timeout", `not answered within ${commandLimitMs} ms`));
    try {
      for (let sends = 1; ; sends++) {
        outcome = await untilAborted(stop, this.#ask(command, stop), giveUp);
        if (outcome.kind !== "lost" || stop.aborted) return outcome;
        await pause.wait(computePause(sends, reconnect, clock.random(), outcome.retryAfterMs));
        if (stop.aborted) return outcome;
      }
    } finally {
      clock.clearTimeout(timer);
      this.#pauses.delete(pause);
    }
  }

  /** The server is there: whatever waits to be sent again is sent now. */
  noteHeard(): void {
    this.#hasWorked = true;
    this.wake();
  }

  /** Whatever waits to be sent again is sent now. */
  wake(): void {
    for (const pause of this.#pauses) pause.wake();
  }

  /** Whatever is unanswered is lost. */
  close(): void {
    this.#closing.abort();
    this.wake();
  }

  async #ask(command: ClientCommand, signal: AbortSignal): Promise<CommandOutcome> {
    try {
      const outcome = await this.#options.transport.send(command, signal);
      const isPassing = outcome.kind === "refused" && outcome.isForeign && isPassingRefusal(outcome, this.#hasWorked);
      return isPassing ? lose("connection_lost", outcome.message) : outcome;
    } catch (error) {
      // No transport should throw, but one that does must not make its user handle it.
      return lose("connection_lost", String(error));
    }
  }
}

function lose(code: "connection_lost" | "command_timeout", message: string): CommandOutcome {
  return { kind: "lost", code, message };
}

/** A name nobody else has. Pages that are not served securely have no `randomUUID`. */
export function createCommandId(): string {
  if (typeof globalThis.crypto?.randomUUID === "function") return globalThis.crypto.randomUUID();
  const word = (): string =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  return `${word()}${word()}${word()}${word()}`;
}
