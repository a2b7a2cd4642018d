import { describe, expect, it, onTestFinished } from "vitest";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { agent } from "../../agents/index.ts";
import { OfflineModel } from "../../models/index.ts";
import type { Models } from "../api/shapes.generated.ts";

describe("agents and models", () => {
  it("lists the agents with the default first, and the models in use", async () => {
    const model = new OfflineModel();
    const { ask } = await createServerFixture({
      agents: {
        quick: { agent: agent({ model }), description: "Answers at once", model: "offline/offline" },
        deep: agent({ kind: "tot", model }),
        deeper: agent({ kind: "got", adaptive: true, model }),
      },
    });
    expect(await ask("GET", "/v1/agents")).toEqual({
      agents: [
        {
          name: "quick",
          kind: "react",
          description: "Answers at once",
          model: "offline/offline",
          tools: [],
          is_default: true,
        },
        {
          name: "deep",
          kind: "tot",
          tools: [],
          settings: expect.any(Array) as unknown,
          is_default: false,
        },
        {
          name: "deeper",
          kind: "got",
          is_adaptive: true,
          tools: [],
          settings: [
            expect.objectContaining({ name: "candidates", value: 1, least: 1, most: 5 }),
            expect.objectContaining({ name: "depth", value: 2, least: 0, most: 3 }),
            expect.objectContaining({ name: "layers", value: 1, least: 1, most: 5 }),
          ],
          is_default: false,
        },
      ],
    });
    const { models, providers } = (await ask("GET", "/v1/models")) as unknown as Models;
    expect(models).toEqual(["offline/offline"]);
    expect(providers.filter((one) => one.is_offline || one.in_use).map(({ name }) => name)).toEqual(["offline"]);
  });

  it("reports whether an API key is set, but not the key", async () => {
    const { OPENAI_API_KEY: known } = process.env;
    process.env["OPENAI_API_KEY"] = "sk-very-secret";
    onTestFinished(() => {
      if (known === undefined) delete process.env["OPENAI_API_KEY"];
      else process.env["OPENAI_API_KEY"] = known;
    });
    const { ask } = await createServerFixture();
    const answer = await ask("GET", "/v1/models");
    expect(answer["providers"]).toContainEqual({
      name: "openai",
      model: "gpt-5",
      needs_key: true,
      key_variable: "OPENAI_API_KEY",
      has_key: true,
      is_offline: false,
      in_use: false,
    });
    expect(answer["providers"]).toContainEqual({
      name: "offline",
      model: "offline",
      needs_key: false,
      has_key: false,
      is_offline: true,
      in_use: false,
    });
    expect(JSON.stringify(answer)).not.toContain("secret");
  });
});
