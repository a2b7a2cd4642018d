// Tests that reading documents must pass with every store.
import { describe, expect, it } from "vitest";
import type { KnowledgeBaseOptions } from "../../src/context/knowledge-base/knowledge-base-options.ts";
import type { KnowledgeBase, ReadDocumentOptions } from "../../src/context/knowledge-base/knowledge-base.ts";

export function testReading(open: (options?: KnowledgeBaseOptions) => Promise<KnowledgeBase>): void {
  const PARAGRAPHS = Array.from(
    { length: 30 },
    (_, index) => `Paragraph ${index} of the text. It has some words.\nAnd a second line.`,
  );

  describe("read", () => {
    it("returns the text of a document in parts", async () => {
      await using base = await open({ maxChunkCharacters: 200, overlapCharacters: 50 });
      const text = `# Title\n\n${PARAGRAPHS.join("\n\n")}`;
      await base.addText({ uri: "a", text });
      await base.addText({ uri: "b", text: "Another document." });
      const read = async (options?: ReadDocumentOptions) => base.read("a", options);
      const whole = await read({ limit: 200 });
      expect(whole?.passages.map((one) => one.text).join("")).toBe(text);
      expect(whole?.document).toEqual(await base.get("a"));
      const count = whole?.document.chunks ?? 0;
      expect([whole?.from, whole?.passages.length]).toEqual([0, count]);
      expect(count).toBeGreaterThan(6);
      const parts = [];
      for (let from = 0; from < count; from += 3) {
        const part = await read({ from, limit: 3 });
        expect(part?.from).toBe(from);
        parts.push(...(part?.passages ?? []));
      }
      expect(parts).toEqual(whole?.passages);
      expect(await read({ from: count })).toMatchObject({ from: count, passages: [] });
      expect(await read({ from: 1e12 })).toMatchObject({ from: count, passages: [] });
    });

    it("starts before the passage with a line", async () => {
      await using base = await open({ maxChunkCharacters: 200, overlapCharacters: 0 });
      await base.addText({ uri: "a", text: PARAGRAPHS.join("\n\n") });
      for (const [query, position] of [
        ["Paragraph 0", 0],
        ["Paragraph 29", 4],
      ] as const) {
        const [hit] = await base.search(query);
        const found = await base.read("a", { line: hit?.firstLine ?? 0 });
        const at = found?.passages.findIndex((one) => one.firstLine === hit?.firstLine);
        expect([query, at]).toEqual([query, position]);
      }
      expect(await base.read("a", { line: 1e12 })).toMatchObject({ passages: [{}, {}, {}, {}] });
    });

    it("returns nothing for an unknown document, and no passages of an empty one", async () => {
      await using base = await open();
      await base.addText({ uri: "a", text: "" });
      expect(await base.read("a")).toMatchObject({ from: 0, passages: [] });
      expect(await base.read("a", { line: 3 })).toMatchObject({ from: 0, passages: [] });
      expect(await base.read("b")).toBeUndefined();
      expect(await base.read("a\0")).toBeUndefined();
      await base.removeDocument("a");
      expect(await base.read("a")).toBeUndefined();
      await expect(base.read("a", { limit: Number.NaN })).rejects.toMatchObject({ code: "invalid_arguments" });
    });

    it("limits the characters of a part", async () => {
      await using base = await open({ maxChunkCharacters: 250_000 });
      await base.addText({ uri: "a", text: Array.from({ length: 3 }, () => "x".repeat(240_000)).join("\n\n") });
      expect((await base.read("a"))?.passages).toHaveLength(1);
      expect((await base.read("a", { from: 2 }))?.passages).toHaveLength(1);
    });
  });
}
