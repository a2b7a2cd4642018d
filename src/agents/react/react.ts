/** ReAct: think, act, observe, until there is an answer. Here is what it can be told, and how its last state is a reply. */
import type { FinishOptions } from "../../engine/index.ts";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { defineTool } from "../../tools/define-tool.ts";
import type { StandardSchema } from "../../tools/standard-schema.ts";
import type { Tool } from "../../tools/tool.ts";
import { toolResult } from "../../tools/tool-result.ts";
import type { AgentKind } from "../agent-kind.ts";
import { isBlank } from "../compose-question.ts";
import { createReactGraph, type ReactContext, type ReactState } from "./react-graph.ts";

export interface ReactOptions {
  /** Rounds of thinking and acting; then it answers with what it has. Code `iteration_limit`. */
  readonly maxIterations?: number;
  /** Gives the answer a form: the reply is JSON that fits it. */
  readonly answer?: AnswerForm;
}

export interface AnswerForm {
  readonly schema: StandardSchema;
  /** JSON Schema of the answer, where the schema cannot give its own. */
  readonly inputSchema?: JsonObject;
  readonly description?: string;
}

const MAX_ROUNDS = 25;
const ANSWER_TOOL = "final_answer";

export function createReact({ answer, maxIterations = MAX_ROUNDS }: ReactOptions): AgentKind {
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 0)
    throw new LoomError("graph_invalid", `\`maxIterations\` must be a whole number from 0 on, not ${maxIterations}`);
  const answerTool = answer === undefined ? undefined : ANSWER_TOOL;
  return {
    name: "react",
    tools: answer === undefined ? [] : [createAnswerTool(answer)],
    async answer(agentContext) {
      const context: ReactContext = { ...agentContext, maxIterations, answerTool };
      const { question, files } = context;
      const content = [...(isBlank(question) ? [] : [{ type: "text", text: question } as const]), ...files];
      const messages = [{ role: "user", content }] as const;
      const state = await context.carryOut(createReactGraph(context), { messages });
      return describeAnswer(state, context);
    },
  };
}

function describeAnswer({ answer, round, messages }: ReactState, context: ReactContext): FinishOptions {
  const { lastNodeId: nodeId, maxIterations, answerTool } = context;
  if (answer !== null) return { reply: JSON.stringify(answer), nodeId };
  if (answerTool !== undefined)
    throw new LoomError("iteration_limit", "the model did not give its answer the form it must have", {
      stage: "iteration_limit",
    });
  const last = messages.at(-1);
  const hasText = last?.role === "assistant" && last.content.some(({ type }) => type === "text");
  // A model that calls tools to the last has still to be answered for.
  if (hasText || round < maxIterations) return {};
  return { reply: `I have used my ${maxIterations} rounds and have no answer.`, nodeId };
}

function createAnswerTool({ schema, inputSchema, description }: AnswerForm): Tool {
  return defineTool({
    name: ANSWER_TOOL,
    description: description ?? "Gives the final answer, in the form it must have. Call it once, when you are done.",
    input: schema,
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: (answer) => toolResult({ text: "The answer was accepted.", output: answer }),
  });
}
