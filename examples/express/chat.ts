// A chat with the AI SDK whose runs are recorded: start one, read it again, stop it. The log is the only store.
import { streamText } from "ai";
import { openSqliteLog, record, sendCommand } from "loom-agent";
import { conversation, fromAISDK, resumeRun } from "loom-agent/adapters";
import { model } from "./model.ts";

const log = await openSqliteLog(process.env["STORE"] ?? "chats.db");

/** Starts a run and streams it. It goes on when the client leaves. */
export async function sendMessage(sessionId: string, message: string): Promise<Response> {
  const source = fromAISDK(async ({ signal, messages }) => {
    // Read when the run starts: it waits for its turn while another run of the chat is live.
    const history = (await conversation(log, sessionId)).toModelMessages();
    const prompt = [...history, { role: "user" as const, content: message }, ...messages];
    return streamText({ model, messages: prompt, abortSignal: signal });
  });
  const run = await record(log, { sessionId, message }, source);
  return run.toResponse({ dialect: "ai-sdk" });
}

/** Streams a run from its start, or exactly after the last event that the client has. */
export function readRun(sessionId: string, runId: string | undefined, lastEventId: string | undefined) {
  return resumeRun(log, { sessionId, runId, cursor: lastEventId }, { dialect: "ai-sdk" });
}

/** Returns the messages of a chat, and the ID of the run whose answer is not among them because it is live. */
export async function readChat(sessionId: string) {
  const live = await findLiveRun(sessionId);
  const { messages } = await conversation(log, sessionId, { through: live });
  const texts = messages.flatMap(({ role, content }) => {
    if (role !== "user" && role !== "assistant") return [];
    const parts = typeof content === "string" ? [content] : content.map((part) => ("text" in part ? part.text : ""));
    return [{ role, text: parts.join("") }];
  });
  // The page reads the answer of a live run from its stream.
  if (live !== undefined) texts.length = texts.findLastIndex(({ role }) => role === "user") + 1;
  return { messages: texts, run: live };
}

/** Cancels the live run, in whichever process it is. */
export async function stopRun(sessionId: string): Promise<void> {
  const live = await findLiveRun(sessionId);
  const commandId = crypto.randomUUID();
  if (live !== undefined) await sendCommand(log, { commandId, sessionId, kind: "cancel", body: { run_id: live } });
}

async function findLiveRun(sessionId: string): Promise<string | undefined> {
  if ((await log.getSession(sessionId)) === undefined) return undefined;
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}
