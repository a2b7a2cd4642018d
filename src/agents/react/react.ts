/**
 * ReAct: the model thinks, acts with tools and observes the results until it answers. This file has the options and
 * turns the final state into a reply.
 */
import type { FinishOptions } from "../../engine/run-contract.ts";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { defineTool } from "../../tools/define-tool.ts";
import type { StandardSchema } from "../../tools/standard-schema.ts";
import type { Tool } from "../../tools/tool.ts";
import { toolResult } from "../../tools/tool-result.ts";
import type { AgentKind } from "../agent-kind.ts";
import { isBlank } from "../compose-question.ts";
import { createReactGraph, listFaults, type ReactContext, type ReactState } from "./react-graph.ts";
import {
  acceptInteger,
  acceptObject,
  ANY_OPTION,
  type OptionTable,
  readOptions,
  TEXT_OPTION,
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

/** The schema of structured output. */
export interface StructuredOutput {
  /** Any Standard Schema, such as a zod object. */
  readonly schema: StandardSchema;
  /** JSON Schema of the output. Needed only if `schema` cannot produce one. */
  readonly inputSchema?: JsonObject;
  /** Explains the output to the model. Default: a short instruction. */
  readonly description?: string;
}

const MAX_ROUNDS = 25;
const ANSWER_TOOL = "final_answer";

export const REACT_OPTIONS: OptionTable<ReactOptions> = {
  maxIterations: acceptInteger(0),
  answer: acceptObject<StructuredOutput>({ schema: ANY_OPTION, inputSchema: ANY_OPTION, description: TEXT_OPTION }),
};

export function createReact(options: ReactOptions): AgentKind {
  const { answer, maxIterations = MAX_ROUNDS } = readOptions(REACT_OPTIONS, options, { isPart: true });
  const answerTool = answer === undefined ? undefined : ANSWER_TOOL;
  return {
    name: "react",
    tools: answer === undefined ? [] : [createAnswerTool(answer)],
    async answer(agentContext) {
      const context: ReactContext = { ...agentContext, maxIterations, answerTool };
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
  const { lastNodeId: nodeId, maxIterations, answerTool, output, stage } = context;
  if (output !== undefined) {
    if (isJsonObject(answer)) return { reply: JSON.stringify(answer["json"]), nodeId };
    const fault = listFaults(state).at(-1) ?? "The model did not answer.";
    throw new LoomError("model_output_invalid", `The model's reply is not the requested output. ${fault}`, { stage });
  }
  if (answer !== null) return { reply: JSON.stringify(answer), nodeId };
  if (answerTool !== undefined)
    throw new LoomError("iteration_limit", "The model did not return an answer that matches the schema", {
      stage: "iteration_limit",
    });
  const last = messages.at(-1);
  const hasText = last?.role === "assistant" && last.content.some(({ type }) => type === "text");
  // A model that only called tools until the limit still needs a reply.
  if (hasText || round < maxIterations) return {};
  return { reply: `I reached my limit of ${maxIterations} rounds without an answer.`, nodeId };
}

function createAnswerTool({ schema, inputSchema, description }: StructuredOutput): Tool {
  return defineTool({
    name: ANSWER_TOOL,
    title: { en: "Give the final answer", zh: "给出最终答案" },
    description: description ?? "Returns the final answer in the required format. Call it once, when you are done.",
    input: schema,
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: (answer) => toolResult({ text: "The answer was accepted.", output: answer }),
  });
}
