/**
 * The conversation of a session in the forms that other frameworks take, read from the log. It is their memory: nothing
 * else has to store the messages.
 */
import { Conversation, type HistoryOptions } from "../agents/conversation.ts";
import type { Log } from "../log/index.ts";
import type { AssistantPart, ModelMessage, ModelTextPart, ToolResultPart, UserPart } from "../models/model.ts";

/** A message as the functions of the AI SDK take it, such as `streamText`. */
export type AISDKMessage =
  | { role: "user"; content: ModelTextPart[] }
  | { role: "assistant"; content: AssistantPart[] }
  | { role: "tool"; content: ToolResultPart[] };

/** Options of `conversation`. */
export interface ConversationOptions extends HistoryOptions {
  /** ID of the last run to include; it may be live. Default: all runs that have ended. */
  readonly through?: string;
}

/** Reads the conversation of a session. A session that does not exist has an empty one. */
export async function conversation(
  log: Log,
  sessionId: string,
  { through, ...options }: ConversationOptions = {},
): Promise<ConversationHistory> {
  const { incarnation } = (await log.getSession(sessionId)) ?? {};
  if (incarnation === undefined) return new ConversationHistory([]);
  const read = new Conversation(log, sessionId, { ...options, incarnation });
  return new ConversationHistory(await read.readThrough(through));
}

/** A conversation that can be converted to the messages of a framework. */
export class ConversationHistory {
  /** The messages, oldest first, as models of this package receive them. */
  readonly messages: readonly ModelMessage[];

  /** @internal */
  constructor(messages: readonly ModelMessage[]) {
    this.messages = messages;
  }

  /** The messages for `streamText`, `generateText` and agents of the AI SDK. A file is replaced by its description. */
  toModelMessages(): AISDKMessage[] {
    return this.messages.flatMap((message): AISDKMessage[] => {
      if (message.role === "user") return [{ role: "user", content: message.content.map(describePart) }];
      if (message.role === "assistant") return [{ role: "assistant", content: [...message.content] }];
      return message.role === "tool" ? [{ role: "tool", content: [...message.content] }] : [];
    });
  }
}

/** Describes a file, whose content is not part of the log. */
export function describePart(part: UserPart): ModelTextPart {
  if (part.type === "text") return part;
  const name = part.type === "file" ? part.filename : part.name;
  return { type: "text", text: `[Attached file${name === undefined ? "" : ` ${name}`}, ${part.mediaType}]` };
}
