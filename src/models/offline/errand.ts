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
  /** It is made of what others gave, and waits for them. */
  readonly needsResults?: boolean;
  /** Words of its own that say what it is made of, where they do. */
  readonly madeOf?: string;
  /** The place of the errand that is made of this one and of no other. */
  readonly owner?: number;
  /** The arguments; `results` are those of the errands it is made of. */
  createInput(tool: ModelTool, results: readonly string[]): JsonObject;
  /** What to say when the tool has answered. */
  tell(result: string): Phrase;
}

/** Where a message asks for one kind of thing. Texts it has taken for itself are no business of others. */
export interface Skill {
  /** For "I can …". */
  readonly abilities: readonly { readonly tool: string; readonly can: Phrase }[];
  find(text: string): readonly FoundErrand[];
}

export interface FoundErrand extends Errand {
  /** Where its words end. */
  readonly end: number;
}
