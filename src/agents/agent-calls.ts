/**
 * The active calls of `run` and `stream` of one agent: validates their options, limits their number and stops them on
 * close.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { MAX_NAME_LENGTH } from "../log/log.ts";
import { isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { type ClientTool, readClientTools, readInstructions, writeClientTool } from "../protocol/run-additions.ts";
import { describeValue } from "../protocol/fault.ts";
import type { Approve } from "./answer-approval.ts";
import { AgentCall, type AgentCallHost, type AgentCallOptions, type AgentCallRequest } from "./agent-call.ts";
import { type AgentInput, checkInput, type InputQuestion } from "./agent-input.ts";
import { readCallOptions } from "./check-agent-options.ts";
import { CallContext, inheritRules } from "./parent-call.ts";
import { OutputFormat } from "./output-format.ts";
import { CallQueues, type CallQueueRequest, type QueuedCall } from "./call-queues.ts";
import { ANY_OPTION, type OptionTable, readOptions } from "../protocol/read-options.ts";

export interface AgentCallsOptions {
  /** Whether other processes can read the log. */
  readonly hasLog: boolean;
  /** Whether the agent can answer calls that ask for structured output. */
  readonly hasOutput: boolean;
  readonly approve: Approve | undefined;
  readonly maxCalls: number | undefined;
  readonly maxContextBytes: number | undefined;
}

/** How the program made a call. */
export interface CallManner extends Pick<AgentCallRequest["origin"], "source" | "agent"> {
  /** Whether the caller can answer approval requests while the run goes on. */
  readonly isAnswerable?: boolean;
}

const MAX_CALLS = 1000;
const MAX_CONTEXT_BYTES = 16 * 1024;

