/** The calculator as a tool. */
import { defineTool } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import { toolResult } from "../tool-result.ts";
import type { Tool } from "../tool.ts";
import { evaluateExpression, type EvaluateOptions } from "./evaluate-expression.ts";

/** Characters on each side of the place that is wrong. */
const AROUND = 20;

export function createCalculatorTool(options: EvaluateOptions = {}): Tool {
  return defineTool({
    name: "calculator",
    description:
      "Computes an arithmetic expression exactly: + - * / ^, % for percent (15%) or remainder (7 % 3), factorial !, " +
      "parentheses; sqrt, cbrt, abs, sign, min, max, round(x, digits), floor, ceil, trunc, log (base 10, or log(x, base)), " +
      "ln, log2, exp, sin, cos, tan, asin, acos, atan (radians), pow, mod; pi, e. " +
      "Use it for any arithmetic instead of computing yourself.",
    input: describeInput<{ expression: string }>({
      type: "object",
      properties: {
        expression: { type: "string", description: "For example (1 + 2) * 3^2, or 128 * 15%" },
      },
      required: ["expression"],
    }),
    idempotent: true,
    execute: ({ expression }) => {
      const result = evaluateExpression(expression, options);
      if (result.ok)
        return toolResult({ text: result.text, output: { expression, result: result.text, exact: result.isExact } });
      const { message, position } = result;
      const before = expression.slice(Math.max(0, position - AROUND), position).toWellFormed();
      const after = expression.slice(position, position + AROUND).toWellFormed();
      return toolResult({
        text: `At character ${position + 1}: ${message}. The place: ${before}⟨here⟩${after}`,
        isError: true,
      });
    },
  });
}
