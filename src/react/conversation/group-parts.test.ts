import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MessagePart } from "../../client/index.ts";
import type { ThinkingPart } from "../../client/view.ts";
import { groupParts, hasPart } from "./group-parts.ts";

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

  it("groups the parts of each superseded attempt, where the next one begins", () => {
    const old = (part: MessagePart, supersededBy = 2): MessagePart => ({ ...part, supersededBy });
    const parts = [old(think("a")), write("tool"), old(write("b")), old(write("c"), 3), write("d")];
    expect(groupParts(parts)).toEqual([
      write("tool"),
      { type: "superseded", key: "superseded 2", parts: [parts[0], parts[2]] },
      { type: "superseded", key: "superseded 3", parts: [parts[3]] },
      write("d"),
    ]);
    expect(groupParts(parts).findIndex((row) => hasPart(row, "a"))).toBe(1);
  });

  it("keeps all parts in order, with unique row keys", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (kinds) => {
        const parts = kinds.map((isThought, index) => (isThought ? think(`${index}`) : write(`${index}`)));
        const rows = groupParts(parts);
        const flat = rows.flatMap((row): readonly MessagePart[] => ("parts" in row ? row.parts : [row]));
        expect(flat.every((part, index) => part === parts[index])).toBe(true);
        expect(flat).toHaveLength(parts.length);
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });
});
