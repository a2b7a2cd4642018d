import { readFileSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../../test/source-files.ts";
import { DEFAULT_CONTEXT_WINDOW, findModelFamily } from "./model-family.ts";
import { PromptTokens } from "./prompt-tokens.ts";
import { reply, say } from "../../../test/contracts/random-conversation.ts";
import { countAll, countPieces, loadEncoding, loadTokenCounter } from "./token-counter.ts";

const read = (name: string): string => readFileSync(join(packageRoot, name), "utf8").slice(0, 40_000);

describe("model families", () => {
  it.each([
    ["gpt-5.2", "o200k_base", 272_000, true],
    ["gpt-5-chat-latest", "o200k_base", 128_000, false],
    ["openai/gpt-4o-mini", "o200k_base", 128_000, false],
    ["ft:gpt-4o-mini-2024-07-18:acme::abc", "o200k_base", 128_000, false],
    ["gpt-4.1-nano", "o200k_base", 1_047_576, false],
    ["o3", "o200k_base", 200_000, false],
    ["gpt-4-turbo", "cl100k_base", 128_000, false],
    ["gpt-4-vision-preview", "cl100k_base", 128_000, false],
    ["gpt-4", "cl100k_base", 8192, false],
    ["gpt-3.5-turbo", "cl100k_base", 16_385, false],
    ["gpt-3.5-turbo-0613", "cl100k_base", 4096, false],
    ["claude-sonnet-4-5", undefined, 200_000, false],
    ["claude-2.0", undefined, 100_000, false],
    ["anthropic.claude-sonnet-4-20250514-v1:0", undefined, 200_000, false],
    ["us.anthropic.claude-3-7-sonnet-20250219-v1:0", undefined, 200_000, false],
    ["models/gemini-2.5-pro", undefined, 1_000_000, true],
    ["gemini-1.0-pro", undefined, 30_720, true],
  ])("knows %s", (modelId, encoding, contextWindow, isInputOnly) => {
    expect(findModelFamily({ modelId })).toEqual({ encoding, contextWindow, isInputOnly, isKnown: true });
  });

  it("uses defaults for unknown models and local servers", () => {
    const unknown = { contextWindow: DEFAULT_CONTEXT_WINDOW, isInputOnly: false, isKnown: false };
    for (const modelId of ["llama3.2", "qwen3:8b", "offline", "", "my-gpt-4o"])
      expect(findModelFamily({ modelId })).toEqual({ encoding: undefined, ...unknown });
    expect(findModelFamily({ modelId: "gpt-oss:20b", provider: "ollama.chat" })).toMatchObject(unknown);
  });
});

describe("token counting", () => {
  it.each(["ARCHITECTURE.md", "docs/protocol.zh.md", "src/engine/run.ts", "package.json"])(
    "counts %s the same in pieces as at once",
    async (name) => {
      const { countText, margin } = await loadTokenCounter({ modelId: "gpt-4o" });
      const text = read(name);
      const whole = countTokens(text);
      expect(margin).toBe(1);
      expect(Math.abs(countText(text) - whole) / whole).toBeLessThan(0.005);
    },
  );

  it("passes short pieces to the tokenizer and loses no text", () => {
    for (const text of [
      " ".repeat(100_000),
      "a".repeat(100_000),
      "汉".repeat(100_000),
      "😀".repeat(50_000),
      "\n".repeat(999),
      "ab 汉字，".repeat(20_000),
    ]) {
      const pieces: string[] = [];
      const counted = countPieces(text, (piece) => {
        pieces.push(piece);
        return piece.length;
      });
      expect(counted).toBe(text.length);
      expect(pieces.join("")).toBe(text);
      expect(pieces.every((piece) => piece.length <= 128 && piece.isWellFormed())).toBe(true);
    }
  });

  it("counts samples of a very long text", () => {
    const words = "word ".repeat(200_000);
    const spaces = " ".repeat(500_000);
    for (const [text, real] of [
      [words, 200_000],
      [spaces + words, 200_000],
      [words + spaces, 200_000],
    ] as const) {
      let read = 0;
      const counted = countAll(text, (piece) => {
        read += piece.length;
        return piece.match(/w/g)?.length ?? 0;
      });
      expect(read).toBeLessThanOrEqual(400_000);
      expect(counted / real).toBeGreaterThan(0.97);
      expect(counted / real).toBeLessThan(1.03);
    }
  });

  it("counts special tokens as text", async () => {
    const { countText } = await loadTokenCounter({ modelId: "gpt-4o" });
    expect(countText("<|endoftext|> is text here")).toBeGreaterThan(5);
  });

  it("estimates with a margin if there is no tokenizer or it is not installed", async () => {
    const estimate = await loadTokenCounter({ modelId: "claude-opus-4-5" });
    const text = read("ARCHITECTURE.md");
    expect(estimate.margin).toBeGreaterThan(1);
    expect(estimate.countText(text)).toBeGreaterThan(countTokens(text));
    const absent = await loadEncoding(() =>
      Promise.reject(Object.assign(new Error("no"), { code: "ERR_MODULE_NOT_FOUND" })),
    );
    expect(absent.missing).toBe("gpt-tokenizer");
    expect(absent.countText(text)).toBe(estimate.countText(text));
    expect(await loadEncoding(() => Promise.reject(new Error("broken")))).toBe(absent);
  });

  it("counts each message once", async () => {
    let counted = 0;
    const tokens = new PromptTokens({
      countText: (text) => {
        counted++;
        return text.length;
      },
      margin: 1,
    });
    const messages = Array.from({ length: 200 }, (_, index) =>
      index % 2 === 0 ? say("a question") : reply("an answer"),
    );
    for (let length = 1; length <= messages.length; length++) tokens.countMessages(messages.slice(0, length));
    expect(counted).toBe(200);
    const tools = [{ name: "add", description: "Adds.", inputSchema: { type: "object" } }];
    const before = tokens.countRest({ tools: structuredClone(tools) });
    expect(tokens.countRest({ tools: structuredClone(tools) })).toBe(before);
    expect(counted).toBe(201);
    expect(before).toBeGreaterThan(tokens.countRest({}));
  });
});
