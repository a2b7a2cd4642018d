import { expect, it } from "vitest";
import { findCall, listCalls, nameModel } from "./list-calls.ts";

it.each([
  ["offline/offline", "offline"],
  ["openai/gpt-5", "openai/gpt-5"],
  ["a/ab", "a/ab"],
  ["a/a/a", "a/a/a"],
  ["m", "m"],
])("shortens %s to %s", (model, name) => {
  expect(nameModel(model)).toBe(name);
});

it("lists tokens that were reported without a call between the calls", () => {
  const call = (id: string) => ({ id, status: "ok" }) as const;
  const step = (callId: string | undefined, frame: number) =>
    ({ callId, frame, prompt: 2, completion: 1, cached: 0, total: 3, sum: 0 }) as const;
  const index = { calls: [1, 5].map((frame) => ({ nodeKey: undefined, frame })) };
  const usage = [step("a", 2), step("a", 3), step(undefined, 4), step("b", 6)];
  const calls = listCalls({ modelCalls: ["a", "b"].map(call) }, index, usage);
  expect(calls.map(({ id, frame, prompt }) => [id, frame, prompt])).toEqual([
    ["a", 1, 4],
    ["", 4, 2],
    ["b", 5, 2],
  ]);
  expect(findCall(calls, 4)?.id).toBe("a");
});
