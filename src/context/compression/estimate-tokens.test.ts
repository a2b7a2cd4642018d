// Compares the estimate with the tokenizer it is based on. The figures are in the compression guide.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../../test/source-files.ts";
import { estimateTokens } from "./estimate-tokens.ts";

const LENGTH = 60_000;

function readAll(folder: string, extension: string): string {
  const names = readdirSync(join(packageRoot, folder)).filter((name) => name.endsWith(extension));
  const texts = names.map((name) => readFileSync(join(packageRoot, folder, name), "utf8"));
  return texts.join("\n").slice(0, LENGTH);
}

const chinese = readFileSync(join(packageRoot, "docs/protocol.zh.md"), "utf8");
const json = readFileSync(join(packageRoot, "package-lock.json"), "utf8").slice(0, LENGTH);

/** Bounds of estimate / count. */
const KINDS: readonly (readonly [string, string, number, number])[] = [
  ["English", readAll("docs/decisions", ".md"), 1, 1.35],
  ["Chinese and tables", chinese, 0.95, 1.45],
  ["Chinese alone", chinese.replaceAll(/\p{ASCII}+/gu, ""), 1, 1.6],
  ["code", readAll("src/engine", ".ts"), 1, 1.35],
  ["JSON", json, 0.9, 1.35],
  ["JSON without spaces", JSON.stringify(json.split("\n")), 0.9, 1.4],
  ["digits", "31415926535897932384626433".repeat(50), 0.9, 1.3],
  ["hexadecimal", pseudoRandom(6000, "0123456789abcdef"), 0.85, 1.3],
  ["base64", pseudoRandom(6000, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"), 0.85, 1.3],
  ["letters", pseudoRandom(6000, "abcdefghijklmnopqrstuvwxyz"), 0.85, 1.5],
  ["Hindi", "करघे पर ताना और बाना बुना जाता है, और कपड़ा धीरे-धीरे तैयार होता है। ", 1, 2],
  ["Bengali", "তাঁতে টানা ও পোড়েন দিয়ে কাপড় বোনা হয়। ", 1, 2],
  ["Tamil", "தறியில் பாவு மற்றும் ஊடை நூல்கள் நெய்யப்படுகின்றன. ", 1, 2],
  ["Thai", "ผ้าทอจากด้ายยืนและด้ายพุ่งบนกี่ทอผ้า ", 1, 2],
  ["Georgian", "ქსელი და მისაქსელი იქსოვება დაზგაზე. ", 1, 2],
  ["Arabic", "تُنسج السداة واللحمة على النول. ", 0.9, 2],
  ["Russian", "Основа и уток ткутся на станке. ", 1, 2],
  ["Vietnamese", "Sợi dọc và sợi ngang được dệt trên khung cửi. ", 1, 2],
  ["boxes", "│ cell │ value │\n├──────┼───────┤\n", 1, 2],
  ["heaps of accents", "Z\u0337\u0327\u031ba\u0335\u0322l\u0336\u0321g\u0338\u0328o\u0334 ", 0.85, 2],
  ["pictures", "😀🎉🚀✅⚠️ ", 0.85, 2],
];

function pseudoRandom(length: number, letters: string): string {
  let state = 42;
  let text = "";
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    text += letters[(state >> 12) % letters.length];
  }
  // The longest text the tokenizer can take at once without being slow.
  return text.replaceAll(/(.{76})/g, "$1\n");
}

describe("the token estimate", () => {
  it.each(KINDS)("is close to the count for %s", (_, text, least, most) => {
    const share = estimateTokens(text) / countTokens(text, { disallowedSpecial: new Set() });
    expect(share).toBeGreaterThanOrEqual(least);
    expect(share).toBeLessThanOrEqual(most);
  });

  it("is between 1 and 3 tokens per character", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff)), (codes) => {
        const text = String.fromCharCode(...codes);
        const tokens = estimateTokens(text);
        expect(tokens).toBeGreaterThanOrEqual(text === "" ? 0 : 1);
        expect(tokens).toBeLessThanOrEqual(Math.max(1, 3 * text.length));
      }),
      { seed: 7 },
    );
  });

  it("grows with the text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(estimateTokens(`${a}\n${b}`)).toBeGreaterThanOrEqual(Math.max(estimateTokens(a), estimateTokens(b)));
      }),
      { seed: 7 },
    );
  });
});
