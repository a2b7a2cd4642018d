// Models to choose in addition to the first, and the agents created with them.
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { MemoryLog } from "../../log/index.ts";
import { type ModelName, OfflineModel } from "../../models/index.ts";
import { ScriptedModel } from "../../models/scripted-model.ts";
import { LoomError } from "../../protocol/index.ts";
import { defineTool } from "../../tools/index.ts";
import { createAgents } from "./create-agents.ts";
import { SETTINGS } from "./settings.ts";
import { type AdditionalModelsOptions, openAdditionalModels } from "./additional-models.ts";

async function open(options: Partial<AdditionalModelsOptions>) {
  const warnings: string[] = [];
  const list = async () => [];
  const given = { model: "offline", models: undefined, env: {}, list, ...options };
  const opened = await openAdditionalModels(given, (warning) => warnings.push(warning));
  return { names: opened.map(({ name }) => name), models: opened.map(({ model }) => model), warnings };
}

describe("additional models", () => {
  it("default to the offline model, unless it is the first", async () => {
    expect(await open({})).toMatchObject({ names: [], warnings: [] });
    expect(await open({ model: "ollama/x" })).toMatchObject({ names: ["offline"], warnings: [] });
    expect(await open({ model: "ollama/x", models: ["none"] })).toMatchObject({ names: [], warnings: [] });
    expect(await open({ model: "ollama/x", models: [] })).toMatchObject({ names: [] });
  });

  it("contain each model once, without the first", async () => {
    const models = ["ollama/x", "offline", "offline/offline", "ollama/x", "ollama/y"];
    expect(await open({ model: "ollama/y", models })).toMatchObject({ names: ["ollama/x", "offline"], warnings: [] });
  });

  it("skip unavailable models with a warning", async () => {
    const { names, warnings } = await open({ models: ["acme/x", "openai/gpt-5", "ollama/x"] });
    expect(names).toEqual(["ollama/x"]);
    expect(warnings).toEqual([
      expect.stringMatching(/^model acme\/x is not available: Unknown provider "acme"/),
      expect.stringMatching(/^model openai\/gpt-5 is not available: openai needs an API key: set OPENAI_API_KEY/),
    ]);
  });

  it("use key and URL of the first model only for the same provider", async () => {
    const models = ["openai/b", "anthropic/c"];
    const { names, warnings } = await open({ model: "openai/a", models, apiKey: "sk-secret" });
    expect(names).toEqual(["openai/b"]);
    expect(warnings).toEqual([expect.stringContaining("set ANTHROPIC_API_KEY")]);
    expect(warnings.join("")).not.toContain("secret");
  });

  it("include what each provider with a key reports, and the provider of the first model", async () => {
    const list = async (choice: string | ModelName) => {
      const { provider } = choice as ModelName;
      if (provider === "anthropic") throw new LoomError("model_failed", "The models of anthropic could not be listed");
      return [`${provider}/a`, `${provider}/b`];
    };
    const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
    vi.stubEnv("OPENAI_API_KEY", "k");
    vi.stubEnv("ANTHROPIC_API_KEY", "k");
    const { names, warnings } = await open({ model: "ollama/b", env, list });
    expect(names).toEqual([
      "offline",
      "openai/gpt-5",
      "openai/a",
      "openai/b",
      "anthropic/claude-sonnet-4-5",
      "ollama/a",
    ]);
    expect(warnings).toEqual(["The models of anthropic could not be listed"]);
    expect((await open({ models: ["ollama/*"], list })).names).toEqual(["ollama/a", "ollama/b"]);
    vi.unstubAllEnvs();
  });

  it("are limited to a hundred", async () => {
    const models = Array.from({ length: 130 }, (_, index) => `ollama/${index}`);
    const { names, warnings } = await open({ models });
    expect(names).toHaveLength(100);
    expect(warnings).toEqual(["130 additional models configured; only the first 100 are served"]);
  });
});

const AGENT_SETTINGS = {
  system: undefined,
  reasoning: "auto",
  compression: false,
  "record-prompts": false,
  titles: false,
  "tool-rules": [],
  "expose-tool-errors": false,
} as const;

describe("createAgents", () => {
  it.each([
    [false, false],
    [true, true],
  ])("shows exceptions of tools to the model only on request: %s", async (isExposed, isShown) => {
    const look = defineTool({
      name: "look",
      description: "Looks",
      input: z.object({}),
      execute: () => Promise.reject(new Error("db at 10.0.0.5 refused")),
    });
    const model = new ScriptedModel([{ calls: [{ name: "look" }] }, { text: "Done" }]);
    const logged: unknown[] = [];
    const settings = { ...AGENT_SETTINGS, "expose-tool-errors": isExposed };
    const agents = createAgents({ tools: [look] }, [{ name: "m", model }], settings);
    agents["react"]?.agent.sessionOptions(new MemoryLog(), { onError: (error) => logged.push(error) });
    await agents["react"]?.agent.run("Look");
    expect(JSON.stringify(model.prompts[1]).includes("10.0.0.5")).toBe(isShown);
    expect(logged).toMatchObject([{ message: "db at 10.0.0.5 refused" }]);
    expect(SETTINGS["expose-tool-errors"].defaultValue).toBe(false);
  });

  it("creates an agent of each kind for each model", () => {
    const model = new OfflineModel();
    const named = (name: string) => ({ name, model });
    const agents = createAgents({ tools: [] }, [named("offline"), named("openai/gpt-5")], AGENT_SETTINGS);
    expect(Object.keys(agents)).toEqual([
      "react",
      "tot",
      "got",
      "agot",
      "react:openai/gpt-5",
      "tot:openai/gpt-5",
      "got:openai/gpt-5",
      "agot:openai/gpt-5",
    ]);
    const known = Object.values(agents).map(({ agent, model: of }) => `${agent.kind} ${agent.isAdaptive} ${of}`);
    expect(new Set(known).size).toBe(8);
  });

  it("passes the strategy settings to their agent", async () => {
    const model = new ScriptedModel(({ prompt }) => {
      const asked = JSON.stringify(prompt.at(-1));
      return {
        text: asked.includes("possible next steps") ? "one\ntwo" : asked.includes("best") ? '{"best": 2}' : "Done.",
      };
    });
    const settings = {
      ...AGENT_SETTINGS,
      set: ["tot.evaluator=vote", "tot.samples=9", "tot.samples=2", "tot.depth=1"],
    };
    const { tot } = createAgents({ tools: [] }, [{ name: "scripted", model }], settings);
    expect((await tot?.agent.run("Which way?"))?.reply).toBe("Done.");
    // One level: a list, two votes and the answer.
    expect(model.requests).toHaveLength(4);
    await tot?.agent.close();
  });
});
