/**
 * A question to the user that needs a yes, as a tool: each call waits for their consent, and gives nothing but that they
 * have agreed. A refusal is told as that of any other tool. What is agreed to is done by others.
 */
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import type { Tool } from "./tool.ts";

interface ConsentInput {
  readonly question: string;
}

/** The tool `ask_consent`. */
export function createConsentTool(): Tool {
  return defineTool({
    name: "ask_consent",
    description:
      "Asks the user to agree to something before you do it. Use it where the user wants to be asked first, or where " +
      "a step cannot be taken back. Go on only when this tool says that the user agreed.",
    input: describeInput<ConsentInput>({
      type: "object",
      properties: {
        question: { type: "string", minLength: 1, maxLength: 2000, description: "What they are asked to agree to" },
      },
      required: ["question"],
    }),
    approval: "always",
    // It does nothing but what was asked already.
    idempotent: true,
    execute: () => "The user agreed.",
  });
}
