import { spawnSync } from "node:child_process";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { ModelChoice } from "./model.ts";
import { OfflineModel } from "./offline-model.ts";
import { formatModelName, listKeyedModels, parseModelName, resolveModel } from "./resolve-model.ts";
import { ScriptedModel } from "./scripted-model.ts";

describe("parseModelName", () => {
  it.each([
    ["openai/gpt-5", { provider: "openai", model: "gpt-5" }],
    ["openrouter/meta/llama-4", { provider: "openrouter", model: "meta/llama-4" }],
    ["offline", { provider: "offline" }],
    ["ollama/", { provider: "ollama" }],
  ])("parses %s", (text, name) => {
    expect(parseModelName(text)).toEqual(name);
  });

  it.each(["", "/gpt-5", "  "])("rejects %j", (text) => {
    expect(() => parseModelName(text)).toThrow(expect.objectContaining({ code: "unknown_model" }));
  });
});

describe("formatModelName", () => {
  it.each([
    ["openai/gpt-5", "openai/gpt-5"],
    ["openai", "openai/gpt-5"],
    ["openrouter/meta/llama-4", "openrouter/meta/llama-4"],
    ["offline", "offline"],
    ["offline/offline", "offline"],
    ["ollama", "ollama"],
    ["mistral/mistral", "mistral/mistral"],
  ])("formats %s as %s", (text, whole) => {
    expect(formatModelName(parseModelName(text))).toBe(whole);
  });

  it("lists the default model of each provider with a key", () => {
    expect(listKeyedModels({})).toEqual([]);
    expect(listKeyedModels({ OPENAI_API_KEY: " ", OLLAMA_API_KEY: "k" })).toEqual([]);
    expect(listKeyedModels({ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" })).toEqual([
      "openai/gpt-5",
      "anthropic/claude-sonnet-4-5",
    ]);
  });
});

describe("resolveModel", () => {
  it.each([
    ["openai/gpt-5", { OPENAI_API_KEY: "k" }, "openai.responses", "gpt-5"],
    ["openai/gpt-5", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://h/v1" }, "openai.chat", "gpt-5"],
    [
      "openai/gpt-5",
      { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://api.openai.com/v1/" },
      "openai.responses",
      "gpt-5",
    ],
    [
      "openai/gpt-5",
      { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://API.openai.com/v1" },
      "openai.responses",
      "gpt-5",
    ],
    [
      "openai/gpt-5",
      { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://eu.api.openai.com/v1" },
      "openai.responses",
      "gpt-5",
    ],
    [
      "openai/gpt-5",
      { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://myapi.openai.com.h/v1/" },
      "openai.chat",
      "gpt-5",
    ],
    ["openai/gpt-5", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: " " }, "openai.responses", "gpt-5"],
    ["anthropic/claude", { ANTHROPIC_API_KEY: "k" }, "anthropic.messages", "claude"],
    ["ollama/qwen3:8b", {}, "ollama.chat", "qwen3:8b"],
    ["vllm/x", { VLLM_BASE_URL: "http://h/v1" }, "vllm.chat", "x"],
    ["openai", { OPENAI_API_KEY: "k" }, "openai.responses", "gpt-5"],
    ["offline", {}, "offline", "offline"],
    [{ provider: "my lab", model: "x", baseURL: "https://h" }, {}, "my lab.chat", "x"],
  ])("resolves %j", async (choice, env: Record<string, string>, provider, modelId) => {
    expect(await resolveModel(choice, { env })).toMatchObject({ provider, modelId });
  });

  it("returns a model object unchanged", async () => {
    const model = new ScriptedModel([]);
    expect(await resolveModel(model)).toBe(model);
    expect(await resolveModel({ provider: "offline" })).toBeInstanceOf(OfflineModel);
  });

  it.each([
    ["openai/gpt-5", {}, { code: "missing_key", details: { provider: "openai", variable: "OPENAI_API_KEY" } }],
    ["openai/gpt-5", { OPENAI_API_KEY: "" }, { code: "missing_key" }],
    ["anthropic/claude", {}, { code: "missing_key", details: { variable: "ANTHROPIC_API_KEY" } }],
    ["missing/x", {}, { code: "unknown_model", details: { provider: "missing" } }],
    ["ollama", {}, { code: "unknown_model" }],
    ["gpt-5", {}, { code: "unknown_model", message: expect.stringContaining('"openai/gpt-5"') as string }],
    ["o3-mini", {}, { code: "unknown_model", details: { suggestion: "openai/o3-mini" } }],
    ["claude-opus-4-1", {}, { code: "unknown_model", details: { suggestion: "anthropic/claude-opus-4-1" } }],
    ["qwen3:8b", {}, { code: "unknown_model", details: { suggestion: "ollama/qwen3:8b" } }],
    ["constructor/x", {}, { code: "unknown_model" }],
    [{ provider: "x", model: "m", baseURL: "file:///etc" }, {}, { code: "unknown_model" }],
    [{ provider: "x", model: "m", baseURL: "nonsense" }, {}, { code: "unknown_model" }],
    ["vllm/x", { VLLM_BASE_URL: "http://h/v1?key=k" }, { code: "unknown_model" }],
    [null, {}, { code: "unknown_model" }],
    [undefined, {}, { code: "unknown_model" }],
    [7, {}, { code: "unknown_model" }],
    [{}, {}, { code: "unknown_model" }],
    [{ provider: "" }, {}, { code: "unknown_model" }],
    [
      { provider: "openai", baseUrl: "http://h" },
      { OPENAI_API_KEY: "k" },
      { code: "invalid_arguments", details: { option: "model.baseUrl", suggestion: "model.baseURL" } },
    ],
    [{ provider: "x", model: 7, baseURL: "http://h" }, {}, { code: "unknown_model" }],
  ])("rejects %j", async (choice, env: Record<string, string>, error) => {
    await expect(resolveModel(choice as ModelChoice, { env })).rejects.toMatchObject(error);
  });

  it.each(["@ai-sdk/openai", "zod"])("says what to install if %s is missing", (name) => {
    // Runs a process in which the package cannot be found.
    const hide = `data:text/javascript,import { registerHooks } from "node:module";
      registerHooks({ resolve: (name, context, next) =>
        next(name.startsWith("${name}") ? "${name}-hidden" : name, context) });`;
    const source = new URL("resolve-model.ts", import.meta.url).href;
    const program = `const { resolveModel } = await import(${JSON.stringify(source)});
      const env = { OPENAI_API_KEY: "k" };
      await resolveModel("openai/gpt-5", { env }).catch((error) => console.log(error.code, error.details.package));`;
    const { stdout } = spawnSync(process.execPath, ["--import", hide, "--input-type=module", "--eval", program]);
    expect(stdout.toString().trim()).toBe(`missing_package ${name}-hidden`);
  });

  it.each([
    { baseURL: "nonsense", apiKey: "very-secret-key" },
    { baseURL: "http://user:very-secret-key@127.0.0.1:9/v1" },
    { baseURL: "http://very-secret-key@127.0.0.1:9/v1" },
    { baseURL: "http://127.0.0.1:9/v1?key=very-secret-key" },
  ])("does not show the key in errors: %j", async (choice) => {
    const error: unknown = await resolveModel({ provider: "x", model: "m", ...choice }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "unknown_model" });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("very-secret-key");
  });
});
