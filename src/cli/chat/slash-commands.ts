/** The commands that a user types into the chat, such as `/open ID`: their names, help and completion. */
import { findNearest } from "../../protocol/find-nearest.ts";

export interface SlashCommand {
  readonly name: string;
  /** Placeholder of the argument; in brackets if it may be absent. */
  readonly argument?: string;
  readonly about: string;
}

export const SLASH_COMMANDS = [
  { name: "help", about: "list commands and keys" },
  { name: "new", about: "start a new session" },
  { name: "sessions", argument: "[WORDS]", about: "list or search sessions" },
  { name: "open", argument: "ID", about: "continue a session" },
  { name: "agent", argument: "[NAME]", about: "show or change the agent" },
  { name: "model", argument: "[NAME]", about: "show or change the model" },
  { name: "attach", argument: "FILE", about: "attach a file to the next message" },
  { name: "detach", about: "remove the attached files" },
  { name: "export", argument: "FILE", about: "write all records of the session" },
  { name: "title", argument: "TEXT", about: "rename the session" },
  { name: "tree", about: "show the thoughts of the last run" },
  { name: "retry", about: "send the last message again" },
  { name: "stop", about: "cancel the run and the messages that wait" },
  { name: "quit", about: "leave the chat" },
] as const satisfies readonly SlashCommand[];

export type SlashName = (typeof SLASH_COMMANDS)[number]["name"];

export type SlashInput =
  | { readonly kind: "command"; readonly name: SlashName; readonly argument: string }
  | { readonly kind: "error"; readonly message: string };

/** Returns undefined if the text is a message. `//` starts a message with a slash. */
export function readSlashInput(text: string): SlashInput | undefined {
  const [, word, rest = ""] = /^\/(?!\/)(\S*)\s*([^\n]*)\s*$/.exec(text) ?? [];
  // A path such as /etc/hosts is text.
  if (word === undefined || word.includes("/")) return undefined;
  const found = SLASH_COMMANDS.find(({ name }) => name === word);
  if (found === undefined) {
    const names = SLASH_COMMANDS.map(({ name }) => name);
    const nearest = names.find((name) => word !== "" && name.startsWith(word)) ?? findNearest(word, names);
    const hint = nearest === undefined ? "/help lists the commands" : `did you mean /${nearest}?`;
    return { kind: "error", message: `unknown command /${word}; ${hint}` };
  }
  const argument = rest.trim();
  const { argument: wanted } = found as SlashCommand;
  if (wanted === undefined && argument !== "") return { kind: "error", message: `/${found.name} takes no argument` };
  if (wanted !== undefined && !wanted.startsWith("[") && argument === "")
    return { kind: "error", message: `/${found.name} needs ${wanted}` };
  return { kind: "command", name: found.name, argument };
}

/** Commands that complete the text before the cursor. */
export function listCompletions(head: string): readonly SlashCommand[] {
  const [, word] = /^\/([a-z]*)$/.exec(head) ?? [];
  return word === undefined ? [] : SLASH_COMMANDS.filter(({ name }) => name.startsWith(word));
}

export function describeSlashCommand({ name, argument }: SlashCommand): string {
  return `/${name}${argument === undefined ? "" : ` ${argument}`}`;
}
