/**
 * Asks the user at the terminal to approve a tool call. It shows the complete arguments, and ends when the call no
 * longer waits. This module does not know runs.
 */
import { openSync } from "node:fs";
import { createInterface, type Interface } from "node:readline/promises";
import { ReadStream, WriteStream } from "node:tty";
import { styleText } from "node:util";
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { cleanText, cutColumns, escapeJson, plural } from "../fit-text.ts";
import type { Style } from "../terminal.ts";
import type { WaitingCall } from "./pending-approvals.ts";

export interface ToolDecision {
  readonly decision: "approved" | "rejected";
  readonly arguments?: JsonObject;
  readonly reason?: string;
}

export interface QuestionOptions {
  /** Text that the user edits. */
  readonly prefilled?: string;
  /** The answer if the input ends. Default: none, so that `ask` rejects. */
  readonly answerAtEnd?: string | undefined;
}

/** How the user is asked. `ask` rejects if the call no longer waits or the input is closed. */
export interface ApprovalDialogue {
  ask(prompt: string, options?: QuestionOptions): Promise<string>;
  say(text: string): void;
}

export interface PromptTerminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** Closes the terminal, which would otherwise keep the process alive. */
  close(): void;
}

/** Lines of arguments shown before the user asks for all. */
const SHOWN_LINES = 30;
/** Longest arguments that can be edited, in characters. */
const LONGEST_EDIT = 4000;

/**
 * Finds a terminal to prompt on; undefined if standard input and standard error are both redirected or there is none.
 */
export function findPromptTerminal(
  stdin: NodeJS.ReadStream = process.stdin,
  stderr: NodeJS.WriteStream = process.stderr,
): PromptTerminal | undefined {
  if (stdin.isTTY && stderr.isTTY) return { input: stdin, output: stderr, close: () => undefined };
  if ((!stdin.isTTY && !stderr.isTTY) || process.platform === "win32") return undefined;
  try {
    const input = new ReadStream(openSync("/dev/tty", "r"));
    const output = new WriteStream(openSync("/dev/tty", "w"));
    const close = (): void => {
      input.destroy();
      output.destroy();
    };
    return { input, output, close };
  } catch {
    return undefined;
  }
}

/** Returns the decision, or undefined if the call no longer waits or the user closed the input (Ctrl-D). */
export async function promptForApproval(
  { input, output }: Pick<PromptTerminal, "input" | "output">,
  call: WaitingCall,
  { signal, onInterrupt }: { readonly signal: AbortSignal; readonly onInterrupt: () => void },
): Promise<ToolDecision | undefined> {
  const dialogue = new Dialogue(createInterface({ input, output, terminal: true }), output, signal);
  dialogue.onInterrupt(onInterrupt);
  try {
    const { decision } = await decideCall(dialogue, call, { mayAllow: false, paint: dialogue.paint });
    return decision;
  } catch (error) {
    if (!dialogue.isEnded) throw error;
    return undefined;
  } finally {
    dialogue.close();
  }
}

export interface ApprovalWords {
  /** The user can allow all calls of the tool in the session. */
  readonly mayAllow: boolean;
  readonly paint: (style: Style, text: string) => string;
}

/** Shows the call and asks until there is a decision. */
export async function decideCall(
  dialogue: ApprovalDialogue,
  call: WaitingCall,
  words: ApprovalWords,
): Promise<{ readonly decision: ToolDecision; readonly isAllowed: boolean }> {
  showCall(dialogue, call, words, SHOWN_LINES);
  const question = `[y]es, [n]o,${words.mayAllow ? " [a]lways in this session," : ""} [e]dit, [s]how all: `;
  for (;;) {
    const answer = (await dialogue.ask(question)).trim();
    const [word = "", ...rest] = answer.split(/\s+/);
    // The user may have been typing a message when the question came: "a file" does not allow a tool.
    const isOneWord = rest.length === 0;
    switch (word.toLowerCase()) {
      case "y":
      case "yes":
      case "是":
        if (isOneWord) return { decision: { decision: "approved" }, isAllowed: false };
        break;
      case "a":
      case "always":
        if (words.mayAllow && isOneWord) return { decision: { decision: "approved" }, isAllowed: true };
        break;
      case "n":
      case "no":
      case "否": {
        const reason = rest.join(" ") || (await dialogue.ask("reason (optional): ", { answerAtEnd: "" })).trim();
        return { decision: { decision: "rejected", ...(reason === "" ? {} : { reason }) }, isAllowed: false };
      }
      case "e":
      case "edit": {
        const edited = await edit(dialogue, call.arguments);
        if (edited !== undefined) return { decision: { decision: "approved", arguments: edited }, isAllowed: false };
        break;
      }
      case "s":
      case "show":
        showCall(dialogue, call, words, Infinity);
        break;
      default:
    }
  }
}

