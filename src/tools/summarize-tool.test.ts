import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { MAX_SUMMARY_CHARACTERS, nameSubject, summarizeCall, summarizeTool, writeSummary } from "./summarize-tool.ts";

const graphemes = new Intl.Segmenter("en");
const count = (text: string): number => [...graphemes.segment(text)].length;

describe("summarizeTool", () => {
  it.each([
    ["Adds two numbers.", "Adds two numbers."],
    ["Adds two numbers. Use it for e.g. sums, not for estimates.", "Adds two numbers."],
    ["Reads files, e.g. of version 2.0, whole. Then stops.", "Reads files, e.g. of version 2.0, whole."],
    ["\n\n  Gets the alerts\n  of a state\n\nArgs:\n  state: two letters", "Gets the alerts of a state"],
    ["展示表格数据。需要列名和行。", "展示表格数据。"],
    ["查询天气", "查询天气"],
    [`${"word ".repeat(300)}end. Next.`, `${"word ".repeat(300)}end.`],
    ["x".repeat(2000), "x".repeat(2000)],
    ["x".repeat(5000), `${"x".repeat(1999)}…`],
    [" \n ", undefined],
    ["", undefined],
  ])("returns the first sentence of %j: %j", (description, summary) => {
    expect(summarizeTool({ description })).toBe(summary);
  });

  it("returns the title unless it is blank", () => {
    expect(summarizeTool({ title: " Read\na file ", description: "Long. Words." })).toBe("Read a file");
    expect(summarizeTool({ title: " \n", description: "Long. Words." })).toBe("Long.");
    expect(summarizeTool({ title: "a title ".repeat(1000), description: "" })).toMatch(/ a title( a)?…$/);
  });

  it("returns the title in the language of the user", () => {
    const tool = { title: { en: "Read a file", zh: "读取文件" }, description: "Reads." };
    expect(summarizeTool(tool, "zh")).toBe("读取文件");
    expect(summarizeTool(tool, "en")).toBe("Read a file");
    expect(summarizeTool({ title: "Read", description: "" }, "zh")).toBe("Read");
  });

  it("cuts between visible characters, also without spaces", () => {
    const chinese = summarizeTool({ description: "把销售数据按地区和月份汇总成表格，".repeat(300) }) ?? "";
    expect(count(chinese)).toBeLessThanOrEqual(MAX_SUMMARY_CHARACTERS);
    expect(count(chinese)).toBeGreaterThan(1900);
    const family = "👩‍👩‍👧‍👦";
    expect(summarizeTool({ description: family.repeat(3000) })?.replaceAll(family, "")).toBe("…");
  });

  it("returns one short, well-formed line for any description", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.boolean(), (text, isTitle) => {
        const summary = summarizeTool(isTitle ? { title: text, description: "" } : { description: text });
        if (summary === undefined) return;
        expect(summary).not.toMatch(/[\r\n\0]/);
        expect(summary.isWellFormed()).toBe(true);
        expect(summary.trim()).toBe(summary);
        expect(summary).not.toBe("");
        expect(count(summary)).toBeLessThanOrEqual(MAX_SUMMARY_CHARACTERS);
      }),
      // Segmenting such texts is slow.
      { numRuns: 10 },
    );
  });
});

describe("summarizeCall", () => {
  const input = describeInput<{ readonly city: string }>({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  });
  const about = { name: "weather", title: { en: "Get the weather", zh: "查询天气" }, description: "Weather." };
  const weather = defineTool({ ...about, input, summarize: ({ city }) => nameSubject(about.title, city) });

  it("says what a call with these arguments will do, in the language of the user", () => {
    expect(summarizeCall(weather, { city: "Oslo" })).toBe("Get the weather: Oslo");
    expect(summarizeCall(weather, { city: "Oslo" }, "zh")).toBe("查询天气：Oslo");
    expect(summarizeCall(weather, { city: " a\n\tb " })).toBe("Get the weather: a b");
    expect(count(summarizeCall(weather, { city: "x".repeat(1000) }) ?? "")).toBeLessThanOrEqual(200);
  });

  it("is the title of the tool if the arguments are invalid or say nothing", () => {
    for (const given of [{}, { city: 7 }, { city: " " }]) expect(summarizeCall(weather, given)).toBe("Get the weather");
    const failing = defineTool({
      ...about,
      input,
      summarize: () => {
        throw new Error("a mistake");
      },
    });
    expect(summarizeCall(failing, { city: "Oslo" }, "zh")).toBe("查询天气");
    // A schema that answers later.
    const late = z.object({ city: z.string().refine(async () => Promise.resolve(true)) });
    expect(summarizeCall(defineTool({ ...about, input: late, summarize: () => "late" }), { city: "Oslo" })).toBe(
      "Get the weather",
    );
  });

  it("reads a summary without text as absent", () => {
    for (const summary of [undefined, null, 7, {}, { en: 7 }, " \n"]) expect(writeSummary(summary)).toBeUndefined();
    expect(writeSummary({ en: "Done", zh: "完成" }, "zh")).toBe("完成");
    expect(writeSummary("Done", "zh")).toBe("Done");
  });
});
