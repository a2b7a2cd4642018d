/** A source from a streamed run of `@openai/agents`. Approvals go back to it if the source is a function. */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { AgentsReader } from "./agents-reader.ts";
import type { ForeignSource, SourceAnswer, SourceContext, SourceEvent } from "./source.ts";

/** The part of a `StreamedRunResult` that is used. */
export interface OpenAIAgentsResult {
  /** The events, as a `ReadableStream`. */
  toStream(): object;
  /** Calls that wait for an approval, once the stream has ended. */
  readonly interruptions: readonly object[];
  /** The `RunState`. */
  readonly state: object;
  /** The agent that runs. */
  readonly currentAgent: { readonly name: string } | undefined;
}

/** What the function of `fromOpenAIAgents` receives. */
export interface OpenAIAgentsContext extends SourceContext {
  /** After approvals were answered: the `RunState` to pass to `run` instead of the input. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the caller passes it to `run`, whose types are not known here
  readonly state?: any;
}

/** What to record: a streamed result, its promise, or a function that starts the run, and continues it from a state. */
export type OpenAIAgentsInput =
  | OpenAIAgentsResult
  | PromiseLike<OpenAIAgentsResult>
  | ((context: OpenAIAgentsContext) => OpenAIAgentsResult | PromiseLike<OpenAIAgentsResult>);

/**
 * Creates a source from a streamed run of `@openai/agents`.
 *
 * ```ts
 * const source = fromOpenAIAgents(({ signal, state }) => run(agent, state ?? message, { stream: true, signal }));
 * const recorded = await record(log, { sessionId: "chat-7", message }, source);
 * ```
 *
 * Each agent is a node run, and each answer of its model a node run inside. Calls that need an approval surface as
 * approvals of the run; the function is called again with the answered `state`. A result that was started by the caller
 * cannot be continued, so its approvals are rejected as `approval_unavailable`.
 */
export function fromOpenAIAgents(input: OpenAIAgentsInput): ForeignSource {
  const reader = new AgentsReader();
  let result: OpenAIAgentsResult | undefined;
  const read = async function* (open: () => unknown, signal: AbortSignal): AsyncGenerator<SourceEvent> {
    try {
      // Calls that start are written before the SDK runs them.
      yield* reader.drain();
      result = checkResult(await open());
      yield* readResult(result, reader, signal);
    } catch (error) {
      const failure = reader.fail(error, result);
      yield* reader.drain();
      throw failure;
    }
  };
  if (typeof input !== "function") {
    // The rejection is handled when the source starts.
    void Promise.resolve(input).then(undefined, () => undefined);
    return { framework: "openai-agents", start: ({ signal }) => read(() => input, signal) };
  }
  return {
    framework: "openai-agents",
    start: (context) => read(() => input(context), context.signal),
    resume: (answers, context) => {
      const { state } = result as OpenAIAgentsResult;
      answerAll(result as OpenAIAgentsResult, answers, reader);
      return read(() => input({ ...context, state }), context.signal);
    },
  };
}

async function* readResult(
  result: OpenAIAgentsResult,
  reader: AgentsReader,
  signal: AbortSignal,
): AsyncGenerator<SourceEvent> {
  reader.begin(result.currentAgent);
  const stream = (result.toStream() as ReadableStream<unknown>).getReader();
  // Also aborts a run that was started without the signal.
  const stop = (): void => void stream.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await stream.read();
      if (done) break;
      reader.take(value);
      yield* reader.drain();
    }
    if (signal.aborted) return;
    reader.end(result);
    yield* reader.drain();
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** The methods of a `RunState` that answer its interruptions. */
interface AnswerableState {
  approve(item: object): void;
  reject(item: object, options?: { readonly message?: string }): void;
}

function answerAll(
  { state, interruptions }: OpenAIAgentsResult,
  answers: readonly SourceAnswer[],
  reader: AgentsReader,
): void {
  const answerable = state as AnswerableState;
  for (const item of interruptions) {
    const asked = AgentsReader.readCall(item);
    const answer = answers.find(({ callId }) => callId === asked.callId);
    const message = explainRejection(answer, asked.input);
    if (answer?.decision === "approved" && message === undefined) {
      reader.start(asked);
      answerable.approve(item);
    } else {
      reader.markRejected(asked.callId);
      answerable.reject(item, message === undefined ? {} : { message });
    }
  }
}

/** The text of a rejection for the model; undefined if there is none. The SDK cannot run a call with other arguments. */
function explainRejection(answer: SourceAnswer | undefined, asked: JsonObject): string | undefined {
  if (answer === undefined || answer.decision !== "approved") return answer?.reason;
  const edited = JSON.stringify(answer.arguments);
  if (edited === JSON.stringify(asked)) return undefined;
  return `The user did not approve this call, but would approve it with these arguments: ${edited}`;
}

function checkResult(value: unknown): OpenAIAgentsResult {
  const { toStream } = Object(value) as { readonly toStream?: unknown };
  if (typeof toStream === "function") return value as OpenAIAgentsResult;
  const advice = "`fromOpenAIAgents` needs the result of `run` with `stream: true`";
  throw new LoomError("invalid_arguments", `${advice}, not ${describeValue(value)}`);
}
