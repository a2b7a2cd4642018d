// Models that providers report, and answers without content.
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { listModels } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createTools } from "../agents/counted-tools.ts";
import { folder, loom } from "../cli-run.ts";
import { type ProviderServer, startProviderServer } from "./provider-server.ts";

let server: ProviderServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(...models: readonly string[]): Promise<ProviderServer> {
  server = await startProviderServer();
  server.models = models;
  return server;
}

describe("listModels", () => {
  it("returns the full names of what the provider reports", async () => {
    const { url, key } = await start("qwen3", "llama3:8b");
    expect(await listModels({ provider: "vllm", baseURL: url, apiKey: key })).toEqual(["vllm/qwen3", "vllm/llama3:8b"]);
    expect(await listModels("offline")).toEqual(["offline"]);
  });

  it("leaves out models of OpenAI that are not for conversations", async () => {
    const { url, key } = await start("gpt-5", "text-embedding-3-large", "whisper-1", "gpt-image-1", "o3");
    const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: key };
    expect(await listModels("openai", { env })).toEqual(["openai/gpt-5", "openai/o3"]);
  });

  it("asks Anthropic with its own headers, also at an address without a version", async () => {
    const { url, key, requests } = await start("claude-sonnet-4-5");
    const env = { ANTHROPIC_BASE_URL: url.replace("/v1", ""), ANTHROPIC_API_KEY: key };
    expect(await listModels("anthropic", { env })).toEqual(["anthropic/claude-sonnet-4-5"]);
    expect(requests[0]?.headers).toMatchObject({ "x-api-key": key, "anthropic-version": "2023-06-01" });
  });

  it("returns nothing if the server has no such endpoint", async () => {
    const { url } = (server = await startProviderServer());
    expect(await listModels({ provider: "vllm", baseURL: url })).toEqual([]);
  });

  it("reports a refused key and an unreachable server, without the key", async () => {
    const { url } = await start("x");
    const refused = listModels({ provider: "vllm", baseURL: url, apiKey: "very-secret-key" });
    await expect(refused).rejects.toMatchObject({
      code: "model_unauthorized",
      message: "The models of vllm could not be listed: status 401",
    });
    const gone = listModels({ provider: "vllm", baseURL: "http://127.0.0.1:9/v1", apiKey: "very-secret-key" });
    await expect(gone).rejects.toMatchObject({
      code: "model_failed",
      message: expect.not.stringContaining("secret") as string,
    });
  });
});

describe("loom models", () => {
  it("lists the models of a provider", async () => {
    const { url, key } = await start("qwen3");
    const env = { VLLM_API_KEY: key, VLLM_BASE_URL: url };
    const listed = await loom(["models", "vllm"], { env, isTerminal: true });
    expect(listed).toMatchObject({ code: 0, out: "vllm/qwen3\n" });
    const json = await loom(["models", "vllm", "--json"], { env });
    expect(json).toMatchObject({ code: 0, out: '{"provider":"vllm","model":"qwen3"}\n' });
  });

  it("reports an unknown provider as `loom run` does", async () => {
    const [run, list, serve] = await Promise.all([
      loom(["run", "--model", "nope", "hello"], { env: {} }),
      loom(["models", "nope"], { env: {} }),
      loom(["serve", "--model", "nope", "--port", "0", "--store", join(folder, "unknown.db")], { env: {} }),
    ]);
    expect([list.code, list.err]).toEqual([2, run.err]);
    expect([serve.code, serve.err]).toEqual([2, expect.stringContaining("set `base-url` or NOPE_BASE_URL")]);
  });

  it("suggests the provider of a model", async () => {
    const { code, err } = await loom(["run", "--model", "gpt-5", "hello there"], { env: {} });
    expect(code).toBe(2);
    expect(err).toContain('Did you mean "openai/gpt-5"?');
  });
});

describe("an empty answer", () => {
  it("fails the run and is reported as such", async () => {
    const helper = agent({ model: new ScriptedModel([{ reasoning: "Hm.", text: " ", finishReason: "length" }]) });
    await expect(helper.run("Hello")).rejects.toMatchObject({
      code: "model_empty",
      message: "scripted/scripted returned an empty answer (finish reason: length)",
    });
  });

  it("after a tool call is reported, and the run completes", async () => {
    const calls = [{ name: "add", input: { a: 1, b: 2 } }];
    const helper = agent({ model: new ScriptedModel([{ calls }, {}]), tools: createTools().tools });
    const result = await helper.run("Add");
    expect(result.reply).toBe("");
    expect(result.errors).toMatchObject([{ code: "model_empty" }]);
  });
});
