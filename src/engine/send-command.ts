/**
 * How anybody asks something of a session: the command is written into the log, whoever holds the session carries it
 * out, and where nobody does, the caller holds it for that long.
 */
import type { Command, CommandState, Log } from "../log/log.ts";
import { isLoomError } from "../protocol/index.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

export interface SendCommandOptions {
  /** How long to wait for the outcome. */
  readonly timeoutMs?: number;
  /** Stops the waiting; the command stays where it is. */
  readonly signal?: AbortSignal;
  /** Hints can be lost: how often to look without one. */
  readonly recheckMs?: number;
  /** For the session that is opened where nobody holds it. */
  readonly session?: SessionOptions;
  /** Sees to it that somebody holds the session, where nobody does; the caller then does not. May be called again. */
  readonly attend?: (sessionId: string) => void;
}

/**
 * Resolves to the command with its outcome. The outcome is still undefined where the command goes on waiting: a message
 * whose turn has not come, a cancel whose run has not appeared, or a holder that did not answer in time.
 */
export async function sendCommand(log: Log, command: Command, options: SendCommandOptions = {}): Promise<CommandState> {
  const { timeoutMs = 10_000, recheckMs = 500, signal } = options;
  const { sessionId, commandId } = command;
  let wake: () => void = () => undefined;
  const unwatch = log.watch(sessionId, () => wake(), { hintsOnly: true });
  const stop = (): void => wake();
  signal?.addEventListener("abort", stop);
  const deadline = performance.now() + timeoutMs;
  try {
    let state = await log.submit(command);
    for (;;) {
      signal?.throwIfAborted();
      const hint = new Promise<void>((resolve) => {
        wake = resolve;
      });
      state = (await log.getCommand(sessionId, commandId)) ?? state;
      const left = deadline - performance.now();
      if (state.outcome !== undefined || left <= 0) return state;
      const info = await log.getSession(sessionId);
      if (info?.holder === undefined && options.attend !== undefined) options.attend(sessionId);
      else if (info?.holder === undefined) {
        // A message needs an agent; it waits for a session that has one.
        if (command.kind === "enqueue") return state;
        const isDone = await carryOut(log, sessionId, options.session);
        if (isDone) return (await log.getCommand(sessionId, commandId)) ?? state;
      }
      await waitFor(hint, Math.min(left, recheckMs));
    }
  } finally {
    unwatch();
    signal?.removeEventListener("abort", stop);
  }
}

/** False when somebody else was quicker, and carries it out. */
async function carryOut(log: Log, sessionId: string, options: SessionOptions | undefined): Promise<boolean> {
  try {
    // Whoever only asks must not end what an agent, perhaps just starting again, could go on with.
    await using session = await openSession(log, sessionId, { deadRuns: "leave", ...options });
    await session.idle();
    return true;
  } catch (error) {
    if (isLoomError(error, "lease_held", "fenced")) return false;
    throw error;
  }
}

async function waitFor(hint: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const pause = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([hint, pause]);
  clearTimeout(timer);
}
