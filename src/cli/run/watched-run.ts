/**
 * A run that is shown, asked about, and cancelled from this process, whichever carries it out.
 *
 * Invariant: it ends with an exit code, and every signal listener of its own is gone again.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../log/index.ts";
import { CliError } from "../command.ts";
import { cutText, wrapText } from "../fit-text.ts";
import { OutputClosed, type Terminal } from "../terminal.ts";
import { Approver } from "./approver.ts";
import { askPerson, findPerson, type Person } from "./ask-person.ts";
import type { Question } from "./open-questions.ts";
import { printFrames } from "./print-frames.ts";
import type { RunOptions } from "./read-run-options.ts";
import { type Outcome, RunFollower } from "./run-follower.ts";
import { RunScreen } from "./run-screen.ts";
import type { SessionKeeper } from "./session-keeper.ts";

/** The run that is meant. */
export interface Target {
  readonly runId: string;
  /** The record after which to read. */
  readonly after: number;
  /** The message's command, where it has not begun. */
  readonly commandId?: string;
}

const EXIT_CODES = { completed: 0, error: 1, waiting: 3, cancelled: 130 };
const OUTPUT_CLOSED = 141;
/** Columns that the reason of a failed run may take, over several lines. */
const MAX_REASON = 4000;
/** How often to ask what became of a message that has not begun. */
const LOOK_MS = 500;
/** A shorter wait is not worth a word. */
const TELL_MS = 500;

export class WatchedRun {
  readonly #log: Log;
  readonly #options: RunOptions;
  readonly #target: Target;
  readonly #keeper: SessionKeeper;
  readonly #terminal: Terminal;
  readonly #stop = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #screen: RunScreen;
  readonly #follower: RunFollower;
  readonly #approver: Approver;
  readonly #person: Person | undefined;
  /** Whoever was to answer here does not any more. */
  #isGone = false;
  #isOutputClosed = false;
  #isOver = false;
  #interrupts = 0;
  #other: string | undefined;

