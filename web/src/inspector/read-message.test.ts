import { expect, test } from "vitest";
import { readMessage } from "./read-message.ts";

test("reads text, tool calls and results, and shows anything else as JSON", () => {
  expect(readMessage({ role: "system", content: "Be\n  brief." })).toEqual({
    role: "system",
    preview: "Be brief.",
    parts: [{ kind: "text", label: "", text: "Be\n  brief." }],
  });
  const { parts } = readMessage({
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm" },
      { type: "tool-call", toolName: "add", toolCallId: "c", input: { a: 1 } },
      { type: "tool-result", toolName: "add", toolCallId: "c", output: { type: "text", value: "3" } },
      7,
    ],
  });
  expect(parts).toEqual([
    { kind: "text", label: "reasoning", text: "Hm" },
    { kind: "json", label: "tool-call · add", text: '{"a":1}' },
    { kind: "text", label: "tool-result · add", text: "3" },
    { kind: "json", label: "", text: "7" },
  ]);
  const signed = { type: "tool-call", toolName: "add", input: {}, providerOptions: { a: {} } };
  expect(readMessage({ role: "assistant", content: [signed] })).toMatchObject({
    preview: 'tool-call · add {"toolName":"add","input":{},"providerOptions":{"a":{}}}',
  });
  expect(readMessage(null)).toEqual({ role: undefined, preview: "", parts: [] });
  expect(readMessage({ $omitted: { bytes: 9 } })).toMatchObject({ role: "", preview: '{"$omitted":{"bytes":9}}' });
});
