// Starts a run and streams it. `useChat` sends the chat and all messages; only the last one is new, the others are in the
// log.
import { streamText, type UIMessage } from "ai";
import { record } from "loom-agent";
import { conversation, fromAISDK } from "loom-agent/adapters";
import { after } from "next/server";
import { openLog } from "../../../lib/log";
import { model } from "../../../lib/model";

export async function POST(request: Request): Promise<Response> {
  const body = (await request.json()) as { readonly id: string; readonly messages: readonly UIMessage[] };
  const sessionId = body.id;
  const message = textOf(body.messages.at(-1));
  const log = await openLog();
  const source = fromAISDK(async ({ signal, messages }) => {
    // Read when the run starts: it waits for its turn while another run of the chat is live.
    const history = (await conversation(log, sessionId)).toModelMessages();
    const prompt = [...history, { role: "user" as const, content: message }, ...messages];
    return streamText({ model, messages: prompt, abortSignal: signal });
  });
  // A serverless platform may stop the function when its response ends, or the client leaves. `after` keeps it until the
  // run has ended.
  const run = await record(log, { sessionId, message, waitUntil: (work) => after(() => work) }, source);
  return run.toResponse({ dialect: "ai-sdk" });
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
