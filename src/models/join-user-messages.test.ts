import fc from "fast-check";
import { expect, it } from "vitest";
import { joinUserMessages } from "./join-user-messages.ts";
import type { ModelMessage } from "./model.ts";

it("joins consecutive user messages and keeps the order of their parts", () => {
  const message = fc.record({
    role: fc.constantFrom("user", "assistant"),
    content: fc.array(fc.record({ type: fc.constant("text"), text: fc.string({ minLength: 1 }) }), { minLength: 1 }),
  });
  const partsOf = (messages: readonly ModelMessage[]) =>
    messages.flatMap(({ role, content }) =>
      typeof content === "string" ? [] : content.map((part) => ({ role, part })),
    );
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const joined = joinUserMessages(messages);
      expect(partsOf(joined)).toEqual(partsOf(messages));
      const isDouble = ({ role }: ModelMessage, index: number, all: readonly ModelMessage[]) =>
        role === "user" && all[index - 1]?.role === "user";
      expect(joined.some(isDouble)).toBe(false);
      if (!messages.some(isDouble)) expect(joined).toBe(messages);
    }),
    { seed: 7 },
  );
});
