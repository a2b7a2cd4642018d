import { describe, expect, it } from "vitest";
import { cleanLabel, createLabelLimit, MAX_LABEL_LENGTH } from "./label-names.ts";

describe("labels", () => {
  it("are cut, but never within a character", () => {
    expect(cleanLabel("x".repeat(1000))).toHaveLength(MAX_LABEL_LENGTH);
    expect(cleanLabel(`${"x".repeat(MAX_LABEL_LENGTH - 1)}😀`).isWellFormed()).toBe(true);
  });

  it("contain neither secrets nor invisible characters", () => {
    expect(cleanLabel("gpt sk-proj-abcdEFGH12345678")).toBe("gpt [redacted]");
    expect(cleanLabel('a"b\nc\u2028d\u0000e\u202ef')).toBe('a"b_c_d_e_f');
    expect(["search_docs", "openai/gpt-5.1:latest", "查找"].map(cleanLabel)).toEqual([
      "search_docs",
      "openai/gpt-5.1:latest",
      "查找",
    ]);
  });

  it("are limited to the first names", () => {
    const limit = createLabelLimit(2);
    const tools = ["b", "c", "a", "b", "other"].map((tool) => limit("m", { tool }).labels["tool"]);
    expect(tools).toEqual(["b", "c", "other", "b", "other"]);
    // Each kind of name has its own limit, and a few known values have none.
    expect(limit("m", { model: "m", direction: "prompt" }).labels).toEqual({ model: "m", direction: "prompt" });
  });

  it("share a limit if they name the same in every metric", () => {
    const limit = createLabelLimit(1);
    expect(limit("calls", { tool: "a" }).labels).toEqual({ tool: "a" });
    expect(limit("errors", { tool: "b" }).labels).toEqual({ tool: "other" });
    expect(limit("refused", { code: "a" }).labels).toEqual({ code: "a" });
    expect(limit("faults", { code: "b" }).labels).toEqual({ code: "b" });
  });

  it("are not mixed up, whatever they contain", () => {
    const limit = createLabelLimit(9);
    const pairs = [
      { stage: "a 4 code 1 b", code: "c" },
      { stage: "a", code: "4 code 1 b c" },
      { stage: "a code 1 b", code: "c" },
    ];
    const keys = pairs.map((pair) => limit("m", pair).key);
    expect(new Set(keys).size).toBe(3);
    expect(pairs.map((pair) => limit("m", pair).key)).toEqual(keys);
  });

  it("that occur together are limited together", () => {
    const limit = createLabelLimit(2);
    expect(limit("m", { stage: "s", code: "a" }).labels).toEqual({ stage: "s", code: "a" });
    expect(limit("m", { stage: "s", code: "b" }).labels).toEqual({ stage: "s", code: "b" });
    expect(limit("m", { stage: "t", code: "a" }).labels).toEqual({ stage: "other", code: "other" });
  });
});
