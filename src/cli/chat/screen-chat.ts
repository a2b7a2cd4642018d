/**
 * The chat on a terminal that can move the cursor. Finished turns are printed once; only the live turn, the status and
 * the input are drawn again.
 */
import type { TurnView } from "../../client/index.ts";
import { cleanText, plural } from "../fit-text.ts";
import { type ApprovalDialogue, decideCall } from "../run/prompt-for-approval.ts";
import type { WaitingCall } from "../run/pending-approvals.ts";
import type { ChatBackend } from "./chat-backend.ts";
import { ChatController, type ChatDecision, type ChatSurface, TWICE_MS } from "./chat-controller.ts";
import { composeChatRows } from "./chat-rows.ts";
import { InputEditor } from "./input-editor.ts";
import type { InputHistory } from "./input-history.ts";
import { InputKeys, type KeyAction, type NamedAction } from "./input-keys.ts";
import { LiveScreen } from "./live-screen.ts";
import { listCompletions, readSlashInput } from "./slash-commands.ts";
import { type PaintText, wrapRows, paintRow } from "../screen/text-rows.ts";
import { TurnRows } from "../screen/turn-rows.ts";
import { TurnWriter } from "../screen/turn-writer.ts";

export interface ScreenChatOptions {
  readonly backend: ChatBackend;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly paint: PaintText;
  readonly history: InputHistory;
  /** Returns the command that continues the chat. */
  readonly describeChat: (sessionId: string) => string;
  /** Notes of the backend, before and while the chat is shown. */
  readonly onReady: (report: (text: string) => void) => void;
}

/** Shortest time between two drawings, in milliseconds: a fast model sends many tokens per second. */
const DRAW_MS = 50;
const PROMPT = "› ";
/** Half of the time after which the chat is drawn again if Ctrl-Z suspended nothing, in milliseconds. */
const SUSPEND_MS = 100;
/** Rows that details of a question leave for the turn, the status and the input. */
const DETAILS_MARGIN = 8;

/** A question to the user, which takes the place of the message. */
interface OpenQuestion {
  readonly prompt: string;
  readonly answer: PromiseWithResolvers<string>;
  /** What the user was writing before. */
  readonly draft: string;
  /** The user edits a text, and cancels with an empty one. */
  readonly isEdit: boolean;
}

export class ScreenChat implements ChatSurface {
  readonly paint: PaintText;
  readonly keys = [
    ["Enter", "send"],
    ["Alt+Enter, \\ Enter", "new line"],
    ["Up, Down", "earlier messages"],
    ["Tab", "complete a command"],
    ["Escape", "clear the answer to a question, or cancel the edit of arguments"],
    ["Ctrl-C", "cancel the run, clear the input; twice: leave"],
    ["Ctrl-D", "leave"],
    ["Ctrl-Z", "suspend the chat; `fg` in the shell continues it"],
  ] as const;
  readonly #stdin: NodeJS.ReadStream;
  readonly #stdout: NodeJS.WriteStream;
  readonly #history: InputHistory;
  readonly #describeChat: ScreenChatOptions["describeChat"];
  readonly #screen: LiveScreen;
  readonly #editor = new InputEditor();
  readonly #controller: ChatController;
  readonly #left = Promise.withResolvers<number>();
  #rows: TurnRows;
  /** The turns that are not finished. */
  #writers = new Map<string, TurnWriter>();
  #question: OpenQuestion | undefined;
  /** Rows of the first turn that is not finished. */
  #openRows: readonly string[] = [];
  /** Rows about the call that is asked about. */
  #details: readonly string[] = [];
  #notice: string | undefined;
  /** When the last key was pressed, if it was Ctrl-C. */
  #interruptedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #clock: NodeJS.Timeout | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  /** The session that is being opened at the start. */
  #openingId: string | undefined;
  /** Enter was pressed while the session was being opened. */
  #isEnteredEarly = false;
  #isOver = false;

