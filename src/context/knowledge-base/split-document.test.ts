import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHeading, splitDocument } from "./split-document.ts";

const split = (text: string, maxCharacters = 200, overlap = 0) =>
  [...splitDocument(text.split("\n"), { maxCharacters, overlap, isMarkdown: true })].filter((one) => one !== undefined);

const filler = (words: number): string => "lorem ".repeat(words).trim();

describe("splitDocument", () => {
  it("splits at headings and keeps their path and lines", () => {
    const text = `# A\n\n${filler(20)}\n\n## B\n\n${filler(20)}\n\n### C\n\n${filler(20)}\n\n## D\n\n${filler(20)}`;
    expect(split(text).map(({ headings, firstLine, lastLine }) => [headings.join("/"), firstLine, lastLine])).toEqual([
      ["A", 1, 3],
      ["A/B", 5, 7],
      ["A/B/C", 9, 11],
      ["A/D", 13, 15],
    ]);
  });

  it("reads underlined headings", () => {
    const text = `Title\n=====\n\n${filler(20)}\n\nPart\n----\n\n${filler(20)}`;
    expect(split(text).map(({ headings }) => headings)).toEqual([["Title"], ["Title", "Part"]]);
  });

  it("joins small sections and never leaves a heading alone", () => {
    expect(split("# A\n\n## B\n\none\n\n## C\n\ntwo")).toMatchObject([{ headings: ["A"], firstLine: 1, lastLine: 9 }]);
    const chunks = split(`# A\n\n## B\n\n${filler(60)}\n${filler(60)}`);
    expect(chunks[0]?.content).toContain("lorem");
  });

  it("keeps code and tables complete if they fit, and ignores headings in code", () => {
    const code = `\`\`\`sh\n# not a heading\n\n${filler(15)}\n\`\`\``;
    const table = `| a | b |\n| --- | --- |\n| ${filler(5)} | 2 |`;
    const chunks = split(`${filler(20)}\n\n${code}\n\n${filler(20)}\n\n${table}`);
    expect(chunks.every(({ headings }) => headings.length === 0)).toBe(true);
    expect(chunks.some(({ content }) => content.includes(code))).toBe(true);
    expect(chunks.some(({ content }) => content.includes(table))).toBe(true);
  });

  it("splits long lines after sentences, with an overlap that starts at one", () => {
    const line = Array.from({ length: 30 }, (_, at) => `第${at}句话说的是第${at}件事情。`).join("");
    const chunks = split(line, 120, 30);
    expect(chunks.length).toBeGreaterThan(2);
    for (const { content, firstLine, lastLine } of chunks) {
      expect(content).toMatch(/^第\d+句.*。$/s);
      expect([firstLine, lastLine]).toEqual([1, 1]);
    }
    expect(chunks[0]?.content.endsWith(chunks[1]?.content.split("\n")[0] ?? "?")).toBe(true);
  });

  it("loses no text, respects the size and reports the right lines", () => {
    const piece = fc.constantFrom(
      "# H",
      "## 标题",
      "```",
      "text",
      "一句话。另一句。",
      "| a |",
      "",
      "===",
      "---",
      "x".repeat(90),
      "💥".repeat(40),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 100, max: 300 }), (lines, maxCharacters) => {
        const chunks = [...splitDocument(lines, { maxCharacters, overlap: 25, isMarkdown: true })].filter(
          (one) => one !== undefined,
        );
        const covered = new Set<number>();
        for (const { content, firstLine, lastLine } of chunks) {
          expect(content.length).toBeLessThanOrEqual(maxCharacters);
          expect(content.isWellFormed()).toBe(true);
          expect(firstLine).toBeGreaterThanOrEqual(1);
          expect(lastLine).toBeLessThanOrEqual(lines.length);
          for (let line = firstLine; line <= lastLine; line++) covered.add(line);
        }
        for (const [index, line] of lines.entries()) if (line.trim() !== "") expect(covered.has(index + 1)).toBe(true);
        const whole = chunks.map(({ content }) => content).join("\n");
        for (const line of lines)
          for (const part of line.split(/\s/)) if (part.length < 50) expect(whole).toContain(part);
      }),
    );
  });
});

describe("readHeading", () => {
  it.each([
    ["# A", 1, "A"],
    ["   ###### A #", 6, "A"],
    ["## A ## \t", 2, "A"],
    ["## C#", 2, "C#"],
    ["## A # b ##", 2, "A # b"],
    ["##\tA\t##", 2, "A"],
    ["#", 1, ""],
    ["## ##", 2, ""],
  ])("reads %j as level %i with the text %j", (line, level, text) =>
    expect(readHeading(line)).toEqual({ level, text }),
  );

  it.each(["#A", "    # A", "####### A", "A # B", ""])("rejects %j", (line) =>
    expect(readHeading(line)).toBe(undefined),
  );

  // With quadratic cost these would take minutes.
  it.each([" ", "\t", "#", " #", "# ", "\u2028"])("reads a long line of %j", (piece) => {
    const line = `# a${piece.repeat(200_000)}b`;
    expect(readHeading(line)?.text.endsWith("b")).toBe(true);
    expect(split(line).length).toBeGreaterThan(0);
  });
});
