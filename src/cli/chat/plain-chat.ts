/**
 * The chat as plain lines: nothing that was written is changed, and every line says what it is. For screen readers,
 * simple terminals and pipes.
 */
import { createInterface, type Interface } from "node:readline";
import { cleanText } from "../fit-text.ts";
import { type ApprovalDialogue, decideCall, type QuestionOptions } from "../run/prompt-for-approval.ts";
import type { WaitingCall } from "../run/pending-approvals.ts";
import { STOPPED } from "../stop-signals.ts";
import { OUTPUT_CLOSED, OutputClosed, type Terminal } from "../terminal.ts";
import type { ChatBackend } from "./chat-backend.ts";
import { ChatController, type ChatDecision, type ChatSurface, TWICE_MS } from "./chat-controller.ts";
import { PlainTurns } from "./plain-turns.ts";
import type { PaintText } from "../screen/text-rows.ts";

export interface PlainChatOptions {
  readonly backend: ChatBackend;
  readonly terminal: Terminal;
  /** Returns the command that continues the chat. */
  readonly describeChat: (sessionId: string) => string;
  readonly onReady: (report: (text: string) => void) => void;
}

const LEFT_WAITING = 3;
/** Lines are not wrapped here: the terminal or the screen reader does that. */
const LONGEST_LINE = 100_000;

/** The call that is asked about was decided elsewhere, or the input ended. */
const WITHDRAWN = new Error("the question was withdrawn");

export class PlainChat implements ChatSurface {
  readonly width = LONGEST_LINE;
  readonly paint: PaintText;
  readonly keys = [
    ["Enter", "send"],
    ["\\ Enter", "new line"],
    ["Ctrl-C", "cancel the run; twice: leave"],
    ["Ctrl-D", "leave"],
  ] as const;
  readonly #terminal: Terminal;
  readonly #describeChat: PlainChatOptions["describeChat"];
  readonly #controller: ChatController;
  #lines: Interface | undefined;
  readonly #turns = new PlainTurns();
  readonly #left = Promise.withResolvers<number>();
  #question: (PromiseWithResolvers<string> & Pick<QuestionOptions, "answerAtEnd">) | undefined;
  #settled = Promise.withResolvers<void>();
  /** When Ctrl-C was pressed, if no line was entered since. */
  #interruptedAt: number | undefined;
  /** The next line is read: the user is prompted as soon as nothing is under way. */
  #isReading = false;
  #isPrompting = false;
  #isInterrupted = false;