  constructor(
    log: Log,
    options: RunOptions,
    target: Target,
    keeper: SessionKeeper,
    terminal: Terminal,
    person = options.approve === "ask" ? findPerson() : undefined,
  ) {
    const { sessionId, modes } = options;
    this.#log = log;
    this.#options = options;
    this.#target = target;
    this.#keeper = keeper;
    this.#terminal = terminal;
    this.#failed.promise.catch(() => undefined);
    this.#screen = new RunScreen(terminal);
    this.#person = person;
    this.#approver = new Approver({
      log,
      sessionId,
      decide: (question, signal) => this.#decide(question, signal),
      onGone: () => {
        this.#isGone = true;
        void this.#follower.checkQuestions().catch(this.#failed.reject);
      },
      onRefused: ({ name }, message) => this.#say(`the answer for ${cutText(name, 60)} was not taken: ${message}`),
      onFailed: this.#failed.reject,
    });
    this.#follower = new RunFollower({
      log,
      sessionId,
      ...target,
      signal: this.#stop.signal,
      recovered: keeper.ready,
      onRecord: async (record) =>
        modes === undefined ? this.#guard(async () => this.#screen.show(record)) : undefined,
      onOther: ({ envelope: { run_id } }) => {
        if (run_id === undefined || run_id === this.#other || this.#follower.hasBegun) return;
        this.#other = run_id;
        this.#say("another run of this session comes first");
      },
      canGoOn: (neededTools) => !keeper.isHolding || keeper.findMissing(neededTools).length === 0,
      onQuestions: (questions) => {
        const isAnswered = this.#mayAnswer(questions);
        this.#approver.update(isAnswered ? questions : []);
        return isAnswered;
      },
    });
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
        this.#waitForRefusal(),
        this.#keeper.going.then(() => this.#failed.promise),
      ]);
      this.#approver.close();
      if (outcome.kind !== "ended") this.#stop.abort();
      await printing;
      await this.#guard(async () => this.#screen.end());
      return await this.#conclude(outcome);
    } finally {
      this.#stop.abort();
      this.#approver.close();
      this.#person?.close();
      await printing.catch(() => undefined);
      process.off("SIGINT", interrupt).off("SIGTERM", terminate);
    }
  }

  async #conclude(outcome: Outcome): Promise<number> {
    if (this.#isOutputClosed) return OUTPUT_CLOSED;
    if (outcome.kind === "stopped") return EXIT_CODES.cancelled;
    if (outcome.kind === "waiting") {
      this.#tellWaiting(outcome);
      return EXIT_CODES.waiting;
    }
    const { status, reason = "it gave no reason", code } = outcome;
    if (status === "error" && this.#screen.lastError !== reason) {
      const why = `${cutText(reason, MAX_REASON)}${code === undefined ? "" : ` (${code})`}`;
      this.#say(
        wrapText(`${this.#red("loom:")} the run failed: ${why}`, this.#terminal.errorColumns ?? Infinity, "  "),
      );
    }
    await this.#serveOthers();
    return EXIT_CODES[status];
  }

  /** What others have sent to the session meanwhile may have begun already, and would be cut off. */
  async #serveOthers(): Promise<void> {
    this.#isOver = true;
    const timer = setTimeout(() => this.#say("carrying out what others have sent; Ctrl-C leaves it"), TELL_MS);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stop.signal.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([this.#keeper.idle(), promise]);
    clearTimeout(timer);
  }

  async #print(): Promise<void> {
    const { modes, sessionId } = this.#options;
    if (modes === undefined) return;
    await this.#guard(async () =>
      printFrames(this.#log, sessionId, this.#terminal, {
        modes,
        firstId: this.#follower.began,
        signal: this.#stop.signal,
      }),
    );
  }

  /** Nobody reads the output any more: the run is cancelled, and followed to its end without a word. */
  async #guard(write: () => Promise<void>): Promise<void> {
    if (this.#isOutputClosed) return;
    try {
      await write();
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      this.#isOutputClosed = true;
      await this.#cancel("nobody reads the output");
    }
  }

  /** Consent that was given beforehand was given to one run: the questions of another are for a person. */
  #mayAnswer(questions: readonly Question[]): boolean {
    if (this.#isGone) return false;
    if (this.#options.approve === "ask") return this.#person !== undefined;
    return questions.every(({ runId }) => runId === this.#target.runId);
  }

  async #decide(question: Question, signal: AbortSignal) {
    const { approve } = this.#options;
    if (approve === "always") return { decision: "approved" } as const;
    if (approve === "never" || this.#person === undefined)
      return { decision: "rejected", reason: "no tool that needs consent may run here" } as const;
    this.#screen.hold();
    try {
      return await askPerson(this.#person, question, { signal, onInterrupt: () => this.#interrupt() });
    } finally {
      await this.#guard(async () => this.#screen.release());
    }
  }

  /** Told to end, as when a machine goes down: a run that waits for consent can wait without this process. */
  async #terminate(): Promise<void> {
    if (this.#follower.hasBegun && this.#interrupts === 0 && !this.#isOver) {
      this.#isGone = true;
      if (await this.#follower.checkQuestions()) return;
    }
    this.#interrupt();
  }

  #interrupt(): void {
    this.#interrupts++;
    // oxlint-disable-next-line unicorn/no-process-exit -- whoever says so twice does not want to wait for anything
    if (this.#interrupts > 1) process.exit(EXIT_CODES.cancelled);
    if (this.#isOver) {
      this.#stop.abort();
      return;
    }
    this.#approver.close();
    const cancelling = this.#cancel("cancelled by the user");
    // A message whose turn has not come is cancelled when it comes.
    if (this.#follower.hasBegun) this.#say("cancelling; Ctrl-C again ends it at once");
    else void cancelling.then(() => this.#stop.abort());
    cancelling.catch(this.#failed.reject);
  }

  async #cancel(reason: string): Promise<void> {
    const { sessionId } = this.#options;
    const body = { run_id: this.#target.runId, reason };
    await this.#log.submit({ commandId: randomUUID(), sessionId, kind: "cancel", body });
  }

  /** Rejects when the message was refused, so that no run will ever begin. */
  async #waitForRefusal(): Promise<never> {
    const { commandId } = this.#target;
    const { sessionId } = this.#options;
    if (commandId === undefined) return this.#failed.promise;
    while (!this.#follower.hasBegun && !this.#stop.signal.aborted) {
      const { outcome } = (await this.#log.getCommand(sessionId, commandId)) ?? {};
      if (outcome !== undefined && outcome.code !== "done")
        throw new CliError(`the message was refused: ${outcome.message ?? outcome.code}`);
      // It must not keep the process when all is over.
      await pause(LOOK_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
    return this.#failed.promise;
  }

  #tellWaiting({ questions, neededTools }: Extract<Outcome, { kind: "waiting" }>): void {
    for (const { name, callId, runId } of questions)
      this.#say(`${cutText(name, 60)} waits for consent\n  call ${cutText(callId, 80)} of run ${runId}`);
    if (!this.#follower.hasBegun) this.#say("your message comes after it");
    const missing = this.#keeper.findMissing(neededTools);
    if (!this.#follower.canGoOn)
      this.#say(`it cannot go on here without its tools: ${cutText(missing.join(", "), 200)}`);
    this.#say(`the run is left waiting; to go on:\n  ${cutText(this.#options.describeResume(missing), 2000)}`);
  }

  #say(text: string): void {
    this.#screen.line(text);
  }

  #red(text: string): string {
    return this.#terminal.styleError(["red", "bold"], text);
  }
}
