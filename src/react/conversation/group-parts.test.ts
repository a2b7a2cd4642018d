import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MessagePart, ThinkingPart } from "../../client/index.ts";
import { groupParts } from "./group-parts.ts";

const think = (key: string): ThinkingPart => ({
  type: "thinking",
  key,
  text: "",
  channel: "thought",
  isComplete: true,
});
const write = (key: string): MessagePart => ({ type: "text", key, text: "", format: "markdown", isComplete: true });

describe("groupParts", () => {
  it("groups only consecutive thoughts", () => {
    const few = ["a", "b", "c"].map(think);
    expect(groupParts([...few, write("d")])).toEqual([...few, write("d")]);
    const many = [...few, think("d")];
    expect(groupParts([write("x"), ...many, write("y"), think("z")])).toEqual([
      write("x"),
      { type: "thoughts", key: "thoughts a", parts: many },
      write("y"),
      think("z"),
    ]);
  });

  it("keeps all parts in order, with unique row keys", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (kinds) => {
        const parts = kinds.map((isThought, index) => (isThought ? think(`${index}`) : write(`${index}`)));
        const rows = groupParts(parts);
        const flat = rows.flatMap((row): readonly MessagePart[] => (row.type === "thoughts" ? row.parts : [row]));
        expect(flat.every((part, index) => part === parts[index])).toBe(true);
        expect(flat).toHaveLength(parts.length);
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });
});
