/** Declares `loom chat`. */
import type { CliCommand } from "../command.ts";
import { explainRunOption, RUN, SET_TABLE } from "../commands.ts";
import { RESOURCE_OPTIONS } from "../run/read-agent-options.ts";
import { SERVICE_OPTIONS } from "../sessions/server-settings.ts";

/** Options of `loom run` about one run. */
const NOT_IN_CHAT: ReadonlySet<string> = new Set([
  "approve",
  "session",
  "resume",
  "json",
  "modes",
  "strict",
  ...Object.keys(SERVICE_OPTIONS),
]);

/** Options that apply to any built-in agent, so that they are kept when the agent is changed. */
export const CHAT_RESOURCES: ReadonlySet<string> = new Set(["agents", ...RESOURCE_OPTIONS]);

export const CHAT: CliCommand = {
  name: "chat",
  summary: "Chat with an agent in the terminal.",
  argument: "SESSION",
  options: {
    ...Object.fromEntries(Object.entries(RUN.options).filter(([name]) => !NOT_IN_CHAT.has(name))),
    plain: {
      about:
        "only lines, without moving the cursor, for screen readers and pipes (default: if TERM is dumb, or standard input or output is not a terminal)",
    },
    "no-history": { about: "neither read nor store the messages you sent" },
    ...SERVICE_OPTIONS,
  },
  explainOption: explainRunOption,
  table: SET_TABLE,
  notes: [
    "SESSION is the ID of a session to continue. A run of it that is live or waits for approval is shown, and you can answer.",
    "Enter sends. Alt+Enter, Shift+Enter (if the terminal reports it) or `\\` before Enter starts a new line. Pasted line breaks are not sent. Up and Down go through earlier messages, which are stored in chat-history next to the default store. Tab completes commands; /help lists commands and keys.",
    "Ctrl-C cancels the run, or clears the input; pressed twice, it leaves the chat. Ctrl-D leaves the chat if the input is empty. A local run that has not ended then continues when the session is opened again. Ctrl-Z suspends the chat until `fg`.",
    "With --server or LOOM_SERVER, the agents of that server answer, with their own models and tools; only --agent, --reasoning, --system and the options of the chat apply. If the connection is cut, the chat connects again and continues.",
    "With --plain, lines are edited by the terminal: Alt+Enter, Up, Down and Tab do not work. With a pipe, each line of standard input is a message.",
    "Exit codes: 0 left by the user, also with Ctrl-C, 2 could not start, 3 a run was left waiting at the end of standard input, 130 stopped by a signal, 141 standard output closed.",
  ],
  examples: [
    "loom chat",
    "loom chat --model anthropic/claude-sonnet-4-5 --workspace .",
    "loom chat --agent tot",
    "loom chat --continue",
    "loom chat 3f2a9c81d4e0 --server https://agents.example.com --token-file token",
    'echo "What is 6*7?" | loom chat --plain',
  ],
};