  constructor({ backend, terminal, describeChat, onReady }: PlainChatOptions) {
    this.#terminal = terminal;
    this.#describeChat = describeChat;
    this.paint = terminal.style;
    this.#controller = new ChatController(backend, this);
    onReady((text) => this.#say(text));
  }

  async run(sessionId: string | undefined): Promise<number> {
    const interrupt = (): void => this.#interrupt();
    const end = (): void => this.#left.resolve(STOPPED);
    process.on("SIGINT", interrupt).on("SIGTERM", end).on("SIGHUP", end);
    try {
      const { agentName, modelName = "model of the server" } = this.#controller.backend;
      this.#say(`agent ${agentName}, ${modelName}; /help lists commands`);
      // The user can leave also while the server does not answer.
      const code = await Promise.race([this.#chat(sessionId), this.#left.promise]);
      this.#isReading = false;
      this.#sayHowToContinue(code);
      return code;
    } finally {
      this.#controller.close();
      this.#lines?.close();
      process.off("SIGINT", interrupt).off("SIGTERM", end).off("SIGHUP", end);
    }
  }

  changed(): void {
    const { conversation } = this.#controller;
    const todoLists = conversation.view?.todoLists ?? [];
    for (const turn of conversation.openTurns)
      // The user has just typed it.
      if (this.#terminal.stdin.isTTY && conversation.hasSent(turn.runId)) this.#turns.skipMessage(turn);
    const finished = conversation.takeFinished().flatMap((turn) => this.#turns.finish(turn, todoLists));
    const open = conversation.openTurns.filter((turn) => !conversation.isCancelled(turn));
    this.print([...finished, ...open.flatMap((turn) => this.#turns.describe(turn, todoLists))]);
    this.#reportInterruption(conversation.interruption);
    if (!this.#isWorking) this.#settled.resolve();
    this.#prompt();
  }

  print(rows: readonly string[]): void {
    if (rows.length === 0) return;
    const start = this.#isPrompting ? "\n" : "";
    this.#isPrompting = false;
    this.#write(`${start}${rows.join("\n")}\n`);
    // A note has taken the place of the prompt.
    if (start !== "") this.#prompt();
  }

  switched(): void {
    this.#question?.reject(WITHDRAWN);
  }

  async decide(call: WaitingCall, signal: AbortSignal): Promise<ChatDecision | undefined> {
    const ask: ApprovalDialogue["ask"] = async (prompt, options = {}) => this.#ask(prompt, options, signal);
    try {
      return await decideCall({ ask, say: (text) => this.print([text]) }, call, { mayAllow: true, paint: this.paint });
    } catch (error) {
      if (error !== WITHDRAWN) throw error;
      return undefined;
    }
  }

  #write(text: string): void {
    this.#terminal.write(text).catch((error: unknown) => {
      if (error instanceof OutputClosed) this.#left.resolve(OUTPUT_CLOSED);
      else this.#left.reject(error);
    });
  }

  /** The unfinished run needs tools that are missing here, so nothing is under way. */
  get #isBlocked(): boolean {
    return this.#controller.backend.missingTools.length > 0;
  }

  /** A run or a message is under way, and no question is open. */
  get #isWorking(): boolean {
    const { conversation, isBusy } = this.#controller;
    return this.#question === undefined && !this.#isBlocked && (isBusy || conversation.openTurns.length > 0);
  }

  async #chat(sessionId: string | undefined): Promise<number> {
    if (sessionId !== undefined) await this.#controller.open(sessionId);
    return this.#controller.isClosed ? 0 : this.#readLines();
  }

  async #readLines(): Promise<number> {
    // Opened only now: lines that arrive before they are read would be lost.
    const lines = createInterface({ input: this.#terminal.stdin, terminal: false });
    this.#lines = lines;
    let message = "";
    this.#isReading = true;
    this.#prompt();
    for await (const line of lines) {
      this.#isPrompting = false;
      this.#interruptedAt = undefined;
      if (this.#question !== undefined) this.#question.resolve(line);
      else if (line.endsWith("\\")) {
        message += `${line.slice(0, -1)}\n`;
        continue;
      } else {
        const text = message + line;
        message = "";
        this.#isReading = false;
        if (await this.#controller.submit(text)) return 0;
        this.#isReading = true;
      }
      // A program at the other end of a pipe does not wait for the answer.
      if (!this.#terminal.stdin.isTTY) await this.#settle();
      this.#prompt();
    }
    this.#isReading = false;
    await this.#settle();
    while (this.#question?.answerAtEnd !== undefined) {
      this.#question.resolve(this.#question.answerAtEnd);
      await this.#settle();
    }
    if (this.#question === undefined && !this.#isBlocked) return 0;
    this.#question?.reject(WITHDRAWN);
    return LEFT_WAITING;
  }

  #sayHowToContinue(code: number): void {
    const { conversation, isNewSession } = this.#controller;
    if (isNewSession || code === OUTPUT_CLOSED) return;
    const state = code === LEFT_WAITING ? "the run is left waiting; " : "";
    this.#say(`${state}continue with: ${this.#describeChat(conversation.sessionId)}`);
  }

  /** Resolves when no run is under way, or it waits for the user. */
  async #settle(): Promise<void> {
    // A decision is sent after its question was answered.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#isWorking) {
      this.#settled = Promise.withResolvers();
      await this.#settled.promise;
    }
  }

  async #ask(prompt: string, { prefilled = "", answerAtEnd }: QuestionOptions, signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw WITHDRAWN;
    const question = { ...Promise.withResolvers<string>(), answerAtEnd };
    this.#question = question;
    const withdraw = (): void => question.reject(WITHDRAWN);
    signal.addEventListener("abort", withdraw, { once: true });
    // Lines cannot be filled in beforehand.
    this.print(prefilled === "" ? [prompt.trimEnd()] : [`now: ${prefilled}`, prompt.trimEnd()]);
    this.#settled.resolve();
    try {
      return await question.promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#question = undefined;
    }
  }

  #prompt(): void {
    if (!this.#terminal.stdin.isTTY || !this.#isReading || this.#isPrompting) return;
    if (this.#isWorking || this.#question !== undefined) return;
    this.#isPrompting = true;
    this.#write("you: ");
  }

  #interrupt(): void {
    // The terminal has shown ^C.
    if (this.#terminal.stdin.isTTY && !this.#isPrompting) this.#write("\n");
    const { isBusy } = this.#controller;
    // While a run is live, it may be the next one, and Ctrl-C cancels that.
    if (Date.now() - (this.#interruptedAt ?? -Infinity) < (isBusy ? TWICE_MS : Infinity)) {
      // At a terminal the user has pressed Ctrl-C; otherwise a program has sent the signal.
      this.#left.resolve(this.#terminal.stdin.isTTY ? 0 : STOPPED);
      return;
    }
    this.#interruptedAt = Date.now();
    if (isBusy) this.#controller.interrupt();
    this.print(["press Ctrl-C again to leave"]);
  }

  /** Texts of a server are cleaned, too. */
  #say(text: string): void {
    this.print([cleanText(text)]);
  }

  #reportInterruption(message: string | undefined): void {
    if (message !== undefined && !this.#isInterrupted) this.#say(`connection lost (${message}); connecting again`);
    if (message === undefined && this.#isInterrupted) this.print(["connected again"]);
    this.#isInterrupted = message !== undefined;
  }
}
