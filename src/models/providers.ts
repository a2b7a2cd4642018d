/**
 * The table of known providers: environment variables, default address, and the package that connects to them. The
 * packages are optional and loaded on first use. A provider that is not listed is treated as an OpenAI-compatible
 * server.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { loadPackage } from "../protocol/load-package.ts";
import type { LanguageModel } from "./model.ts";

/** The settings a provider package gets. */
export interface ProviderConnection {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseURL: string | undefined;
  readonly headers: Record<string, string>;
  /** `responses` or `chat`; undefined for the usual one of the address. */
  readonly api: string | undefined;
}

export interface Provider {
  /** Environment variable of the API key. */
  readonly keyVariable?: string;
  /** Environment variable of the address. */
  readonly urlVariable?: string;
  /** Environment variable of the API. */
  readonly apiVariable?: string;
  /** Default address. */
  readonly baseURL?: string;
  readonly needsKey: boolean;
  /** A program in this package instead of a language model. */
  readonly isOffline?: boolean;
  /** Default model. */
  readonly model?: string;
  /** How the names of its models begin, to suggest the provider for a name without one. */
  readonly ownNames?: RegExp;
  /** Loads the package and creates the model. */
  open(connection: ProviderConnection): Promise<LanguageModel>;
}

export const PROVIDERS: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  [
    "openai",
    {
      keyVariable: "OPENAI_API_KEY",
      urlVariable: "OPENAI_BASE_URL",
      apiVariable: "OPENAI_API",
      baseURL: "https://api.openai.com/v1",
      needsKey: true,
      model: "gpt-5",
      ownNames: /^(?:gpt-|chatgpt-|o\d)/i,
      async open({ api, ...settings }) {
        const { model, ...connection } = settings;
        // Servers that imitate OpenAI support chat completions, with additional fields for reasoning. Few support the
        // Responses API.
        const { hostname } = new URL(connection.baseURL ?? "");
        const usual = /(?:^|\.)api\.openai\.com$/.test(hostname) ? "responses" : "chat";
        if ((api ?? usual) === "chat") return openCompatible("openai", settings);
        const { createOpenAI } = await loadPackage(
          "@ai-sdk/openai",
          "to use this model",
          () => import("@ai-sdk/openai"),
        );
        // For options that are present but undefined, the packages fall back to the environment.
        return createOpenAI(dropUndefined(connection))(model);
      },
    },
  ],
  [
    "anthropic",
    {
      keyVariable: "ANTHROPIC_API_KEY",
      urlVariable: "ANTHROPIC_BASE_URL",
      baseURL: "https://api.anthropic.com/v1",
      needsKey: true,
      model: "claude-sonnet-4-5",
      ownNames: /^claude/i,
      async open({ model, baseURL = "", api: _api, ...connection }) {
        const { createAnthropic } = await loadPackage(
          "@ai-sdk/anthropic",
          "to use this model",
          () => import("@ai-sdk/anthropic"),
        );
        // Other programs use the same variable without the version and append it themselves.
        const url = URL.parse(baseURL)?.pathname === "/" ? new URL("v1", baseURL).href : baseURL;
        return createAnthropic({ ...dropUndefined(connection), baseURL: url })(model);
      },
    },
  ],
  [
    "ollama",
    {
      keyVariable: "OLLAMA_API_KEY",
      urlVariable: "OLLAMA_BASE_URL",
      baseURL: "http://127.0.0.1:11434/v1",
      ownNames: /^(?:llama|qwen|mistral|mixtral|gemma|phi|deepseek)/i,
      needsKey: false,
      open: (connection) => openCompatible("ollama", connection),
    },
  ],
  [
    "offline",
    {
      needsKey: false,
      isOffline: true,
      model: "offline",
      async open() {
        // Loaded lazily, because the offline model is large.
        const { OfflineModel } = await import("./offline-model.ts");
        return new OfflineModel();
      },
    },
  ],
]);

/** Describes an OpenAI-compatible server that is not in the table. */
export function describeCompatible(name: string): Provider {
  const variable = name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return {
    keyVariable: `${variable}_API_KEY`,
    urlVariable: `${variable}_BASE_URL`,
    needsKey: false,
    open: (connection) => openCompatible(name, connection),
  };
}

async function openCompatible(
  name: string,
  { model, baseURL = "", apiKey, headers }: Omit<ProviderConnection, "api">,
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await loadPackage(
    "@ai-sdk/openai-compatible",
    "to use this model",
    () => import("@ai-sdk/openai-compatible"),
  );
  return createOpenAICompatible({
    name,
    baseURL,
    includeUsage: true,
    // Without it the package leaves out the schema. Agents repeat a rejected request without the format.
    supportsStructuredOutputs: true,
    transformRequestBody: nameTokenLimit,
    ...dropUndefined({ apiKey, headers }),
  })(model);
}

/** Reasoning models of OpenAI reject `max_tokens`, also behind other addresses. */
function nameTokenLimit({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  if (max_tokens === undefined) return body;
  const isReasoning = /^(?:o\d|gpt-[5-9])/.test(String(body["model"]));
  return { ...body, [isReasoning ? "max_completion_tokens" : "max_tokens"]: max_tokens };
}
