/**
 * The answer of a turn for a pipe: the text of each step when that has ended. After a crash, a step runs again and its
 * text does not count.
 */
import type { MessagePart, Reference, SessionView, TurnView } from "../../client/index.ts";
import { cleanText } from "../fit-text.ts";

const CITATION = /\[(\d{1,4}(?:[,，、] ?\d{1,4}){0,9})\]/g;

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
  next(turn: TurnView, todoLists: SessionView["todoLists"], isOver: boolean): string {
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

  #read(part: MessagePart, todoLists: SessionView["todoLists"]): string {
    if (part.type === "text") return part.text;
    const list = todoLists.find(({ listId }) => part.type === "todo" && listId === part.listId);
    if (!this.#hasLists || list === undefined) return "";
    const items = list.items.map(({ text, completed }) => `[${completed ? "x" : " "}] ${text}`);
    return `${[list.title ?? "to-do list", ...items].map(cleanText).join("\n")}\n\n`;
  }
}

/** Returns a line for each cited source, in the order of the first citation. The lines are not cleaned. */
export function listCitedSources({ messages }: TurnView): readonly string[] {
  const parts = messages.flatMap((message) => message.parts).filter(({ supersededBy }) => supersededBy === undefined);
  const sources = new Map<string, Reference>();
  for (const source of parts.flatMap((part) => (part.type === "references" ? part.sources : []))) {
    const ref = String(source.ref ?? "");
    if (ref !== "" && !sources.has(ref)) sources.set(ref, source);
  }
  if (sources.size === 0) return [];
  const answer = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const cited = Array.from(answer.matchAll(CITATION), ([, refs = ""]) => refs.match(/\d+/g) ?? []).flat();
  return [...new Set(cited)].flatMap((ref) => describeSource(sources.get(ref)) ?? []);
}

function describeSource(source: Reference | undefined): string | undefined {
  if (source === undefined) return undefined;
  const { ref, title, uri, firstLine: first, lastLine: last = first } = source;
  const lines = first === undefined ? [] : [first === last ? `line ${first}` : `lines ${first} to ${last}`];
  const where = [...(uri === undefined ? [] : [uri]), ...lines].join(", ");
  return `[${ref}] ${title}${where === "" ? "" : ` (${where})`}`;
}
