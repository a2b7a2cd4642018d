import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPassages } from "./read-passages.ts";
import { splitDocument } from "./split-document.ts";

function rejoin(lines: readonly string[], options: { maxCharacters: number; overlap: number; isMarkdown: boolean }) {
  const chunks = [...splitDocument(lines, options)].filter((chunk) => chunk !== undefined);
  return { chunks, joined: joinPassages(chunks, undefined) };
}

const squeeze = (text: string): string => text.replaceAll(/\s+/g, "");
const OPTIONS = { maxCharacters: 200, overlap: 50, isMarkdown: true };

describe("the joined passages of a document", () => {
  // Few different characters, so that texts repeat themselves.
  const line = fc.string({
    unit: fc.constantFrom("a", "a", "b", " ", ".", "。", "#", "`", "x".repeat(30)),
    maxLength: 30,
  });
  /** The end of the first paragraph fits into the second passage, but not together with the second paragraph. */
  const tight = ["a", "b".repeat(7), "c".repeat(38), "", ...Array.from({ length: 5 }, () => "d".repeat(30))];
  it("have every character once, however they were split", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.boolean(), fc.nat(50), (lines, isMarkdown, overlap) => {
        const { chunks, joined } = rejoin(lines, { ...OPTIONS, isMarkdown, overlap });
        const text = joined.map((one) => one.text).join("");
        expect(squeeze(text)).toBe(squeeze(lines.join("\n")));
        let end = 0;
        for (const [index, { text: added, overlap: repeated }] of joined.entries()) {
          const start = end - repeated;
          end += added.length;
          expect(squeeze(text.slice(start, end))).toBe(squeeze(chunks[index]?.content ?? ""));
        }
      }),
      { numRuns: 400, examples: [[tight, false, 47]] },
    );
  });

  it("keep lines and paragraphs", () => {
    const text = Array.from(
      { length: 20 },
      (_, at) => `The first sentence of paragraph ${at}. Another one, ${at}!\nA line.`,
    ).join("\n\n");
    const { joined } = rejoin(text.split("\n"), OPTIONS);
    expect(joined.map((one) => one.text).join("")).toBe(text);
    expect(joined.some(({ overlap }) => overlap > 0)).toBe(true);
  });

  it("keep a long line in one piece", () => {
    const text = Array.from({ length: 40 }, (_, at) => `Sentence ${at} of a long line.`).join(" ");
    const { joined } = rejoin([text, "Next line."], OPTIONS);
    expect(joined.length).toBeGreaterThan(5);
    expect(joined.map((one) => one.text).join("")).toBe(`${text}\nNext line.`);
  });

  it("keep lines that are all the same", () => {
    const lines = Array.from({ length: 60 }, () => "The same. Line.");
    const { joined } = rejoin(lines, OPTIONS);
    expect(joined.map((one) => one.text).join("")).toBe(lines.join("\n"));
  });
});
