/**
 * A task is something the user asked for that a tool can do. Skills find tasks in a message by rules; the offline model
 * runs them and describes their results.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";

export type OfflineLanguage = "en" | "zh";

/** A text in both languages. */
export type BilingualText = Readonly<Record<OfflineLanguage, string>>;

export interface OfflineTask {
  readonly tool: string;
  /** Position in the message. Tasks run in this order. */
  readonly at: number;
  /** Short description for messages. */
  readonly about: BilingualText;
  /** The file the task accesses; all files if `path` is undefined. */
  readonly fileAccess?: { readonly path: string | undefined; readonly isChange: boolean };
  /** Tasks after this one wait for it and are skipped if the user does not approve. */
  readonly isConsent?: boolean;
  /** Runs before all other tasks, wherever it is in the message. */
  readonly isFirst?: boolean;
  /** Uses the results of other tasks and waits for them. */
  readonly needsResults?: boolean;
  /** The words to search for, if this is a search. */
  readonly query?: string;
  /** Creates a variant of this task that uses the result of a search for these words. */
  createFromSearch?(query: string): FoundTask;
  /**
   * Returns false if nothing can be made of these results; the task is then skipped. If absent, all results are
   * accepted.
   */
  accepts?(results: readonly string[]): boolean;
  /** Another task uses its result, so it is described last. */
  readonly isSource?: boolean;
  /** The words that name the data this task uses, if it has any. */
  readonly sourceText?: string;
  /** Position of the only task that uses the result of this one. */
  readonly owner?: number;
  /** Why the task cannot be done, if the words show it. It is reported, and no tool is called. */
  readonly refusal?: BilingualText;
  /** Converts the result for the tasks that use it. If absent, they get it unchanged. */
  readonly extractResult?: (result: string) => string;
  /** Creates the arguments. `results` are those of the tasks it uses. */
  createInput(tool: ModelTool, results: readonly string[]): JsonObject;
  /** Text to show with the call, if it uses results. */
  announce?(results: readonly string[]): BilingualText | undefined;
  /** Describes the result of the tool. */
  describeResult(result: string): BilingualText;
}

/** Finds tasks of one kind in a message. */
export interface Skill {
  readonly abilities: readonly Ability[];
  /** `lists` are the to-do lists of the conversation, latest first. */
  find(text: string, lists: readonly KnownTodoList[]): readonly FoundTask[];
}

export interface Ability {
  readonly tool: string;
  /** Completes "I can …". */
  readonly can: BilingualText;
  /** An example to type. */
  readonly example?: BilingualText;
}

/** A to-do list that is already shown. */
export interface KnownTodoList {
  readonly id: string;
  readonly items: readonly { readonly id: string; readonly text: string }[];
}

export interface FoundTask extends OfflineTask {
  /** End of its words in the message. */
  readonly end: number;
}
