/**
 * ReAct: the model thinks, acts with tools and observes the results until it answers. This file has the options and
 * turns the final state into a reply.
 */
import type { FinishOptions } from "../../engine/run-contract.ts";
import { LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { AgentKind } from "../agent-kind.ts";
import { isBlank } from "../compose-question.ts";
import { OutputFormat, STRUCTURED_OUTPUT_OPTIONS, type StructuredOutput } from "../output-format.ts";
import { createReactGraph, listFaults, type ReactContext, type ReactState } from "./react-graph.ts";
import {
  acceptInteger,
  acceptObject,
  type OptionTable,
  readOptions,
  withDefault,
} from "../../protocol/read-options.ts";

/** Options of the kind `react`. */
export interface ReactOptions {
  /**
   * Maximum rounds of model and tool calls; then the agent reports `iteration_limit` and answers with what it has.
   * Default: 25.
   */
  readonly maxIterations?: number;
  /** Structured output: the reply is JSON that matches this schema. Default: plain text. */
  readonly answer?: StructuredOutput;
}

export const REACT_OPTIONS = {
  maxIterations: withDefault(acceptInteger(0), 25),
  answer: acceptObject(STRUCTURED_OUTPUT_OPTIONS),
} as const satisfies OptionTable<ReactOptions>;

export function createReact(options: ReactOptions): AgentKind {
  const { answer, maxIterations } = readOptions(REACT_OPTIONS, options, { isPart: true });
  const createOutput = answer === undefined ? undefined : (): OutputFormat => OutputFormat.ofAgent(answer);
  // Refuses a schema that cannot be used before the first run.
  createOutput?.();
  return {
    name: "react",
    createOutput,
    async answer(agentContext) {
      const context: ReactContext = { ...agentContext, maxIterations };
      const { question, files } = context;
      const content = [...(isBlank(question) ? [] : [{ type: "text", text: question } as const]), ...files];
      const messages = [{ role: "user", content }] as const;
      const state = await context.executeGraph(createReactGraph(context), { messages });
      return describeAnswer(state, context);
    },
  };
}

function describeAnswer(state: ReactState, context: ReactContext): FinishOptions {
  const { answer, round, messages } = state;
  const { lastNodeId: nodeId, maxIterations, output, stage } = context;
  if (output !== undefined) {
    // An earlier version, which may have left the run unfinished, kept the value itself.
    const json = isJsonObject(answer) && "json" in answer ? answer["json"] : answer;
    if (answer !== null) return { reply: JSON.stringify(json), nodeId };
    const fault = listFaults(state).at(-1) ?? "The model did not answer.";
    throw new LoomError("model_output_invalid", `The model's reply is not the requested output. ${fault}`, { stage });
  }
  const last = messages.at(-1);
  const hasText = last?.role === "assistant" && last.content.some(({ type }) => type === "text");
  // A model that only called tools until the limit still needs a reply.
  if (hasText || round < maxIterations) return {};
  return { reply: `I reached my limit of ${maxIterations} rounds without an answer.`, nodeId };
}
