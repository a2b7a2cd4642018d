import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readQueryTerms } from "./query-terms.ts";
import { readTerms, writeTerms } from "./read-terms.ts";
import { stemWord } from "./stem-word.ts";

const termsOf = (text: string): string[] => readTerms(text).map(({ term }) => term);
const asked = (query: string): string[] =>
  readQueryTerms(query).map(({ term, isPrefix }) => term + (isPrefix ? "*" : ""));

describe("readTerms", () => {
  it.each([
    ["Deploying Apps", ["deploi", "app"]],
    ["Café ＡＢＣ naïve", ["caf", "abc", "naiv"]],
    ["部署应用", ["部署", "署应", "应用", "用"]],
    ["用Docker部署", ["用", "docker", "部署", "署"]],
    ["createAgent run_end v1.2", ["createagent", "creat", "agent", "run", "end", "v1", "2"]],
    ["𠮷野家", ["𠮷野", "野家", "家"]],
    ["💥 -- ", []],
  ])("%j gives %j", (text, terms) => expect(termsOf(text)).toEqual(terms));

  it.each([
    ["deploy", ["deploys", "deployed", "deploying", "deployment", "deployments"]],
    ["configure", ["configured", "configuring", "configuration", "configures"]],
    ["policy", ["policies"]],
    ["plan", ["planned", "planning", "plans"]],
    ["retrieve", ["retrieval", "retrieved"]],
  ])("brings the forms of %s together", (word, forms) => {
    for (const form of forms) expect(stemWord(form)).toBe(stemWord(word));
  });

  it("leaves short words and others apart", () => {
    expect(new Set(["thing", "this", "bus", "class", "sing", "red", "gas"].map(stemWord)).size).toBe(7);
  });

  it("gives the index nothing but what it takes as it is, and places within the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const terms = readTerms(text);
        // Blank, a quote or a sign of FTS5: it would be read as something else.
        expect(terms.filter(({ term }) => term === "" || /[\s"*^:(){}+\-A-Z]/.test(term))).toEqual([]);
        expect(terms.filter(({ start, end }) => start < 0 || start > end || end > text.length)).toEqual([]);
        expect(writeTerms(text).trim().split(" ").join(" ")).toBe(termsOf(text).join(" "));
      }),
      { numRuns: 150 },
    );
  });
});

describe("readQueryTerms", () => {
  it.each([
    ["How do I deploy the app?", ["deploi", "app"]],
    ["如何部署应用", ["部署", "署应", "应用"]],
    ["什么是检索", ["检索"]],
    ["车", ["车*"]],
    ["the", ["the"]],
    ["什么", ["什么"]],
    ["", []],
  ])("%j asks for %j", (query, terms) => expect(asked(query)).toEqual(terms));

  it("has an end", () => {
    const long = Array.from({ length: 5000 }, (_, at) => `w${at}`).join(" ");
    expect(asked(long)).toHaveLength(64);
  });
});
