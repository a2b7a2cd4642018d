/** Fixtures for the real provider packages, connected to the test server: one per API. */
import { CONTRACT_TOOLS, type ModelFixture } from "../contracts/model.ts";
import type { LanguageModel, ModelRequest } from "../../src/models/index.ts";
import { resolveModel } from "../../src/models/index.ts";
import { type ProviderServer, type ServerTurn, startProviderServer } from "./provider-server.ts";

export interface ProviderWire {
  readonly name: string;
  open(server: ProviderServer): Promise<LanguageModel>;
  /** Settings that make it reason. */
  readonly settings?: ModelRequest["settings"];
}

export const PROVIDER_WIRES: readonly ProviderWire[] = [
  {
    name: "openai, chat completions",
    open: ({ url, key }) => resolveModel({ provider: "openai", model: "gpt-4.1", baseURL: url, apiKey: key }),
  },
  {
    name: "openai, responses",
    open: ({ url, key }) =>
      resolveModel({ provider: "openai", model: "gpt-5", baseURL: url, apiKey: key, api: "responses" }),
  },
  {
    name: "anthropic, messages",
    open: ({ url, key }) =>
      resolveModel({ provider: "anthropic", model: "claude-sonnet-4-5", baseURL: url, apiKey: key }),
  },
  {
    name: "openai-compatible",
    open: ({ url, key }) => resolveModel({ provider: "local", model: "qwen", baseURL: url, apiKey: key }),
  },
];

export interface ProviderFixture extends ModelFixture {
  readonly server: ProviderServer;
  /** Sets the next answers of the server. */
  play(...turns: readonly ServerTurn[]): void;
  close(): Promise<void>;
}

export async function openProviderFixture(wire: ProviderWire): Promise<ProviderFixture> {
  const server = await startProviderServer();
  const model = await wire.open(server);
  const play = (...turns: readonly ServerTurn[]): void => {
    server.script = [...turns];
  };
  return {
    server,
    model,
    play,
    prepareText(messages) {
      play({ reasoning: "Let me see.", text: "It is what it is, 世界 🌍, as they say." });
      return { messages };
    },
    prepareCalls() {
      const calls = [
        { name: "calculator", input: { expression: "17*23" } },
        { name: "current_time", input: {} },
      ];
      play({ reasoning: "Two tools.", calls, chunk: 3, interleave: true });
      return {
        messages: [{ role: "user", content: [{ type: "text", text: "17*23 and the time?" }] }],
        tools: CONTRACT_TOOLS,
      };
    },
    close: () => server.close(),
  };
}
