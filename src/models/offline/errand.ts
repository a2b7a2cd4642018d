/**
 * Something the user asked for that a tool can do. Skills find errands in a message by rules; the offline model runs them
 * and says what came of them. A skill knows no prompt and no stream.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";

export type Language = "en" | "zh";

/** The same in both languages. */
export type Phrase = Readonly<Record<Language, string>>;

export interface Errand {
  readonly tool: string;
  /** Where in the message it is: first asked, first done. */
  readonly at: number;
  /** What it is about, to say it. */
  readonly about: Phrase;
  /** The file it is about, or every file. */
  readonly touches?: { readonly path: string | undefined; readonly isChange: boolean };
  /** What comes after it waits for it, and is left out where the user did not agree. */
  readonly isConsent?: boolean;
  /** It goes before all others, wherever it stands. */
  readonly isFirst?: boolean;
  /** It is made of what others gave, and waits for them. */
  readonly needsResults?: boolean;
  /** What is looked for, of a search. */
  readonly query?: string;
  /** The same made of what a search for these words gives, where there is one. */
  makeFrom?(query: string): FoundErrand;
  /** False where nothing can be made of these results: then it is left out. As many as there are will do when absent. */
  accepts?(results: readonly string[]): boolean;
  /** Something else is made of it: it is spoken of last. */
  readonly isMaterial?: boolean;
  /** Words of its own that say what it is made of, where they do. */
  readonly madeOf?: string;
  /** The place of the errand that is made of this one and of no other. */
  readonly owner?: number;
  /** Why it cannot be done, where that is plain from the words: it is said, and nothing is called. */
  readonly cannot?: Phrase;
  /** Its result as others are made of it; as the tool gave it when absent. */
  readonly pass?: (result: string) => string;
  /** The arguments; `results` are those of the errands it is made of. */
  createInput(tool: ModelTool, results: readonly string[]): JsonObject;
  /** What to say with the call, where it is made of something. */
  announce?(results: readonly string[]): Phrase | undefined;
  /** What to say when the tool has answered. */
  tell(result: string): Phrase;
}

/** Where a message asks for one kind of thing. Texts it has taken for itself are no business of others. */
export interface Skill {
  readonly abilities: readonly Ability[];
  /** `lists` are the to-do lists of the conversation, the latest first. */
  find(text: string, lists: readonly KnownList[]): readonly FoundErrand[];
}

export interface Ability {
  readonly tool: string;
  /** For "I can …". */
  readonly can: Phrase;
  /** Something to type. */
  readonly example?: Phrase;
}

/** A to-do list that was shown before. */
export interface KnownList {
  readonly id: string;
  readonly items: readonly { readonly id: string; readonly text: string }[];
}

export interface FoundErrand extends Errand {
  /** Where its words end. */
  readonly end: number;
}
