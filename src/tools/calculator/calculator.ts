/** The `calculator` tool. */
import { defineTool } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import { nameSubject } from "../summarize-tool.ts";
import { toolResult } from "../tool-result.ts";
import type { Tool } from "../tool.ts";
import { evaluateExpression } from "./evaluate-expression.ts";

/** Characters quoted on each side of the error. */
const AROUND = 20;

/**
 * Creates the `calculator` tool, which evaluates arithmetic expressions.
 *
 * ```ts
 * await using helper = agent({ provider: "offline", tools: [createCalculatorTool()] });
 * ```
 */
export function createCalculatorTool(): Tool {
  return defineTool({
    name: "calculator",
    title: { en: "Calculate", zh: "计算" },
    summarize: ({ expression }) => ({ en: `Calculate ${expression}`, zh: `计算 ${expression}` }),
    description:
      "Evaluates an arithmetic expression exactly: + - * / ^, % for percent (15%) or remainder (7 % 3), factorial !, " +
      "parentheses; sqrt, cbrt, abs, sign, min, max, round(x, digits), floor, ceil, trunc, log (base 10, or log(x, base)), " +
      "ln, log2, exp, sin, cos, tan, asin, acos, atan (radians), pow, mod; pi, e. " +
      "Use it for all arithmetic instead of calculating yourself.",
    input: describeInput<{ expression: string }>({
      type: "object",
      properties: {
        expression: { type: "string", description: "For example (1 + 2) * 3^2, or 128 * 15%" },
      },
      required: ["expression"],
    }),
    idempotent: true,
    execute: ({ expression }) => {
      const result = evaluateExpression(expression);
      if (result.ok)
        return toolResult({
          text: result.text,
          output: { expression, result: result.text, exact: result.isExact },
          summary: nameSubject({ en: `Calculated ${expression}`, zh: `已计算 ${expression}` }, result.text),
        });
      const { message, position } = result;
      const before = expression.slice(Math.max(0, position - AROUND), position).toWellFormed();
      const after = expression.slice(position, position + AROUND).toWellFormed();
      return toolResult({
        text: `Error at character ${position + 1}: ${message}. Context: ${before}⟨here⟩${after}`,
        isError: true,
      });
    },
  });
}
