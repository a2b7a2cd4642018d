/**
 * The answer of a turn for a pipe: the text of each step when that has ended. After a crash, a step runs again and its
 * text does not count.
 */
import type { MessagePart, TurnView } from "../../client/index.ts";
import { cleanText } from "../fit-text.ts";
import { listCitedSources } from "./cited-sources.ts";
import type { ShownTodoLists } from "./turn-rows.ts";

export class PipedAnswer {
  /** Text returned of each part. */
  readonly #returned = new Map<string, string>();
  readonly #hasLists: boolean;
  #lastNode: string | undefined;
  /** The last line has not ended. */
  #isOpen = false;

  /** `hasLists`: to-do lists are part of the answer. */
  constructor({ hasLists }: { readonly hasLists: boolean }) {
    this.#hasLists = hasLists;
  }

  /** Returns the text that is new. `isOver`: nothing of the turn changes any more. */
  next(turn: TurnView, todoLists: ShownTodoLists, isOver: boolean): string {
    let text = "";
    const add = (piece: string): void => {
      text += piece;
      if (piece !== "") this.#isOpen = !piece.endsWith("\n");
    };
    const endLine = (): void => add(this.#isOpen ? "\n" : "");
    for (const part of turn.messages.flatMap(({ role, parts }) => (role === "user" ? [] : parts))) {
      if (part.supersededBy !== undefined) continue;
      const content = this.#read(part, todoLists);
      const before = this.#returned.get(part.key) ?? "";
      if (content === "" || content === before) continue;
      const { nodeKey } = part;
      const node = turn.nodes.findLast(({ key }) => key === nodeKey);
      if (!isOver && node?.status !== "ok") break;
      this.#returned.set(part.key, content);
      const isContinued = nodeKey === this.#lastNode && content.startsWith(before);
      this.#lastNode = nodeKey;
      if (!isContinued) endLine();
      add(content.startsWith(before) ? content.slice(before.length) : content);
    }
    const sources = isOver ? listCitedSources(turn) : [];
    if (isOver) endLine();
    if (sources.length > 0) add(`\nSources:\n${sources.map(cleanText).join("\n")}\n`);
    return text;
  }

  #read(part: MessagePart, todoLists: ShownTodoLists): string {
    if (part.type === "text") return part.text;
    const list = todoLists.find(({ listId }) => part.type === "todo" && listId === part.listId);
    if (!this.#hasLists || list === undefined) return "";
    const items = list.items.map(({ text, completed }) => `[${completed ? "x" : " "}] ${text}`);
    return `${[list.title ?? "to-do list", ...items].map(cleanText).join("\n")}\n\n`;
  }
}