export class AgentCalls {
  readonly #host: AgentCallHost;
  readonly #options: AgentCallsOptions;
  /** By run ID. */
  readonly #active = new Map<string, AgentCall>();
  readonly #queues = new CallQueues();
  readonly #context = new CallContext();
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(
    host: Omit<AgentCallHost, "enqueue" | "enterContext" | "isActive" | "onReleased">,
    options: AgentCallsOptions,
  ) {
    this.#options = options;
    this.#host = {
      ...host,
      enqueue: (request) => this.#enqueue(request),
      enterContext: (ids) => this.#context.enter(ids),
      isActive: (runId) => this.#active.has(runId),
      onReleased: ({ ids: { runId } }) => this.#onReleased(runId),
    };
  }

  /** Throws `invalid_command`, `invalid_arguments`, `too_many_open` or, after `close`, `session_closed`. */
  create(message: AgentInput, how: CallManner, options: AgentCallOptions): AgentCall {
    try {
      if (this.#drained !== undefined) throw new LoomError("session_closed", "The agent is closed");
      const { maxCalls: limit = MAX_CALLS } = this.#options;
      if (this.#active.size >= limit)
        throw new LoomError("too_many_open", `The agent already has ${limit} active calls`, { limit });
      const call = new AgentCall(this.#host, this.#check(message, how, options));
      this.#active.set(call.ids.runId, call);
      return call;
    } catch (error) {
      throw isLoomError(error) ? withIds(error, options) : error;
    }
  }

  #enqueue(request: CallQueueRequest): QueuedCall {
    const { sessionId, whenBusy } = request;
    const around = this.#context.findRun(sessionId, (runId) => this.#active.has(runId));
    if (around !== undefined && whenBusy !== "interrupt")
      throw new LoomError(
        "run_live",
        "A call inside a run of the same session would wait for itself; use another session",
        { live_run_id: around },
      );
    return this.#queues.join(request);
  }

  #check(
    message: AgentInput,
    { source, agent, isAnswerable = false }: CallManner,
    given: AgentCallOptions,
  ): AgentCallRequest {
    const { requestId = randomUUID(), context, signal, sessionId, whenBusy, ...options } = readCallOptions(given);
    const output = OutputFormat.create(options);
    const { onInterruption = output === undefined ? undefined : "fail" } = options;
    const { approve = this.#options.approve ?? (isAnswerable ? "wait" : undefined) } = options;
    const hasClient = this.#options.hasLog || isAnswerable;
    const clientTools = checkClientTools(options.clientTools);
    if (clientTools !== undefined && !hasClient)
      throw invalid("`clientTools` needs `events` or a `log`; without them, no client can send the results");
    const input = checkInput(message);
    if (this.#host.files === undefined && [input, ...input.earlier.map(({ question }) => question)].some(hasFiles))
      throw invalid("This agent accepts no attachments");
    if (approve === "wait" && !this.#options.hasLog && !isAnswerable)
      throw invalid('`approve: "wait"` needs a `log`; without one, no other process can answer');
    if (output !== undefined && !this.#options.hasOutput) throw invalid("`output` needs an agent of the kind `react`");
    const origin = {
      source,
      agent,
      requestId,
      context: context === undefined ? undefined : this.#checkContext(context),
      clientTools,
      instructions: readInstructions(options.instructions),
      onInterruption,
      ...inheritRules(),
    };
    return { input, origin, signal, sessionId, whenBusy, approve, hasClient, output };
  }

  /** Returns a copy, because the caller may change the object while the call waits for its turn. */
  #checkContext(context: object): JsonObject {
    const { maxContextBytes = MAX_CONTEXT_BYTES } = this.#options;
    let text: string;
    try {
      // Undefined for values that JSON cannot express.
      const written: string | undefined = JSON.stringify(context);
      text = written ?? "";
    } catch (cause) {
      throw new LoomError("invalid_command", "`context` cannot be written as JSON", {}, { cause });
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > maxContextBytes)
      throw invalid(`\`context\` has ${bytes} bytes as JSON; at most ${maxContextBytes} are allowed`, {
        limit: maxContextBytes,
      });
    const copy: unknown = text === "" ? undefined : JSON.parse(text);
    if (!isJsonObject(copy)) throw invalid(`\`context\` must be an object, not ${describeValue(copy)}`);
    return copy;
  }

  /** Stops all calls; resolves when everything is released. */
  async close(): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    for (const call of this.#active.values()) call.stop(new LoomError("cancelled", "The agent was closed"));
    if (this.#active.size === 0) this.#drained.resolve();
    await this.#drained.promise;
  }

  #onReleased(runId: string): void {
    this.#active.delete(runId);
    if (this.#active.size === 0) this.#drained?.resolve();
  }
}

/** Returns a copy, because the caller may change the tools while the call waits for its turn. */
function checkClientTools(tools: readonly ClientTool[] | undefined): readonly ClientTool[] | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) throw invalid(`\`clientTools\` must be a list of tools, not ${describeValue(tools)}`);
  const given: readonly unknown[] = tools;
  for (const [index, tool] of given.entries())
    if (isJsonObject(tool)) readOptions(CLIENT_TOOL, tool, { path: `clientTools[${index}]` });
  let copy: unknown;
  try {
    copy = JSON.parse(
      JSON.stringify(given.map((tool) => (isJsonObject(tool) ? writeClientTool(tool as unknown as ClientTool) : tool))),
    );
  } catch (cause) {
    throw new LoomError("invalid_command", "`clientTools` cannot be written as JSON", {}, { cause });
  }
  return readClientTools(copy);
}

const CLIENT_TOOL: OptionTable<ClientTool> = { name: ANY_OPTION, description: ANY_OPTION, inputSchema: ANY_OPTION };

/** Adds the IDs that the caller passed, if they are valid. */
function withIds({ code, message, details, cause }: LoomError, options: AgentCallOptions): LoomError {
  const { sessionId: session_id, requestId: request_id } = Object(options) as AgentCallOptions;
  const more: { [name: string]: string } = {};
  for (const [name, id] of Object.entries({ session_id, request_id }))
    if (typeof id === "string" && id.length <= MAX_NAME_LENGTH) more[name] = id;
  return new LoomError(code, message, { ...details, ...more }, { cause });
}

function hasFiles({ attachments }: InputQuestion): boolean {
  return attachments.length > 0;
}

function invalid(message: string, details: JsonObject = {}): LoomError {
  return new LoomError("invalid_command", message, details);
}
