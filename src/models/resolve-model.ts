/** Resolves a model name to a model. Keys come from the choice or the environment and are never part of an error. */
import { LoomError } from "../protocol/index.ts";
import { ANY_OPTION, type OptionTable, readOptions } from "../protocol/read-options.ts";
import type { LanguageModel, ModelChoice, ModelName } from "./model.ts";
import { describeCompatible, type Provider, type ProviderConnection, PROVIDERS } from "./providers.ts";
import { registerSecrets } from "./redact-secrets.ts";

/** Options of `resolveModel`. */
export interface ResolveOptions {
  /** Environment to read keys and addresses from. Default: `process.env`. */
  readonly env?: { readonly [name: string]: string | undefined };
}

/**
 * Returns the model with this name; a model object is returned unchanged. The provider package is loaded on first use.
 *
 * ```ts
 * const model = await resolveModel("openai/gpt-5");
 * const local = await resolveModel({ provider: "local", model: "qwen3", baseURL: "http://127.0.0.1:8000/v1" });
 * ```
 *
 * Throws `unknown_model` for an invalid or unknown name, and `missing_key` if the provider needs a key and none is set.
 */
export async function resolveModel(choice: ModelChoice, options: ResolveOptions = {}): Promise<LanguageModel> {
  if (isModel(choice)) return choice;
  const name = typeof choice === "string" ? parseModelName(choice) : choice;
  checkModelName(name);
  const { entry, apiKey, baseURL, headers, api } = resolveProvider(name, options);
  const model = name.model ?? entry.model ?? "";
  if (model === "")
    throw new LoomError("unknown_model", `Name a model of ${name.provider}, such as "${name.provider}/MODEL"`);
  const opened = await entry.open({ model, apiKey, baseURL, headers, api });
  registerSecrets(opened, [apiKey, ...Object.values(headers)]);
  return opened;
}

/** A provider with its address and key. */
export interface ResolvedProvider extends Omit<ProviderConnection, "model"> {
  readonly name: string;
  readonly entry: Provider;
}

/** Finds the address and the key of a provider. Throws `unknown_model` or `missing_key`. */
export function resolveProvider(name: ModelName, { env = process.env }: ResolveOptions): ResolvedProvider {
  const known = PROVIDERS.get(name.provider);
  const entry = known ?? describeCompatible(name.provider);
  const baseURL = name.baseURL ?? readVariable(env, entry.urlVariable) ?? entry.baseURL;
  if (known === undefined && baseURL === undefined) throw createUnknown(name, entry);
  const given = name.apiKey === "" ? undefined : name.apiKey;
  const apiKey = given ?? readVariable(env, entry.keyVariable);
  if (entry.needsKey && apiKey === undefined) throw createMissingKey(name.provider, entry);
  return {
    name: name.provider,
    entry,
    apiKey,
    baseURL: checkAddress(baseURL),
    headers: { ...name.headers },
    api: checkApi(name.api ?? readVariable(env, entry.apiVariable)),
  };
}

/** Parses `openai/gpt-5` into provider and model. The model name may contain slashes, and it may be missing. */
export function parseModelName(text: string): ModelName {
  const slash = text.indexOf("/");
  const provider = (slash < 0 ? text : text.slice(0, slash)).trim();
  const model = slash < 0 ? "" : text.slice(slash + 1).trim();
  if (provider === "")
    throw new LoomError("unknown_model", 'Invalid model name. Write a provider and a model, such as "openai/gpt-5".');
  return model === "" ? { provider } : { provider, model };
}

/** Returns the full name of a model: `openai/gpt-5`, also for `openai` alone. The offline model is just `offline`. */
export function formatModelName(name: ModelName): string {
  const { provider } = name;
  const usual = PROVIDERS.get(provider)?.model ?? "";
  const { model = usual } = name;
  return model === "" || (model === usual && model === provider) ? provider : `${provider}/${model}`;
}

