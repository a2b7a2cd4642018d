/**
 * The conversation of a session in the forms that other frameworks take, read from the log. It is their memory: nothing
 * else has to store the messages.
 */
import { Conversation, type HistoryOptions } from "../agents/conversation.ts";
import type { Log } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import { type AISDKMessage, toAISDKMessage } from "./ai-sdk-messages.ts";
import {
  type OpenAIAgentsItem,
  type OpenAIInputItem,
  type OpenAIMessage,
  toOpenAIAgentsInput,
  toOpenAIInput,
  toOpenAIMessages,
} from "./to-openai-input.ts";
import { type LangChainMessage, toLangChainMessages } from "./to-langchain-messages.ts";

/** Options of `conversation`. */
export interface ConversationOptions extends HistoryOptions {
  /** ID of the last run to include; it may be live. Default: all runs that have ended. */
  readonly through?: string | undefined;
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

  /** The messages for `streamText` and agents of the AI SDK. Files are only named. */
  toModelMessages(): AISDKMessage[] {
    return this.messages.map(toAISDKMessage);
  }

  /** Returns the conversation as `input` of `client.responses.create`, of the package `openai`. */
  toOpenAIInput(): OpenAIInputItem[] {
    return toOpenAIInput(this.messages);
  }

  /** Returns the conversation as `messages` of `client.chat.completions.create`, of the package `openai`. */
  toOpenAIMessages(): OpenAIMessage[] {
    return toOpenAIMessages(this.messages);
  }

  /** Returns the conversation as input of `run`, of the package `@openai/agents`. */
  toOpenAIAgentsInput(): OpenAIAgentsItem[] {
    return toOpenAIAgentsInput(this.messages);
  }

  /** The messages for models and graphs of LangChain. Files are only named. */
  toLangChainMessages(): LangChainMessage[] {
    return toLangChainMessages(this.messages);
  }
}