/** Returns undefined if the user cancels the edit. */
async function edit(dialogue: ApprovalDialogue, before: JsonObject): Promise<JsonObject | undefined> {
  let text = escapeJson(JSON.stringify(before));
  if (text.length > LONGEST_EDIT) {
    dialogue.say("the arguments are too long to edit here");
    return undefined;
  }
  for (;;) {
    text = (await dialogue.ask("arguments (empty to cancel): ", { prefilled: text })).trim();
    if (text === "") return undefined;
    try {
      const value: unknown = JSON.parse(text);
      if (isJsonObject(value)) return value;
      dialogue.say("the arguments must be a JSON object");
    } catch (error) {
      dialogue.say(`invalid JSON: ${error instanceof Error ? cutColumns(error.message, 200) : ""}`);
    }
  }
}

function showCall(
  dialogue: ApprovalDialogue,
  { name, arguments: input }: WaitingCall,
  { paint }: ApprovalWords,
  maxLines: number,
): void {
  const lines = JSON.stringify(input, null, 2).split("\n");
  dialogue.say(`${paint(["yellow", "bold"], "?")} Allow ${paint("bold", cleanText(name))}?`);
  for (const line of lines.slice(0, maxLines)) dialogue.say(`  ${escapeJson(line)}`);
  if (lines.length > maxLines) dialogue.say(`  … ${plural(lines.length - maxLines, "more line")}`);
}

class Dialogue implements ApprovalDialogue {
  readonly #lines: Interface;
  readonly #output: NodeJS.WriteStream;
  readonly #signal: AbortSignal;
  readonly #closed = Promise.withResolvers<never>();
  #isClosed = false;

  constructor(lines: Interface, output: NodeJS.WriteStream, signal: AbortSignal) {
    this.#lines = lines;
    this.#output = output;
    this.#signal = signal;
    this.#closed.promise.catch(() => undefined);
    lines.once("close", () => {
      this.#isClosed = true;
      this.#closed.reject(new Error("the input was closed"));
    });
  }

  /** The call no longer waits, or the user closed the input. */
  get isEnded(): boolean {
    return this.#signal.aborted || this.#isClosed;
  }

  /** In raw mode, Ctrl-C arrives as a key. */
  onInterrupt(listener: () => void): void {
    this.#lines.on("SIGINT", listener);
  }

  async ask(prompt: string, { prefilled = "", answerAtEnd }: QuestionOptions = {}): Promise<string> {
    const styled = styleText("bold", prompt, { stream: this.#output });
    const answer = this.#lines.question(styled, { signal: this.#signal });
    answer.catch(() => undefined);
    if (prefilled !== "") this.#lines.write(prefilled);
    return Promise.race([answer, this.#closed.promise]).catch((error: unknown) => {
      if (answerAtEnd === undefined || this.#signal.aborted) throw error;
      return answerAtEnd;
    });
  }

  readonly paint = (style: Style, text: string): string => styleText(style, text, { stream: this.#output });

  say(text: string): void {
    this.#output.write(`${text}\n`);
  }

  close(): void {
    // After Ctrl-D, the cursor is still on the line of the prompt.
    if (this.#isClosed) this.#output.write("\n");
    this.#lines.close();
  }
}
