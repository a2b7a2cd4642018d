/**
 * The providers that can be named, one row each: where its key and address come from, and the package that speaks to it.
 * Packages are optional and loaded when first asked for; a name that is not here is an OpenAI-compatible server.
 */
import { loadPackage } from "../protocol/load-package.ts";
import type { LanguageModel } from "./model.ts";

/** What a provider's package is told. */
export interface Connection {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseURL: string | undefined;
  readonly headers: Record<string, string>;
}

export interface Provider {
  /** Environment variable of the key. */
  readonly keyVariable?: string;
  readonly urlVariable?: string;
  /** Where it is when nobody says. */
  readonly baseURL?: string;
  readonly needsKey: boolean;
  /** The model when none is named. */
  readonly model?: string;
  open(connection: Connection): Promise<LanguageModel>;
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
        const openai = createOpenAI(drop(connection));
        // Servers that stand in for OpenAI know chat completions; few know the newer interface.
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
        // Other programs read the same variable and add the version themselves.
        const url = URL.parse(baseURL)?.pathname === "/" ? new URL("v1", baseURL).href : baseURL;
        return createAnthropic({ ...drop(connection), baseURL: url })(model);
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
      model: "offline",
      async open() {
        // All its rules, for those who only read this table.
        const { OfflineModel } = await import("./offline-model.ts");
        return new OfflineModel();
      },
    },
  ],
]);

/** A server that nobody wrote a row for. */
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
  { model, baseURL = "", ...connection }: Connection,
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await loadPackage(
    "@ai-sdk/openai-compatible",
    "to use this model",
    () => import("@ai-sdk/openai-compatible"),
  );
  return createOpenAICompatible({ name, baseURL, includeUsage: true, ...drop(connection) })(model);
}

/** Packages look into the environment for what is there and undefined. */
function drop<T extends object>(settings: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}
