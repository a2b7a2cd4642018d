/**
 * Starts the run of a message whose request has the whole conversation and names no session: in the session that has this
 * conversation, or in a new one that gets it as its history.
 */
import type { Log } from "../../../log/index.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { deriveSessionId } from "../derive-session-id.ts";
import { digestConversation, findConversation, noteKey } from "./find-conversation.ts";
import { authorizeRun, type OpenaiCall, type OpenaiRunRequest, type RunPart, startOpenaiRun } from "./openai-run.ts";
import type { OpenaiInput } from "./read-openai-input.ts";

/** How often the session is looked up again because another message took its place. */
const MAX_ATTEMPTS = 3;

/** `key` is the idempotency key of the request: a new session has an ID that is derived from it. */
export async function startConversation(
  core: ServerCore,
  call: OpenaiCall,
  input: OpenaiInput,
  given: OpenaiRunRequest,
  key: string,
): Promise<RunPart> {
  const digests = digestConversation(input);
  const { content, position } = digests;
  // With the key, the same message of another request is another command.
  const openai = { ...toJsonObject(given.context?.["openai"]), ...noteKey(key) };
  const about = { ...given, request_id: content, context: { ...given.context, openai } };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      const session = await findConversation(core, call, digests, { key, agent: given.model });
      if (session === undefined) break;
      await authorizeRun(core, call, session);
      const where = { session, key: position, hasHistory: true };
      return await startOpenaiRun(core, call, input, { ...about, when_busy: "reject" }, where);
    } catch (error) {
      // The caller may not fork.
      if (isLoomError(error, "forbidden")) break;
      if (!isLoomError(error, "command_conflict", "run_live", "unknown_session", "unknown_run")) throw error;
    }
  }
  const session = deriveSessionId(key, call.caller.principal.owner);
  await authorizeRun(core, call, session);
  await assertUnused(core.log, session, content);
  return startOpenaiRun(core, call, input, about, { session, key: content, hasHistory: false });
}

/** Throws `command_conflict` if the session of the key has the message of another request. */
async function assertUnused(log: Log, session: string, content: string): Promise<void> {
  if ((await log.getSession(session)) === undefined) return;
  const [run] = await log.listRuns(session, { limit: 1 });
  const pending = await log.listPending(session);
  const used = [run?.requestId, ...pending.map(({ body }) => body["request_id"])];
  if (used.some((id) => id !== undefined && id !== content))
    throw new LoomError("command_conflict", "The idempotency key was used for another message");
}
