/**
 * An agent as a tool of another agent. The call is answered inside the run of the agent that makes it; the reply is the
 * result of the call.
 */
import type { ErrorReporter } from "../engine/error-reporter.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import { acceptInteger, ANY_OPTION, type OptionTable, readOptions } from "../protocol/read-options.ts";
import { defineTool, type ToolDefinition } from "../tools/define-tool.ts";
import { describeInput } from "../tools/describe-input.ts";
import type { StandardSchema } from "../tools/standard-schema.ts";
import { toolResult } from "../tools/tool-result.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { untilAborted } from "../protocol/until-aborted.ts";
import type { AgentStrategy } from "./agent-strategy.ts";
import { findDepth, NestedRun } from "./nested-run.ts";
import { OUTPUT_OPTIONS, OutputFormat, type OutputOptions } from "./output-format.ts";
import { findParentCall, type ParentCall } from "./parent-call.ts";

interface AgentToolInput {
  readonly message: string;
}

/** Options of `Agent.asTool`. */
export interface AgentToolOptions
  extends
    OutputOptions,
    Pick<
      ToolDefinition<StandardSchema<AgentToolInput>>,
      "name" | "title" | "description" | "approval" | "timeoutMs" | "concurrency" | "maxResultCharacters"
    > {
  /**
   * Maximum depth at which the tool can be called: 1 if only agents that are not tools themselves may call it. A deeper
   * call fails the run with `nesting_limit`. Default: 5.
   */
  readonly maxDepth?: number;
}

/** `defineTool` checks the other values. */
const OPTIONS: OptionTable<AgentToolOptions> = {
  ...OUTPUT_OPTIONS,
  name: ANY_OPTION,
  title: ANY_OPTION,
  description: ANY_OPTION,
  approval: ANY_OPTION,
  timeoutMs: ANY_OPTION,
  concurrency: ANY_OPTION,
  maxResultCharacters: ANY_OPTION,
  maxDepth: acceptInteger(1),
};

const MAX_DEPTH = 5;
/** Time limit of one call. It includes the time in which the user does not answer. */
const TIMEOUT_MS = 24 * 60 * 60 * 1000;
/** A call prints each piece of the answer; the limit of characters applies. */
const MAX_EVENTS = 1024 * 1024;

/** What the tool needs from its agent. */
export interface AgentToolHost {
  readonly strategy: AgentStrategy;
  readonly reporter: ErrorReporter;
  assertOpen(): void;
}

export function createAgentTool(host: AgentToolHost, options: AgentToolOptions): Tool {
  readOptions(OPTIONS, options);
  const { maxDepth = MAX_DEPTH, output, outputSchema, outputRetries, ...definition } = options;
  const createFormat = (): OutputFormat | undefined =>
    OutputFormat.create(dropUndefined({ output, outputSchema, outputRetries }));
  const { strategy } = host;
  if (createFormat() !== undefined && strategy.hasOutput !== true)
    throw new LoomError("invalid_arguments", "`output` needs an agent of the kind `react`");
  const { name } = definition;
  return defineTool({
    timeoutMs: TIMEOUT_MS,
    ...definition,
    maxEvents: MAX_EVENTS,
    idempotent: strategy.isRepeatable,
    input: describeInput<AgentToolInput>({
      type: "object",
      properties: {
        message: {
          type: "string",
          minLength: 1,
          description: "The complete task. The agent does not see this conversation.",
        },
      },
      required: ["message"],
    }),
    execute: async ({ message }, context) => {
      host.assertOpen();
      const call = findParentCall();
      if (call === undefined)
        throw new LoomError("unsupported", `The agent ${name} can be called as a tool only by another agent`);
      if (findDepth(call.run) >= maxDepth) await failTooDeep(call, maxDepth, context);
      return answer(host, call, { name, message, format: createFormat() }, context);
    },
  });
}

/** A model could try again on every level, so the whole run ends. */
async function failTooDeep({ run }: ParentCall, maxDepth: number, { signal }: ToolContext): Promise<never> {
  const message = `Agents call each other more than ${maxDepth} levels deep`;
  await run.fail({ message, code: "nesting_limit", details: { limit: maxDepth } });
  signal.throwIfAborted();
  throw new LoomError("nesting_limit", message, { limit: maxDepth });
}

interface AgentToolTask {
  readonly name: string;
  readonly message: string;
  readonly format: OutputFormat | undefined;
}

async function answer(
  { strategy, reporter }: AgentToolHost,
  call: ParentCall,
  { name, message, format: output }: AgentToolTask,
  { callId, signal, print }: ToolContext,
): Promise<unknown> {
  const report = (error: unknown): string => reporter.report(error);
  const run = new NestedRun(call, { name, callId, message, signal, print, report });
  // The call may end while the agent does not stop.
  const onAbort = (): void => run.end({ error: signal.reason });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const answering = strategy.answer(call.log, run, { output, isNested: true });
    const { reply } = await untilAborted(answering, signal);
    const text = reply ?? run.answer;
    run.end();
    return output === undefined ? text : toolResult({ text, output: output.value });
  } catch (error) {
    signal.throwIfAborted();
    const failure = isLoomError(error)
      ? error
      : new LoomError("run_failed", "The agent failed unexpectedly", { error_id: report(error) }, { cause: error });
    run.end({ error: failure });
    throw failure;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