  constructor({ backend, stdin, stdout, paint, history, describeChat, onReady }: ScreenChatOptions) {
    this.#describeChat = describeChat;
    this.paint = paint;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#history = history;
    this.#screen = new LiveScreen(stdout);
    this.#rows = this.#createRows();
    this.#controller = new ChatController(backend, this);
    onReady((text) => this.#say(text));
  }

  get width(): number {
    return this.#screen.width;
  }

  /** Resolves to the exit code when the user leaves. */
  async run(sessionId: string | undefined): Promise<number> {
    const resize = (): void => this.#resize();
    const end = (): void => this.#leave(130);
    // Also after an uncaught error, the terminal must be usable.
    const restore = (): void => this.#restore();
    const resume = (): void => this.#resume();
    process.on("exit", restore).on("SIGTERM", end).on("SIGHUP", end).on("SIGCONT", resume);
    this.#stdout.on("resize", resize);
    const keys = new InputKeys(this.#stdin, (action) => this.#take(action));
    try {
      this.#openingId = sessionId;
      this.#say("/help lists commands");
      // The user can leave also while the server does not answer.
      const opened = sessionId === undefined ? undefined : this.#controller.open(sessionId);
      const code = await Promise.race([opened, this.#left.promise]);
      if (code !== undefined) return code;
      this.#openingId = undefined;
      this.#enterEarly();
      this.#draw();
      return await this.#left.promise;
    } finally {
      this.#isOver = true;
      this.#controller.close();
      clearTimeout(this.#timer);
      clearInterval(this.#clock);
      clearTimeout(this.#wakeTimer);
      this.#stdout.off("resize", resize);
      keys[Symbol.dispose]();
      this.#restore();
      process.off("exit", restore).off("SIGTERM", end).off("SIGHUP", end).off("SIGCONT", resume);
      this.#sayGoodbye();
    }
  }

  changed(): void {
    // Finished turns are printed at once, so that no other row comes before them.
    this.#timer ??= setTimeout(() => this.#draw(), DRAW_MS);
  }

  print(rows: readonly string[]): void {
    if (!this.#isOver) this.#draw(rows);
  }

  switched(): void {
    this.#endQuestion();
    this.#rows = this.#createRows();
    this.#writers.clear();
    this.#openRows = [];
  }

  async decide(call: WaitingCall, signal: AbortSignal): Promise<ChatDecision | undefined> {
    const ask: ApprovalDialogue["ask"] = async (prompt, { prefilled = "" } = {}) =>
      this.#ask(prompt, prefilled, signal);
    const say = (text: string): void => this.#addDetails(text);
    try {
      return await decideCall({ ask, say }, call, { mayAllow: true, paint: (_style, text) => text });
    } catch (error) {
      if (error !== WITHDRAWN) throw error;
      return undefined;
    } finally {
      this.#details = [];
    }
  }

  /** Shows a line about the question below the turn, or above it if there is no room. */
  #addDetails(text: string): void {
    this.#details = [...this.#details, ...this.#wrap(text)];
    if (this.#details.length <= this.#screen.height - DETAILS_MARGIN) return;
    const rows = this.#details;
    this.#details = [];
    this.print(rows);
  }

  async #ask(prompt: string, prefilled: string, signal: AbortSignal): Promise<string> {
    if (signal.aborted || this.#isOver) throw WITHDRAWN;
    const isEdit = prefilled !== "";
    const question = { prompt, answer: Promise.withResolvers<string>(), draft: this.#editor.text, isEdit };
    this.#question = question;
    this.#editor.set(prefilled);
    const withdraw = (): void => question.answer.reject(WITHDRAWN);
    signal.addEventListener("abort", withdraw, { once: true });
    this.#draw();
    try {
      return await question.answer.promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#question = undefined;
      this.#editor.set(question.draft);
      this.changed();
    }
  }

  #endQuestion(): void {
    this.#question?.answer.reject(WITHDRAWN);
  }

  #take(action: KeyAction): void {
    if (this.#isOver) return;
    if (action.kind === "suspend") {
      this.#suspend();
      return;
    }
    this.#notice = undefined;
    if (action.kind === "interrupt") this.#interrupt();
    else this.#interruptedAt = undefined;
    if (action.kind === "insert") this.#editor.insert(action.text);
    else if (action.kind === "paste") this.#editor.paste(action.text);
    else if (action.kind !== "interrupt") this.#act(action.kind);
    if (!this.#isOver) this.#draw();
  }

  #act(action: NamedAction): void {
    const editor = this.#editor;
    switch (action) {
      case "enter":
        this.#enter();
        break;
      case "newline":
        editor.insert("\n");
        break;
      case "up":
      case "down":
        this.#moveRow(action === "up" ? -1 : 1);
        break;
      case "complete":
        this.#complete();
        break;
      case "escape":
        if (this.#question?.isEdit === true) this.#question.answer.resolve("");
        else if (this.#question !== undefined) editor.clear();
        break;
      case "redraw":
        this.#screen.clear();
        break;
      case "close":
        if (editor.isEmpty) this.#leave(0);
        else editor.delete();
        break;
      default:
        EDITS[action]?.(editor);
    }
  }

  #enter(): void {
    const text = this.#editor.text;
    if (this.#openingId !== undefined) {
      this.#isEnteredEarly = true;
      this.#editor.insert("\n");
      return;
    }
    if (this.#question !== undefined) {
      this.#question.answer.resolve(text);
      return;
    }
    if (this.#editor.head.endsWith("\\")) {
      this.#editor.backspace();
      this.#editor.insert("\n");
      return;
    }
    if (text.trim() === "" && this.#controller.files.length === 0) return;
    this.#editor.clear();
    if (readSlashInput(text) === undefined) this.#history.add(text);
    else {
      this.#history.leave();
      this.#say(text);
    }
    void this.#controller.submit(text).then((isLeaving) => {
      if (isLeaving) this.#leave(0);
      else this.#draw();
    });
  }

  /** Sends what was entered before the session was open, but never as the answer to a question not yet seen. */
  #enterEarly(): void {
    const { text } = this.#editor;
    if (!this.#isEnteredEarly || this.#question !== undefined || !text.endsWith("\n")) return;
    this.#editor.set(text.trimEnd());
    this.#enter();
  }

  #moveRow(direction: -1 | 1): void {
    if (this.#editor.moveRow(direction, this.width - PROMPT.length - 1) || this.#question !== undefined) return;
    const text = this.#history.move(direction, this.#editor.text);
    if (text !== undefined) this.#editor.set(text);
  }

  #complete(): void {
    const found = listCompletions(this.#editor.head);
    const [first] = found;
    if (first === undefined) return;
    // Completes as far as all commands agree.
    let end = first.name.length;
    while (!found.every(({ name }) => name.startsWith(first.name.slice(0, end)))) end--;
    const isSure = found.length === 1;
    this.#editor.set(`/${first.name.slice(0, end)}${isSure && first.argument !== undefined ? " " : ""}`);
  }

  /** The first Ctrl-C cancels the run or clears the input, the second leaves. */
  #interrupt(): void {
    this.#forgetInterrupt();
    const isSecond = this.#interruptedAt !== undefined;
    if (isSecond && this.#question === undefined) {
      this.#leave(0);
      return;
    }
    this.#interruptedAt = Date.now();
    if (this.#question !== undefined && !isSecond) {
      this.#editor.clear();
      this.#notice = "press Ctrl-C again to cancel the run, or answer";
    } else {
      this.#notice = "press Ctrl-C again to leave";
      // The end of the run withdraws its question.
      if (this.#controller.isBusy) this.#controller.interrupt();
      else this.#editor.clear();
    }
  }

  /** The next run may be live by now, and Ctrl-C cancels that. */
  #forgetInterrupt(): void {
    if (this.#question !== undefined || !this.#controller.isBusy) return;
    if (Date.now() - (this.#interruptedAt ?? Infinity) < TWICE_MS) return;
    this.#interruptedAt = undefined;
    this.#notice = undefined;
  }

  #resize(): void {
    this.#rows = this.#createRows();
    this.#openRows = [];
    this.#draw();
  }

  /** Suspends all processes of the job, as the terminal does without raw mode. */
  #suspend(): void {
    if (process.platform === "win32") return;
    this.#screen.suspend();
    this.#stdin.setRawMode(false);
    process.kill(0, "SIGTSTP");
    // Without job control nothing is suspended, and no SIGCONT follows. After `fg` it comes before the second timer.
    this.#wakeTimer = setTimeout(() => {
      this.#wakeTimer = setTimeout(() => this.#resume(), SUSPEND_MS);
    }, SUSPEND_MS);
  }

  /** After `fg`: the shell has changed the modes of the terminal, which Node does not notice. */
  #resume(): void {
    clearTimeout(this.#wakeTimer);
    if (this.#isOver) return;
    this.#stdin.setRawMode(false).setRawMode(true);
    this.#screen.resume();
    this.#draw();
  }

  /** Draws the live rows below the turns that ended and the given rows. */
  #draw(printed: readonly string[] = []): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#forgetInterrupt();
    const { conversation, files } = this.#controller;
    const todoLists = conversation.view?.todoLists ?? [];
    const write = (turn: TurnView, isOver: boolean) => this.#writerOf(turn).next(turn, todoLists, this.#rows, isOver);
    const finished = conversation.takeFinished().flatMap((turn) => {
      const { settled } = write(turn, true);
      this.#writers.delete(turn.key);
      return settled;
    });
    const { liveTurn, openTurns, interruption } = conversation;
    // A later turn is printed when the one before it has ended.
    const [first] = openTurns;
    const isStill = first !== undefined && conversation.isCancelled(first);
    const written = first === undefined || isStill ? { settled: [], open: [] } : write(first, false);
    if (!isStill) this.#openRows = written.open;
    const { rows, cursor } = composeChatRows({
      width: this.width,
      height: this.#screen.height,
      paint: this.paint,
      turnRows: [...this.#openRows, ...this.#details],
      liveTurn,
      waiting: this.#controller.waitingMessages,
      title: this.#describe(),
      notice: this.#notice ?? this.#describeTrouble(interruption),
      prompt: this.#question?.prompt ?? PROMPT,
      input: (width) => this.#editor.layOut(width),
      completions: this.#question === undefined ? listCompletions(this.#editor.head) : [],
      files: files.map(({ name }) => name),
      now: Date.now(),
    });
    this.#screen.print([...finished, ...written.settled, ...printed], rows, cursor);
    this.#updateClock(liveTurn !== undefined);
  }

  #createRows(): TurnRows {
    return new TurnRows({ width: this.width, paint: this.paint, thoughtsHint: "/tree shows the thoughts" });
  }

  #writerOf({ key }: TurnView): TurnWriter {
    const writer = this.#writers.get(key) ?? new TurnWriter();
    this.#writers.set(key, writer);
    return writer;
  }

  /** The status shows seconds. */
  #updateClock(isRunning: boolean): void {
    if (isRunning) this.#clock ??= setInterval(() => this.changed(), 1000);
    else {
      clearInterval(this.#clock);
      this.#clock = undefined;
    }
  }

  #describeTrouble(interruption: string | undefined): string | undefined {
    if (interruption !== undefined) return `connection lost (${interruption}); connecting again`;
    return this.#question === undefined ? undefined : "the run waits for your decision";
  }

  #describe(): string {
    const { backend, conversation, isNewSession } = this.#controller;
    const { agentName, modelName } = backend;
    return [
      agentName,
      ...(modelName === undefined ? [] : [modelName]),
      this.#openingId ?? (isNewSession ? "new session" : conversation.sessionId),
    ].join(" · ");
  }

  #say(text: string): void {
    this.print(this.#wrap(text, "dim"));
  }

  #wrap(text: string, style?: "dim"): readonly string[] {
    return wrapRows([{ text, style }], { width: this.width }).map((row) => paintRow(row, this.paint));
  }

  #leave(code: number): void {
    this.#left.resolve(code);
  }

  #restore(): void {
    this.#screen[Symbol.dispose]();
    if (this.#stdin.isRaw) this.#stdin.setRawMode(false);
  }

  #sayGoodbye(): void {
    const { conversation, isNewSession, isRunning, unsent } = this.#controller;
    if (unsent.length > 0) this.#stdout.write(`${this.paint("dim", `${plural(unsent.length, "message")} not sent`)}\n`);
    if (isNewSession) return;
    const state = isRunning ? "the run has not ended; " : "";
    // Not cut, so that the command can be copied.
    const line = cleanText(`${state}continue with: ${this.#describeChat(conversation.sessionId)}`);
    this.#stdout.write(`${this.paint("dim", line)}\n`);
  }
}

/** The call that is asked about was decided elsewhere, or the chat ends. */
const WITHDRAWN = new Error("the question was withdrawn");

const EDITS: { readonly [A in NamedAction]?: (editor: InputEditor) => void } = {
  backspace: (editor) => editor.backspace(),
  delete: (editor) => editor.delete(),
  left: (editor) => editor.move(-1),
  right: (editor) => editor.move(1),
  wordLeft: (editor) => editor.moveWord(-1),
  wordRight: (editor) => editor.moveWord(1),
  lineStart: (editor) => editor.moveToLineStart(),
  lineEnd: (editor) => editor.moveToLineEnd(),
  killWordLeft: (editor) => editor.killWord(-1),
  killWordRight: (editor) => editor.killWord(1),
  killLineStart: (editor) => editor.killToLineStart(),
  killLineEnd: (editor) => editor.killToLineEnd(),
  yank: (editor) => editor.yank(),
};
