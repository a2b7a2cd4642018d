/**
 * The calls of `run` and `stream` an agent has going: it checks what is asked for, bounds how many there are, and ends
 * them all when the agent is closed.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { MAX_NAME_LENGTH } from "../log/log.ts";
import { describeValue, isJsonObject, type JsonObject, LoomError } from "../protocol/index.ts";
import type { Approve } from "./answer-question.ts";
import { Ask, type AskHost, type AskOptions, type AskRequest } from "./ask.ts";

export interface AsksOptions {
  readonly approve: Approve | undefined;
  readonly maxCalls: number | undefined;
  readonly maxContextBytes: number | undefined;
}

const MAX_CALLS = 1000;
const MAX_CONTEXT_BYTES = 16 * 1024;

export class Asks {
  readonly #host: AskHost;
  readonly #options: AsksOptions;
  /** By run. */
  readonly #going = new Map<string, Ask>();
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(host: Omit<AskHost, "isOurs" | "onLeft">, options: AsksOptions) {
    this.#options = options;
    this.#host = {
      ...host,
      isOurs: (runId) => this.#going.has(runId),
      onLeft: ({ ids: { runId } }) => this.#onLeft(runId),
    };
  }

  /** Throws `invalid_command`, `too_many_open` or, once closed, `session_closed`. */
  create(message: string, source: AskRequest["source"], options: AskOptions): Ask {
    if (this.#emptied !== undefined) throw new LoomError("session_closed", "the agent was closed");
    const { maxCalls = MAX_CALLS } = this.#options;
    if (this.#going.size >= maxCalls)
      throw new LoomError("too_many_open", `${maxCalls} calls of this agent are going already`, { limit: maxCalls });
    const ask = new Ask(this.#host, this.#check(message, source, options));
    this.#going.set(ask.ids.runId, ask);
    return ask;
  }

  #check(message: string, source: AskRequest["source"], options: AskOptions): AskRequest {
    const { requestId = randomUUID(), context, signal, sessionId, whenBusy, approve = this.#options.approve } = options;
    if (typeof message !== "string") throw invalid(`the message must be a text, not ${describeValue(message)}`);
    if (typeof requestId !== "string" || requestId === "" || requestId.length > MAX_NAME_LENGTH)
      throw invalid(`\`requestId\` must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
    if (!requestId.isWellFormed()) throw invalid("`requestId` has half a character in it");
    return {
      message,
      source,
      requestId,
      context: context === undefined ? undefined : this.#checkContext(context),
      signal,
      sessionId,
      whenBusy,
      approve,
    };
  }

  /** A copy: the caller may go on with theirs while the call waits for its turn. */
  #checkContext(context: unknown): JsonObject {
    const { maxContextBytes = MAX_CONTEXT_BYTES } = this.#options;
    let text: string;
    try {
      // Undefined for what JSON has no word for.
      const written: string | undefined = JSON.stringify(context);
      text = written ?? "";
    } catch (cause) {
      throw new LoomError("invalid_command", "`context` cannot be written as JSON", {}, { cause });
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > maxContextBytes)
      throw invalid(`\`context\` may have ${maxContextBytes} bytes as JSON, not ${bytes}`, { limit: maxContextBytes });
    const copy: unknown = text === "" ? undefined : JSON.parse(text);
    if (!isJsonObject(copy)) throw invalid(`\`context\` must be an object, not ${describeValue(context)}`);
    return copy;
  }

  /** Ends all that is going, and resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#emptied ??= Promise.withResolvers();
    for (const ask of this.#going.values()) ask.stop(new LoomError("cancelled", "the agent was closed"));
    if (this.#going.size === 0) this.#emptied.resolve();
    await this.#emptied.promise;
  }

  #onLeft(runId: string): void {
    this.#going.delete(runId);
    if (this.#going.size === 0) this.#emptied?.resolve();
  }
}

function invalid(message: string, details: JsonObject = {}): LoomError {
  return new LoomError("invalid_command", message, details);
}
