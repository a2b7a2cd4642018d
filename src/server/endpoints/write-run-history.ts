/**
 * Writes the messages before the question into a new session, as completed runs. The log is authoritative: a session
 * that already has records keeps them, and the request is refused.
 *
 * Invariant: the history is written before the message is stored.
 */
import { createHash } from "node:crypto";
import { writeHistory } from "../../agents/write-history.ts";
import type { Log } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { StartRun } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { type CommandAuthor, ensureOwnSession } from "../commands/command-author.ts";
import { authorOf } from "../commands/command-host.ts";
import { deriveTitle } from "../../agents/derive-title.ts";
import { appendToSession } from "./append-to-session.ts";
import { hasRuns } from "./find-session.ts";
import type { RunInput } from "./read-run-input.ts";
import type { StoredInput } from "./store-sent-files.ts";

/** The session of a history, and the key and messages of its request. The IDs of its runs are derived from them. */
export interface HistoryRequest {
  readonly session: string;
  readonly key: string;
  readonly messages: NonNullable<StartRun["messages"]>;
}

/**
 * Returns true if the history is to be written, false if the session has it from an earlier request with the same key.
 * Throws `session_exists` if the session has other runs, or `command_conflict` if the key was used with other messages.
 */
export async function needsHistory(log: Log, request: HistoryRequest, isKnown: boolean): Promise<boolean> {
  const { session } = request;
  if (await hasRuns(log, session)) {
    if ((await log.getRun(session, createRunIds(request)(0))) !== undefined) return false;
    if (!isKnown)
      throw new LoomError(
        "session_exists",
        `Session "${session}" already has its history; send only the new message, or use a new session`,
        { session_id: session, path: "messages", in: "body" },
      );
  }
  if (isKnown) throw new LoomError("command_conflict", "The key was used for a message with other earlier messages");
  return true;
}

/** Writes the history, unless the session has it by now. */
export async function writeRunHistory(
  core: ServerCore,
  caller: Caller,
  request: HistoryRequest,
  { earlier }: RunInput,
  { agent, stored }: { readonly agent: string; readonly stored: StoredInput },
): Promise<void> {
  const { log } = core;
  const { session } = request;
  const author = authorOf(core, caller);
  const title = earlier.map(({ question }) => deriveTitle(question.text)).find((text) => text !== undefined);
  await appendToSession(core, session, {
    prepare: () => prepareSession(core, author, session, title),
    isNeeded: () => needsHistory(log, request, false),
    write: (draft) =>
      writeHistory(draft, earlier, {
        agent,
        actor: author.actor,
        load: (question) => stored.filesOf(question),
        createRunId: createRunIds(request),
      }),
  });
}

/** Makes sure that the author's session exists and has a title. */
export async function prepareSession(
  { log }: Pick<ServerCore, "log">,
  author: CommandAuthor,
  session: string,
  title: string | undefined,
): Promise<void> {
  const info = await ensureOwnSession(log, author, session, title === undefined ? {} : { title });
  // An upload may have created the session.
  if (info.title === undefined && title !== undefined) await log.updateSession(session, { title });
}

function createRunIds({ session, key, messages }: HistoryRequest): (index: number) => string {
  const history = JSON.stringify([session, key, messages.slice(0, -1)]);
  const digest = createHash("sha256").update(history).digest("base64url").slice(0, 22);
  return (index) => `run-${digest}-${index}`;
}
