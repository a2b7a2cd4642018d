/**
 * The table of known providers: environment variables, default address, and the package that connects to them. The
 * packages are optional and loaded on first use. A provider that is not listed is treated as an OpenAI-compatible
 * server.
 */
import { loadPackage } from "../protocol/load-package.ts";
import type { LanguageModel } from "./model.ts";

/** The settings a provider package gets. */
export interface ProviderConnection {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseURL: string | undefined;
  readonly headers: Record<string, string>;
}

export interface Provider {
  /** Environment variable of the API key. */
  readonly keyVariable?: string;
  /** Environment variable of the address. */
  readonly urlVariable?: string;
  /** Default address. */
  readonly baseURL?: string;
  readonly needsKey: boolean;
  /** A program in this package instead of a language model. */
  readonly isOffline?: boolean;
  /** Default model. */
  readonly model?: string;
  /** Loads the package and creates the model. */
  open(connection: ProviderConnection): Promise<LanguageModel>;
}

export const PROVIDERS: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  [
    "openai",
    {
      keyVariable: "OPENAI_API_KEY",
      urlVariable: "OPENAI_BASE_URL",
      baseURL: "https://api.openai.com/v1",
      needsKey: true,
      model: "gpt-5",
      async open({ model, ...connection }) {
        const { createOpenAI } = await loadPackage(
          "@ai-sdk/openai",
          "to use this model",
          () => import("@ai-sdk/openai"),
        );
        const openai = createOpenAI(omitUndefined(connection));
        // Servers that imitate OpenAI support chat completions; few support the Responses API.
        const { hostname } = new URL(connection.baseURL ?? "");
        return /(?:^|\.)api\.openai\.com$/.test(hostname) ? openai(model) : openai.chat(model);
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
      async open({ model, baseURL = "", ...connection }) {
        const { createAnthropic } = await loadPackage(
          "@ai-sdk/anthropic",
          "to use this model",
          () => import("@ai-sdk/anthropic"),
        );
        // Other programs use the same variable without the version and append it themselves.
        const url = URL.parse(baseURL)?.pathname === "/" ? new URL("v1", baseURL).href : baseURL;
        return createAnthropic({ ...omitUndefined(connection), baseURL: url })(model);
      },
    },
  ],
  [
    "ollama",
    {
      keyVariable: "OLLAMA_API_KEY",
      urlVariable: "OLLAMA_BASE_URL",
      baseURL: "http://127.0.0.1:11434/v1",
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
  { model, baseURL = "", ...connection }: ProviderConnection,
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await loadPackage(
    "@ai-sdk/openai-compatible",
    "to use this model",
    () => import("@ai-sdk/openai-compatible"),
  );
  return createOpenAICompatible({ name, baseURL, includeUsage: true, ...omitUndefined(connection) })(model);
}

/** For options that are present but undefined, the packages fall back to the environment. */
function omitUndefined<T extends object>(settings: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}
