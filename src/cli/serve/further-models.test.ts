// Models to choose besides the first, and the agents that are made with them.
import { describe, expect, it } from "vitest";
import { OfflineModel } from "../../models/index.ts";
import { createAgents } from "./create-agents.ts";
import { type FurtherModelsOptions, openFurtherModels } from "./further-models.ts";

async function open(options: Partial<FurtherModelsOptions>) {
  const warnings: string[] = [];
  const opened = await openFurtherModels({ model: "offline", models: undefined, env: {}, ...options }, (warning) =>
    warnings.push(warning),
  );
  return { names: opened.map(({ name }) => name), models: opened.map(({ model }) => model), warnings };
}

describe("further models", () => {
  it("are the offline one where the first is another, and none where it is the first", async () => {
    expect(await open({})).toMatchObject({ names: [], warnings: [] });
    expect(await open({ model: "ollama/x" })).toMatchObject({ names: ["offline"], warnings: [] });
    expect(await open({ model: "ollama/x", models: ["none"] })).toMatchObject({ names: [], warnings: [] });
    expect(await open({ model: "ollama/x", models: [] })).toMatchObject({ names: [] });
  });

  it("are each there once, and never the first again", async () => {
    const models = ["ollama/x", "offline", "offline/offline", "ollama/x", "ollama/y"];
    expect(await open({ model: "ollama/y", models })).toMatchObject({ names: ["ollama/x", "offline"], warnings: [] });
  });

  it("that cannot be had are left out, and named", async () => {
    const { names, warnings } = await open({ models: ["nobody/x", "openai/gpt-5", "ollama/x"] });
    expect(names).toEqual(["ollama/x"]);
    expect(warnings).toEqual([
      expect.stringMatching(/^the model nobody\/x is left out: No provider is called "nobody"/),
      expect.stringMatching(/^the model openai\/gpt-5 is left out: openai needs a key: set OPENAI_API_KEY/),
    ]);
  });

  it("of the first's provider have its key and address; others do not", async () => {
    const models = ["openai/b", "anthropic/c"];
    const { names, warnings } = await open({ model: "openai/a", models, apiKey: "sk-secret" });
    expect(names).toEqual(["openai/b"]);
    expect(warnings).toEqual([expect.stringContaining("set ANTHROPIC_API_KEY")]);
    expect(warnings.join("")).not.toContain("secret");
  });

  it("are at most twenty", async () => {
    const models = Array.from({ length: 30 }, (_, index) => `ollama/${index}`);
    const { names, warnings } = await open({ models });
    expect(names).toHaveLength(20);
    expect(warnings).toEqual(["only the first 20 of 30 further models are served"]);
  });
});

describe("the agents of a server", () => {
  it("are of each kind for each model, and kind and model tell which", () => {
    const model = new OfflineModel();
    const named = (name: string) => ({ name, model });
    const settings = { system: undefined, compression: false, "tool-rules": [] };
    const agents = createAgents({ tools: [] }, [named("offline"), named("openai/gpt-5")], settings, () => undefined);
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
});
