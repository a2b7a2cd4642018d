/**
 * The calls of `run` and `stream` an agent has going: it checks what is asked for, bounds how many there are, and ends
 * them all when the agent is closed.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { MAX_NAME_LENGTH } from "../log/log.ts";
import { describeValue, isJsonObject, isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import type { Approve } from "./answer-question.ts";
import { Ask, type AskHost, type AskOptions, type AskRequest } from "./ask.ts";
import { CallContext } from "./call-context.ts";
import { inheritRules } from "./inherited-rules.ts";
import { CallLines, type LineRequest, type Place } from "./call-lines.ts";

export interface AsksOptions {
  /** Whether anybody else could look into the log. */
  readonly hasLog: boolean;
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
  readonly #lines = new CallLines();
  readonly #context = new CallContext();
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(host: Omit<AskHost, "lineUp" | "enter" | "isOurs" | "onLeft">, options: AsksOptions) {
    this.#options = options;
    this.#host = {
      ...host,
      lineUp: (request) => this.#lineUp(request),
      enter: (ids) => this.#context.enter(ids),
      isOurs: (runId) => this.#going.has(runId),
      onLeft: ({ ids: { runId } }) => this.#onLeft(runId),
    };
  }

  /** Throws `invalid_command`, `too_many_open` or, once closed, `session_closed`. */
  create(message: string, source: AskRequest["source"], options: AskOptions): Ask {
    try {
      if (this.#emptied !== undefined) throw new LoomError("session_closed", "the agent was closed");
      const { maxCalls: limit = MAX_CALLS } = this.#options;
      if (this.#going.size >= limit)
        throw new LoomError("too_many_open", `${limit} calls of this agent are going already`, { limit });
      const ask = new Ask(this.#host, this.#check(message, source, options));
      this.#going.set(ask.ids.runId, ask);
      return ask;
    } catch (error) {
      throw isLoomError(error) ? withIds(error, options) : error;
    }
  }

  #lineUp(request: LineRequest): Place {
    const { sessionId, whenBusy } = request;
    const around = this.#context.findRun(sessionId, (runId) => this.#going.has(runId));
    if (around !== undefined && whenBusy !== "interrupt")
      throw new LoomError(
        "run_live",
        "the call is made inside a run of its own session, and would wait for itself: give it another session",
        { live_run_id: around },
      );
    return this.#lines.join(request);
  }

  #check(message: string, source: AskRequest["source"], options: AskOptions): AskRequest {
    if (typeof options !== "object" || options === null)
      throw invalid(`the options must be an object, not ${describeValue(options)}`);
    const { requestId = randomUUID(), context, signal, sessionId, whenBusy, approve = this.#options.approve } = options;
    if (typeof message !== "string") throw invalid(`the message must be a text, not ${describeValue(message)}`);
    if (typeof requestId !== "string" || requestId === "" || requestId.length > MAX_NAME_LENGTH)
      throw invalid(`\`requestId\` must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
    if (!requestId.isWellFormed()) throw invalid("`requestId` has half a character in it");
    if (sessionId !== undefined && typeof sessionId !== "string")
      throw invalid(`\`sessionId\` must be a text, not ${describeValue(sessionId)}`);
    if (signal !== undefined && !isSignal(signal)) throw invalid("`signal` must be an AbortSignal");
    if (whenBusy !== undefined && !["enqueue", "reject", "interrupt"].includes(whenBusy))
      throw invalid(`\`whenBusy\` must be enqueue, reject or interrupt, not ${describeValue(whenBusy)}`);
    if (approve !== undefined && approve !== "wait" && typeof approve !== "function")
      throw invalid(`\`approve\` must be a function or "wait", not ${describeValue(approve)}`);
    if (approve === "wait" && !this.#options.hasLog)
      throw invalid('`approve: "wait"` needs a `log`: without one nobody else could answer');
    return {
      message,
      source,
      requestId,
      context: context === undefined ? undefined : this.#checkContext(context),
      signal,
      sessionId,
      whenBusy,
      approve,
      ...inheritRules(),
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
    if (!isJsonObject(copy)) throw invalid(`\`context\` must be an object, not ${describeValue(copy)}`);
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

/** The ids the caller gave, as far as they are any. */
function withIds({ code, message, details, cause }: LoomError, options: AskOptions): LoomError {
  const { sessionId: session_id, requestId: request_id } = Object(options) as AskOptions;
  const more: { [name: string]: string } = {};
  for (const [name, id] of Object.entries({ session_id, request_id }))
    if (typeof id === "string" && id.length <= MAX_NAME_LENGTH) more[name] = id;
  return new LoomError(code, message, { ...details, ...more }, { cause });
}

/** Also one of another realm, or of a library. */
function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>;
  return (
    typeof aborted === "boolean" && typeof addEventListener === "function" && typeof removeEventListener === "function"
  );
}

function invalid(message: string, details: JsonObject = {}): LoomError {
  return new LoomError("invalid_command", message, details);
}
