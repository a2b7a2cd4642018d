/**
 * Shows a run, asks for approvals and cancels it from this process, whichever process or server runs it.
 *
 * Invariant: it returns an exit code and removes its signal listeners.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionDetails } from "../../server/api/shapes.generated.ts";
import { CliError } from "../command.ts";
import { cleanText, cutColumns, plural, wrapText } from "../fit-text.ts";
import type { SessionService } from "../sessions/session-service.ts";
import { MAX_REASON, SessionScreen } from "../screen/session-screen.ts";
import { OUTPUT_CLOSED, OutputClosed, type Terminal } from "../terminal.ts";
import { Approver } from "./approver.ts";
import { promptForApproval, findPromptTerminal, type PromptTerminal } from "./prompt-for-approval.ts";
import type { WaitingCall } from "./pending-approvals.ts";
import { printFrames } from "./print-frames.ts";
import type { WatchOptions } from "./read-run-options.ts";
import { type FollowOutcome, RunFollower } from "./run-follower.ts";
import type { SessionHolder } from "./session-holder.ts";

/** The run to watch. */
export interface WatchTarget {
  readonly runId: string;
  /** The record after which to start reading. */
  readonly after: number;
  /** Id of the message's command, if the run has not started. */
  readonly commandId?: string;
}

/** Finds the run to resume: the live one, or else the next message. Throws a CliError if there is none. */
export function findUnfinishedRun({ session_id, runs, queued, last_event_id }: SessionDetails): WatchTarget {
  const [latest] = runs;
  if (latest?.status === "live") return { runId: latest.run_id, after: latest.first_event_id - 1 };
  const [next] = queued;
  if (next !== undefined) return { runId: next.run_id, after: last_event_id, commandId: next.command_id };
  const how = latest === undefined ? "it has no runs" : `the last run is ${latest.status}`;
  throw new CliError(`session \`${session_id}\` has no run to resume (${how})`, "send a message instead");
}

/** Whether this process runs the messages of the session. */
export type RunHolder = Pick<SessionHolder, "ready" | "finished" | "isHolding" | "onHolding" | "missingTools" | "idle">;

/** A server runs the messages. */
export const SERVER_HOLDER: RunHolder = {
  ready: Promise.resolve(),
  finished: new Promise(() => undefined),
  isHolding: false,
  onHolding: () => undefined,
  missingTools: [],
  idle: async () => undefined,
};

const EXIT_CODES = { completed: 0, error: 1, waiting: 3, cancelled: 130 };
/** Interval of checks whether a queued message was rejected, in milliseconds. */
const POLL_MS = 500;
const REMOTE_POLL_MS = 5000;
/** Longest wait for the result of a cancel, in milliseconds. */
const CANCEL_WAIT_MS = 1000;
/** Delay before a notice about waiting is shown, in milliseconds. */
const NOTICE_DELAY_MS = 500;
/** Most messages that a notice counts. */
const MAX_COUNTED = 500;

export class WatchedRun {
  readonly #service: SessionService;
  readonly #options: WatchOptions;
  readonly #target: WatchTarget;
  readonly #holder: RunHolder;
  readonly #terminal: Terminal;
  readonly #stop = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #screen: SessionScreen;
  readonly #follower: RunFollower;
  readonly #approver: Approver;
  readonly #promptTerminal: PromptTerminal | undefined;
  /** No further decisions are made here. */
  #isInputClosed = false;
  #isOutputClosed = false;
  #isOver = false;
  #interrupts = 0;
  #other: string | undefined;