/** Lists the default model of each provider whose key is in the environment. */
export function listKeyedModels(env: Required<ResolveOptions>["env"] = process.env): readonly string[] {
  return [...PROVIDERS].flatMap(([provider, { needsKey, model, keyVariable }]) => {
    const isThere = needsKey && model !== undefined && readVariable(env, keyVariable) !== undefined;
    return isThere ? [formatModelName({ provider })] : [];
  });
}

export function isModel(choice: ModelChoice): choice is LanguageModel {
  return typeof choice === "object" && choice !== null && "doStream" in choice;
}

/** The names only: messages must not contain a key or a header. */
const NAME_OPTIONS: OptionTable<ModelName> = {
  provider: ANY_OPTION,
  model: ANY_OPTION,
  baseURL: ANY_OPTION,
  apiKey: ANY_OPTION,
  api: ANY_OPTION,
  headers: ANY_OPTION,
};

/** Throws `unknown_model` or, for an unknown field, `invalid_arguments`. The name may come from a configuration file. */
export function checkModelName(name: Partial<Record<keyof ModelName, unknown>> | null | undefined): void {
  // With a misspelled `baseURL`, requests would go to another server.
  if (typeof name === "object" && name !== null) readOptions(NAME_OPTIONS, name, { path: "model" });
  const { provider = null, model = "", baseURL = "", apiKey = "" } = name ?? {};
  if ([provider, model, baseURL, apiKey].every((text) => typeof text === "string") && provider !== "") return;
  const form = '{ provider: "openai", model: "gpt-5" }';
  throw new LoomError(
    "unknown_model",
    `Invalid model name. Use a string such as "openai/gpt-5" or an object such as ${form}; all values must be strings.`,
  );
}

/** Shells often "unset" a variable by setting it to an empty string. */
function readVariable(env: Required<ResolveOptions>["env"], variable: string | undefined): string | undefined {
  const value = variable === undefined ? undefined : env[variable]?.trim();
  return value === "" ? undefined : value;
}

/** Normalizes the address. Addresses appear in messages, so one that contains secrets is rejected. */
function checkAddress(baseURL: string | undefined): string | undefined {
  if (baseURL === undefined) return undefined;
  const url = URL.parse(baseURL);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new LoomError("unknown_model", "The baseURL of a model must begin with http:// or https://");
  }
  const { username, password, search, hash, origin, pathname } = url;
  if (username + password + search + hash === "") return origin + pathname.replace(/\/+$/, "");
  throw new LoomError(
    "unknown_model",
    "The baseURL of a model must not contain a user name, a password, a query or a fragment. Pass secrets as apiKey or headers.",
  );
}

function checkApi(api: string | undefined): string | undefined {
  if (api === undefined || api === "responses" || api === "chat") return api;
  throw new LoomError("unknown_model", `The API of a model must be "responses" or "chat", not ${JSON.stringify(api)}`);
}

function createUnknown({ provider, model }: ModelName, { urlVariable = "" }: Provider): LoomError {
  // "gpt-5" is a model without its provider.
  const owner = [...PROVIDERS].find(
    ([, { ownNames }]) => model === undefined && ownNames?.test(provider) === true,
  )?.[0];
  if (owner !== undefined)
    return new LoomError(
      "unknown_model",
      `"${provider}" is a model without its provider. Did you mean "${owner}/${provider}"?`,
      { provider, suggestion: `${owner}/${provider}` },
    );
  const names = [...PROVIDERS.keys()].join(", ");
  return new LoomError(
    "unknown_model",
    `Unknown provider "${provider}". Known providers: ${names}. Any other provider needs an address: set \`baseURL\` or ${urlVariable}.`,
    { provider },
  );
}

function createMissingKey(provider: string, { keyVariable = "" }: Provider): LoomError {
  return new LoomError(
    "missing_key",
    `${provider} needs an API key: set ${keyVariable} or \`apiKey\`. The model "offline" works without a key.`,
    { provider, variable: keyVariable },
  );
}
