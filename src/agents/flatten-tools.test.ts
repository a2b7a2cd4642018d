import { expect, it } from "vitest";
import { findRuleViolation } from "../../test/agents/find-rule-violation.ts";
import type { ModelMessage } from "../models/model.ts";
import { flattenTools } from "./flatten-tools.ts";

const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });
const said = (text: string): ModelMessage => ({ role: "assistant", content: [{ type: "text", text }] });

it("writes calls and results as text in one assistant message", () => {
  const messages: readonly ModelMessage[] = [
    user("Add"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "Let me see. " },
        { type: "tool-call", toolCallId: "1", toolName: "add", input: { a: 1 } },
        { type: "tool-call", toolCallId: "2", toolName: "add", input: { a: 2 } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "1", toolName: "add", output: { type: "text", value: "3" } },
        { type: "tool-result", toolCallId: "2", toolName: "add", output: { type: "json", value: [4] } },
      ],
    },
    said("Done."),
    user("Thanks"),
  ];
  const flat = flattenTools(messages);
  expect(flat.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(flat[1]?.content).toEqual([
    { type: "text", text: "Let me see. " },
    { type: "text", text: '[add({"a":1}) returned: 3]\n' },
    { type: "text", text: '[add({"a":2}) returned: [4]]\n' },
    { type: "text", text: "Done." },
  ]);
  expect(findRuleViolation(flat)).toBeUndefined();
});

it("keeps a conversation without tools as it is", () => {
  const messages = [user("Hello"), said("Hello.")];
  expect(flattenTools(messages)).toBe(messages);
});
