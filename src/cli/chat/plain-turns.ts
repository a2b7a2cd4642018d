/**
 * Describes turns as lines for the plain mode: each call returns what is new since the last one. The answer is returned
 * line by line, so that a screen reader is not interrupted inside a sentence.
 */
import type { MessagePart, TurnView } from "../../client/index.ts";
import type { MessageView } from "../../client/view.ts";
import { cleanText, formatDuration, plural } from "../fit-text.ts";
import { summarizeThoughts } from "../screen/thought-rows.ts";
import { type ShownTodoLists, hasErrorOfEnd } from "../screen/turn-rows.ts";

/** Characters shown of arguments and results. */
const MAX_TEXT = 500;

export class PlainTurns {
  /** What was returned of each part: a number of characters, or a state. */
  readonly #shown = new Map<string, number | string>();

  /** Leaves out the message of the user. */
  skipMessage(turn: TurnView): void {
    this.#change(`${turn.key} user`, "shown");
  }

  /** Returns the new lines of a turn that may still run. */
  describe(turn: TurnView, todoLists: ShownTodoLists): readonly string[] {
    return this.#describe(turn, todoLists, false);
  }

  /** Returns the remaining lines of a turn that ended, and how it ended. */
  finish(turn: TurnView, todoLists: ShownTodoLists): readonly string[] {
    const lines = this.#describe(turn, todoLists, true);
    for (const key of this.#shown.keys()) if (key.startsWith(`${turn.key} `)) this.#shown.delete(key);
    const { status, durationMs, reason, code } = turn;
    const thoughts = summarizeThoughts(turn);
    const time = durationMs === undefined ? "" : ` in ${formatDuration(durationMs)}`;
    const isKnown = status === "completed" || reason === undefined || hasErrorOfEnd(turn);
    const why = isKnown ? "" : `: ${reason}${formatCode(code)}`;
    return [...lines, ...(thoughts === undefined ? [] : [clean(thoughts)]), clean(`${status}${time}${why}`)];
  }

  #describe(turn: TurnView, todoLists: ShownTodoLists, isOver: boolean): readonly string[] {
    const { key, attempt } = turn;
    const isShown = [...this.#shown.keys()].some((shown) => shown.startsWith(`${key} `));
    const isNew = attempt !== undefined && this.#change(`${key} attempt`, String(attempt));
    const lines = turn.messages.flatMap((message) => this.#describeMessage(turn, message, todoLists, isOver));
    return isNew && isShown ? [`interrupted; running the step again (attempt ${attempt})`, ...lines] : lines;
  }

  #describeMessage(turn: TurnView, message: MessageView, lists: ShownTodoLists, isOver: boolean): readonly string[] {
    const { role, mainContent, attachments = [] } = message;
    if (role === "user") {
      const isNew = this.#change(`${turn.key} user`, "shown");
      const files = attachments.map(({ name = "file" }) => `attached: ${clean(name)}`);
      return isNew ? [...mainContent.split("\n").map((line) => `you: ${cleanText(line)}`), ...files] : [];
    }
    return (
      message.parts
        .filter(({ supersededBy }) => supersededBy === undefined)
        // A search has many thoughts; /tree shows them.
        .filter(({ type }) => type !== "thinking" || (turn.tree === undefined && turn.graph === undefined))
        .flatMap((part) => this.#describePart(`${turn.key} ${part.key}`, part, lists, isOver))
    );
  }

  #describePart(key: string, part: MessagePart, lists: ShownTodoLists, isOver: boolean): readonly string[] {
    const once = (text: string): readonly string[] => (this.#change(key, text) ? [clean(text)] : []);
    switch (part.type) {
      case "text":
        return this.#describeText(key, part.text, part.isComplete || isOver);
      case "thinking":
        return part.channel === "reasoning" && (part.isComplete || isOver) ? once(`thought: ${part.text}`) : [];
      case "tool": {
        const { toolName, status, result, error } = part.call;
        if (status === "streaming" || status === "ready") return [];
        if (error !== undefined) return once(`tool ${toolName} failed: ${error.message}`);
        if (result !== undefined) return once(`tool ${toolName} result: ${result.text}`);
        // The question says the rest.
        if (status === "awaiting_approval") return [];
        return once(`tool ${toolName} ${status}: ${JSON.stringify(part.call.arguments)}`);
      }
      case "error":
        return part.callId === undefined ? once(`error: ${part.message}${formatCode(part.code)}`) : [];
      case "data":
        return once(`${part.block.dataType}: ${JSON.stringify(part.block.data)}`);
      case "image":
        return once(`image: ${part.alt ?? ""} ${part.url}`);
      case "references":
        return once(`found ${plural(part.docCount, "passage")}: ${part.sources.map(({ title }) => title).join(", ")}`);
      case "todo": {
        const list = lists.find(({ listId }) => listId === part.listId);
        const items = (list?.items ?? []).map(({ text, completed }) => `${completed ? "done" : "open"} ${text}`);
        return isOver ? once(`${list?.title ?? "to-do list"}: ${items.join("; ")}`) : [];
      }
    }
  }

  #describeText(key: string, text: string, isComplete: boolean): readonly string[] {
    const from = Number(this.#shown.get(key) ?? 0);
    const to = isComplete ? text.length : text.lastIndexOf("\n") + 1;
    if (to <= from) return [];
    this.#shown.set(key, to);
    const lines = text.slice(from, to).replace(/\n$/, "").split("\n").map(cleanText);
    return from === 0 ? [`assistant: ${lines[0] ?? ""}`, ...lines.slice(1)] : lines;
  }

  /** Returns true if the state is new. */
  #change(key: string, state: string): boolean {
    const isNew = this.#shown.get(key) !== state;
    this.#shown.set(key, state);
    return isNew;
  }
}

function formatCode(code: string | undefined): string {
  return code === undefined ? "" : ` (${code})`;
}

function clean(text: string): string {
  const line = cleanText(text.slice(0, MAX_TEXT).replaceAll(/\s+/g, " ").trim());
  return text.length > MAX_TEXT ? `${line}…` : line;
}
