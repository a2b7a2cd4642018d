/**
 * Sends commands to a session. A command is written to the log, and the holder of the session executes it. If the
 * session has no holder, the caller opens the session for that purpose.
 */
import { createWakeup } from "../log/create-wakeup.ts";
import type { Command, CommandState, Log } from "../log/log.ts";
import { assertLog } from "../log/rules.ts";
import { isLoomError } from "../protocol/index.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

/** Time between checks without a hint, because hints can be lost. */
const RECHECK_MS = 500;

/** Options of `sendCommand` and `awaitOutcome`. */
export interface SendCommandOptions {
  /** Milliseconds to wait for the outcome. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Stops waiting. The command stays in the log. */
  readonly signal?: AbortSignal;
  /** Options for the session that is opened when it has no holder. */
  readonly session?: SessionOptions;
  /**
   * Makes another part of the program hold the session when it has no holder, instead of opening it. May be called
   * more than once. Its result is ignored.
   */
  readonly ensureHolder?: (sessionId: string) => unknown;
}

/**
 * Sends a command and waits for its outcome.
 *
 * Resolves to the command with its outcome. `outcome` is undefined if the command is still pending: a queued message, a
 * cancel whose run has not started, or a holder that did not respond in time.
 *
 * ```ts
 * const { outcome } = await sendCommand(log, { commandId, sessionId, kind: "cancel", body: { run_id } });
 * ```
 */
export async function sendCommand(log: Log, command: Command, options: SendCommandOptions = {}): Promise<CommandState> {
  assertLog(log);
  const maxQueued = options.session?.maxQueuedRuns;
  return awaitOutcome(log, await log.submit(command, { maxQueued }), options);
}

/** Waits for the outcome of a submitted command; see `sendCommand`. */
export async function awaitOutcome(
  log: Log,
  submitted: CommandState,
  options: SendCommandOptions = {},
): Promise<CommandState> {
  if (submitted.outcome !== undefined) return submitted;
  const { timeoutMs = 10_000, signal } = options;
  const { sessionId, commandId, kind } = submitted;
  const wakeup = createWakeup(signal);
  const unwatch = log.watch(sessionId, wakeup.notify, { hintsOnly: true });
  const deadline = performance.now() + timeoutMs;
  try {
    let state = submitted;
    for (;;) {
      signal?.throwIfAborted();
      wakeup.reset();
      state = (await log.getCommand(sessionId, commandId)) ?? state;
      const left = deadline - performance.now();
      if (state.outcome !== undefined || left <= 0) return state;
      const info = await log.getSession(sessionId);
      if (info?.holder === undefined && options.ensureHolder !== undefined) options.ensureHolder(sessionId);
      else if (info?.holder === undefined) {
        // A message needs an agent, so it waits for a session that has one.
        if (kind === "enqueue") return state;
        const isDone = await processInOwnSession(log, sessionId, options.session);
        if (isDone) return (await log.getCommand(sessionId, commandId)) ?? state;
      }
      await wakeup.wait(Math.min(left, RECHECK_MS));
    }
  } finally {
    unwatch();
    wakeup.close();
  }
}

/** Returns false if another process took the lease and executes the command. */
async function processInOwnSession(log: Log, sessionId: string, options: SessionOptions | undefined): Promise<boolean> {
  try {
    // Sending a command must not end a run that an agent could resume.
    await using session = await openSession(log, sessionId, { deadRuns: "leave", ...options });
    await session.idle();
    return true;
  } catch (error) {
    if (isLoomError(error, "lease_held", "fenced")) return false;
    throw error;
  }
}
