// Checks the model contract, which is declared without the AI SDK packages, against their types.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2FilePart,
  LanguageModelV2Prompt,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Prompt,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { expectTypeOf, test } from "vitest";
import type { FilePart, LanguageModel, ModelMessage, ModelSettings, ModelTextPart } from "./model.ts";

/** The packages declare mutable arrays but do not change them. */
type Changeable<T> = T extends readonly (infer Item)[]
  ? Changeable<Item>[]
  : T extends object
    ? { -readonly [K in keyof T]: Changeable<T[K]> }
    : T;

/** Files are converted for each version, and references are not sent. */
type Spoken =
  | Exclude<ModelMessage, { role: "user" }>
  | { readonly role: "user"; readonly content: readonly ModelTextPart[] };

test("accepts models of every version and provider", () => {
  expectTypeOf<LanguageModelV2>().toExtend<LanguageModel>();
  expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>();
  expectTypeOf<LanguageModelV4>().toExtend<LanguageModel>();
  expectTypeOf(createOpenAI({ apiKey: "k" })("m")).toExtend<LanguageModel>();
  expectTypeOf(createOpenAI({ apiKey: "k" }).chat("m")).toExtend<LanguageModel>();
  expectTypeOf(createAnthropic({ apiKey: "k" })("m")).toExtend<LanguageModel>();
  expectTypeOf(createOpenAICompatible({ name: "n", baseURL: "http://h" })("m")).toExtend<LanguageModel>();
});

test("declares messages and settings that every version accepts", () => {
  expectTypeOf<Changeable<Spoken>[]>().toExtend<LanguageModelV2Prompt>();
  expectTypeOf<Changeable<Spoken>[]>().toExtend<LanguageModelV3Prompt>();
  expectTypeOf<Changeable<Spoken>[]>().toExtend<LanguageModelV4Prompt>();
  expectTypeOf<FilePart>().toExtend<LanguageModelV2FilePart>();
  expectTypeOf<FilePart>().toExtend<LanguageModelV3FilePart>();
  type Wrapped = Omit<FilePart, "data"> & { data: { type: "data"; data: FilePart["data"] } };
  expectTypeOf<Wrapped>().toExtend<LanguageModelV4FilePart>();
  type Settings = Changeable<Omit<ModelSettings, "reasoning">>;
  expectTypeOf<Settings>().toExtend<Partial<LanguageModelV2CallOptions>>();
  expectTypeOf<Settings>().toExtend<Partial<LanguageModelV3CallOptions>>();
  expectTypeOf<Settings>().toExtend<Partial<LanguageModelV4CallOptions>>();
});
