/**
 * The `ask_consent` tool: asks the user a yes-or-no question. Every call needs approval, and the result only confirms
 * that the user agreed. A rejection is reported like that of any other tool.
 */
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

interface ConsentInput {
  readonly question: string;
}

/** Creates the `ask_consent` tool, which asks the user for consent before the model takes a step. */
export function createConsentTool(): Tool {
  return defineTool({
    name: "ask_consent",
    title: { en: "Ask for approval", zh: "请求用户同意" },
    description:
      "Asks the user for approval of a step. Use it when the user wants to be asked first, or when " +
      "a step cannot be undone. Continue only if this tool reports that the user agreed.",
    input: describeInput<ConsentInput>({
      type: "object",
      properties: {
        question: {
          type: "string",
          minLength: 1,
          maxLength: 2000,
          description: "What you want to do, as a question to the user",
        },
      },
      required: ["question"],
    }),
    approval: "always",
    // Running it again has no effect.
    idempotent: true,
    execute: () => toolResult({ text: "The user agreed.", summary: { en: "Received approval", zh: "已获得同意" } }),
  });
}
