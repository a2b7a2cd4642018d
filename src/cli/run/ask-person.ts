/**
 * Asks a person at the terminal for consent to a tool call. It shows all that is consented to, and gives up by itself
 * when the question is withdrawn. It knows no run.
 */
import { openSync } from "node:fs";
import { createInterface, type Interface } from "node:readline/promises";
import { ReadStream, WriteStream } from "node:tty";
import { styleText } from "node:util";
import { isJsonObject, type JsonObject } from "../../protocol/index.ts";
import { cleanText, cutText, escapeJson } from "../fit-text.ts";
import type { Question } from "./open-questions.ts";

export interface Decision {
  readonly decision: "approved" | "rejected";
  readonly arguments?: JsonObject;
  readonly reason?: string;
}

export interface Person {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** Lets go of the terminal, which would keep the process. */
  close(): void;
}

/** Lines of arguments that are shown unasked. */
const SHOWN_LINES = 30;
/** Characters that can be edited in a line of a terminal. */
const LONGEST_EDIT = 4000;

/** The person at the terminal; undefined where there is none, or nobody who looks at it. */
export function findPerson(
  stdin: NodeJS.ReadStream = process.stdin,
  stderr: NodeJS.WriteStream = process.stderr,
): Person | undefined {
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

/** Undefined when the question was withdrawn, or the person went away (Ctrl-D). */
export async function askPerson(
  { input, output }: Pick<Person, "input" | "output">,
  question: Question,
  { signal, onInterrupt }: { readonly signal: AbortSignal; readonly onInterrupt: () => void },
): Promise<Decision | undefined> {
  const dialogue = new Dialogue(createInterface({ input, output, terminal: true }), output, signal);
  dialogue.onInterrupt(onInterrupt);
  try {
    dialogue.show(question.name, question.arguments, SHOWN_LINES);
    return await decide(dialogue, question);
  } catch (error) {
    if (!dialogue.isOver) throw error;
    return undefined;
  } finally {
    dialogue.close();
  }
}

async function decide(dialogue: Dialogue, question: Question): Promise<Decision> {
  for (;;) {
    const answer = (await dialogue.ask("y yes, n no, e edit, s show all: ")).trim();
    const [word = "", ...rest] = answer.split(/\s+/);
    switch (word.toLowerCase()) {
      case "y":
      case "yes":
      case "是":
        return { decision: "approved" };
      case "n":
      case "no":
      case "否": {
        const reason = rest.join(" ") || (await dialogue.ask("why? (may be empty) ")).trim();
        return { decision: "rejected", ...(reason === "" ? {} : { reason }) };
      }
      case "e":
      case "edit": {
        const edited = await edit(dialogue, question.arguments);
        if (edited !== undefined) return { decision: "approved", arguments: edited };
        break;
      }
      case "s":
        dialogue.show(question.name, question.arguments, Infinity);
        break;
      default:
    }
  }
}

/** Undefined when the edit is given up. */
async function edit(dialogue: Dialogue, before: JsonObject): Promise<JsonObject | undefined> {
  let text = escapeJson(JSON.stringify(before));
  if (text.length > LONGEST_EDIT) {
    dialogue.say("that is too long to be edited here");
    return undefined;
  }
  for (;;) {
    text = (await dialogue.ask("arguments (empty: back): ", text)).trim();
    if (text === "") return undefined;
    try {
      const value: unknown = JSON.parse(text);
      if (isJsonObject(value)) return value;
      dialogue.say("the arguments must be a JSON object");
    } catch (error) {
      dialogue.say(`that is no JSON: ${error instanceof Error ? cutText(error.message, 200) : ""}`);
    }
  }
}

/** Questions and answers on one terminal. */
class Dialogue {
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
      this.#closed.reject(new Error("the person went away"));
    });
  }

  /** The question was withdrawn, or nobody answers it. */
  get isOver(): boolean {
    return this.#signal.aborted || this.#isClosed;
  }

  /** In a terminal that is read key by key, Ctrl-C is a key. */
  onInterrupt(listener: () => void): void {
    this.#lines.on("SIGINT", listener);
  }

  async ask(prompt: string, prefilled = ""): Promise<string> {
    const styled = styleText("bold", prompt, { stream: this.#output });
    const answer = this.#lines.question(styled, { signal: this.#signal });
    answer.catch(() => undefined);
    if (prefilled !== "") this.#lines.write(prefilled);
    return Promise.race([answer, this.#closed.promise]);
  }

  show(name: string, input: JsonObject, maxLines: number): void {
    const stream = this.#output;
    const lines = JSON.stringify(input, null, 2).split("\n");
    this.say(
      `${styleText(["yellow", "bold"], "?", { stream })} may ${styleText("bold", cleanText(name), { stream })} run?`,
    );
    for (const line of lines.slice(0, maxLines)) this.say(`  ${escapeJson(line)}`);
    if (lines.length > maxLines) this.say(`  … ${lines.length - maxLines} lines more`);
  }

  say(text: string): void {
    this.#output.write(`${text}\n`);
  }

  close(): void {
    // Ctrl-D leaves the cursor where the answer would have been.
    if (this.#isClosed) this.#output.write("\n");
    this.#lines.close();
  }
}