  constructor(
    service: SessionService,
    options: WatchOptions,
    target: WatchTarget,
    holder: RunHolder,
    terminal: Terminal,
    promptTerminal = options.approve === "ask" ? findPromptTerminal() : undefined,
  ) {
    const { sessionId, frames } = options;
    this.#service = service;
    this.#options = options;
    this.#target = target;
    this.#holder = holder;
    this.#terminal = terminal;
    this.#failed.promise.catch(() => undefined);
    this.#screen = new SessionScreen(terminal, { isOneRun: true });
    this.#promptTerminal = promptTerminal;
    this.#approver = new Approver({
      service,
      sessionId,
      decide: (call, signal) => this.#decide(call, signal),
      onInputClosed: () => {
        this.#isInputClosed = true;
        void this.#follower.checkApprovals().catch(this.#failed.reject);
      },
      onRefused: ({ name }, message) => this.#say(`the decision on ${cutColumns(name, 60)} was rejected: ${message}`),
      onFailed: this.#failed.reject,
    });
    this.#follower = new RunFollower({
      service,
      sessionId,
      ...target,
      signal: this.#stop.signal,
      recovered: holder.ready,
      onRecord: async (record) =>
        frames === undefined ? this.#guard(async () => this.#screen.show(record)) : undefined,
      onOtherRun: ({ envelope: { run_id } }) => {
        if (run_id === undefined || run_id === this.#other || this.#follower.hasStarted) return;
        this.#other = run_id;
        this.#say("waiting for an earlier run of this session");
      },
      canContinue: () => holder.missingTools.length === 0,
      onInterruption: (message) =>
        this.#say(message === undefined ? "connected again" : `connection lost (${message}); connecting again`),
      onApprovals: (calls) => {
        const isAnswered = this.#mayAnswer(calls);
        this.#approver.update(isAnswered ? calls : []);
        return isAnswered;
      },
    });
    // Nothing is written if this process cannot continue the run, so no record leads to a check.
    holder.onHolding(() => void this.#follower.checkApprovals().catch(this.#failed.reject));
  }

  async watch(): Promise<number> {
    const interrupt = (): void => this.#interrupt();
    const terminate = (): void => void this.#terminate().catch(this.#failed.reject);
    process.on("SIGINT", interrupt).on("SIGTERM", terminate);
    const printing = this.#print();
    printing.catch(this.#failed.reject);
    try {
      const outcome = await Promise.race([
        this.#follower.follow(),
        this.#failed.promise,
        this.#waitForRejection(),
        this.#holder.finished.then(() => this.#failed.promise),
      ]);
      this.#approver.close();
      if (outcome.kind !== "ended") this.#stop.abort();
      await printing;
      await this.#guard(async () => this.#screen.end());
      return await this.#conclude(outcome);
    } finally {
      this.#stop.abort();
      this.#approver.close();
      this.#promptTerminal?.close();
      await printing.catch(() => undefined);
      process.off("SIGINT", interrupt).off("SIGTERM", terminate);
    }
  }

  async #conclude(outcome: FollowOutcome): Promise<number> {
    if (this.#isOutputClosed) return OUTPUT_CLOSED;
    if (outcome.kind === "stopped") return EXIT_CODES.cancelled;
    if (outcome.kind === "waiting") {
      this.#printWaiting(outcome);
      return EXIT_CODES.waiting;
    }
    const { status, reason = "no reason given", code } = outcome;
    if (status === "error" && (this.#options.frames !== undefined || !this.#screen.showsFailures)) {
      const why = `${cutColumns(reason, MAX_REASON)}${code === undefined ? "" : ` (${code})`}`;
      this.#say(
        wrapText(`${this.#red("loom:")} the run failed: ${why}`, this.#terminal.errorColumns ?? Infinity, "  "),
      );
    }
    await this.#finishOtherRuns();
    return EXIT_CODES[status];
  }

  /** Other clients may have sent messages to this session; their runs would be cut off if the process ended now. */
  async #finishOtherRuns(): Promise<void> {
    this.#isOver = true;
    const timer = setTimeout(
      () => this.#say("running messages of other clients; press Ctrl-C to stop"),
      NOTICE_DELAY_MS,
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stop.signal.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([this.#holder.idle(), promise]);
    clearTimeout(timer);
    if (this.#holder.isHolding) await this.#reportOtherRuns();
  }

  /** The answers of other messages are not part of this output. */
  async #reportOtherRuns(): Promise<void> {
    const { items } = await this.#service.listRuns(this.#options.sessionId, { limit: MAX_COUNTED });
    const own = items.findIndex(({ run_id }) => run_id === this.#target.runId);
    const count = items.slice(0, own === -1 ? undefined : own).filter(({ status }) => status !== "live").length;
    if (count === 0) return;
    const show = this.#options.describeCommand("show");
    this.#say(`${plural(count, "queued message")} ran after it; to read the session:\n  ${show}`);
  }

  async #print(): Promise<void> {
    const { frames, sessionId } = this.#options;
    if (frames === undefined) return;
    await this.#guard(async () =>
      printFrames(this.#service, sessionId, this.#terminal, {
        ...frames,
        firstId: this.#follower.firstId,
        signal: this.#stop.signal,
      }),
    );
  }

  /** If standard output is closed, the run is cancelled and followed to its end silently. */
  async #guard(write: () => Promise<void>): Promise<void> {
    if (this.#isOutputClosed) return;
    try {
      await write();
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      this.#isOutputClosed = true;
      await this.#cancel("standard output was closed");
    }
  }

  /** `--approve always` and `never` apply to one run; calls of other runs are left to the user. */
  #mayAnswer(calls: readonly WaitingCall[]): boolean {
    if (this.#isInputClosed) return false;
    if (this.#options.approve === "ask") return this.#promptTerminal !== undefined;
    return calls.every(({ runId }) => runId === this.#target.runId);
  }

  async #decide(call: WaitingCall, signal: AbortSignal) {
    const { approve } = this.#options;
    if (approve === "always") return { decision: "approved" } as const;
    if (approve === "never" || this.#promptTerminal === undefined)
      return { decision: "rejected", reason: "tools that need approval are disabled" } as const;
    this.#screen.hold();
    try {
      return await promptForApproval(this.#promptTerminal, call, { signal, onInterrupt: () => this.#interrupt() });
    } finally {
      await this.#guard(async () => this.#screen.release());
    }
  }

  /** On SIGTERM, a run that waits for approval is left waiting; it needs no process. */
  async #terminate(): Promise<void> {
    if (this.#follower.hasStarted && this.#interrupts === 0 && !this.#isOver) {
      this.#isInputClosed = true;
      if (await this.#follower.checkApprovals()) return;
    }
    this.#interrupt();
  }

  #interrupt(): void {
    this.#interrupts++;
    // oxlint-disable-next-line unicorn/no-process-exit -- a second signal must end the process immediately
    if (this.#interrupts > 1) process.exit(EXIT_CODES.cancelled);
    if (this.#isOver) {
      this.#stop.abort();
      return;
    }
    this.#approver.close();
    const cancelling = this.#cancel("cancelled by the user");
    // A run that has not started is cancelled when it starts.
    if (this.#follower.hasStarted) this.#screen.lastLine("cancelling; press Ctrl-C again to exit immediately");
    else void cancelling.then(() => this.#stop.abort());
    cancelling.catch(this.#failed.reject);
  }

  async #cancel(reason: string): Promise<void> {
    const { sessionId: session } = this.#options;
    const sending = this.#service.send({
      type: "cancel",
      id: randomUUID(),
      session,
      run_id: this.#target.runId,
      reason,
    });
    // The command is stored by then. Its result may have to wait until the run starts.
    const result = await Promise.race([sending, pause(CANCEL_WAIT_MS, undefined, { ref: false })]);
    if (result?.kind === "lost") this.#say(`the run was not cancelled: ${result.message}`);
  }

  /** Rejects if the message was rejected, so that no run will start. */
  async #waitForRejection(): Promise<never> {
    const { runId, commandId } = this.#target;
    const { sessionId } = this.#options;
    if (commandId === undefined) return this.#failed.promise;
    while (!this.#follower.hasStarted && !this.#stop.signal.aborted) {
      const why = await this.#service.findRejection(sessionId, { runId, commandId });
      if (why !== undefined && !this.#follower.hasStarted) throw new CliError(`the message was rejected: ${why}`);
      const ms = this.#service.isRemote ? REMOTE_POLL_MS : POLL_MS;
      // The timer must not keep the process alive.
      await pause(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
    return this.#failed.promise;
  }

  #printWaiting({ calls }: Extract<FollowOutcome, { kind: "waiting" }>): void {
    for (const { name, callId, runId } of calls)
      this.#say(`${cutColumns(name, 60)} is waiting for approval\n  call ${cutColumns(callId, 80)} of run ${runId}`);
    if (!this.#follower.hasStarted) this.#say("your message runs after it");
    const missing = this.#holder.missingTools;
    if (missing.length > 0)
      this.#say(
        `${calls.length === 0 ? "the run" : "it"} needs tools that are not available here: ${cutColumns(missing.join(", "), 200)}`,
      );
    if (this.#promptTerminal === undefined && calls.length > 0) {
      const all = calls.length > 1 ? " --all" : "";
      const decide = this.#options.describeCommand("approve");
      this.#say(`to decide:\n  ${decide} --allow${all}\n  ${decide} --deny${all}`);
    }
    this.#say(`the run is left waiting; to continue it:\n  ${cleanText(this.#options.describeResume(missing))}`);
  }

  #say(text: string): void {
    this.#screen.line(text);
  }

  #red(text: string): string {
    return this.#terminal.styleError(["red", "bold"], text);
  }
}
