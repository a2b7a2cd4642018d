/**
 * From the name of a model to the model: `"openai/gpt-5"`, `{ provider, model, baseURL }`, or a model object, which is
 * given back as it is. Keys come from the choice or from the environment, and are in nothing that is thrown.
 */
import { LoomError } from "../protocol/index.ts";
import type { LanguageModel, ModelChoice, ModelName } from "./model.ts";
import { describeCompatible, type Provider, PROVIDERS } from "./providers.ts";
import { rememberSecrets } from "./redact-secrets.ts";

export interface ResolveOptions {
  /** Where keys and addresses are looked for. Default: `process.env`. */
  readonly env?: { readonly [name: string]: string | undefined };
}

export async function resolveModel(choice: ModelChoice, options: ResolveOptions = {}): Promise<LanguageModel> {
  if (isModel(choice)) return choice;
  const name = typeof choice === "string" ? parseModelName(choice) : choice;
  checkName(name);
  const env = options.env ?? process.env;
  const known = PROVIDERS.get(name.provider);
  const provider = known ?? describeCompatible(name.provider);
  const baseURL = name.baseURL ?? readVariable(env, provider.urlVariable) ?? provider.baseURL;
  if (known === undefined && baseURL === undefined) throw createUnknown(name.provider, provider);
  const model = name.model ?? provider.model ?? "";
  if (model === "") throw new LoomError("unknown_model", `Say which model of ${name.provider}: "${name.provider}/…".`);
  const given = name.apiKey === "" ? undefined : name.apiKey;
  const apiKey = given ?? readVariable(env, provider.keyVariable);
  if (provider.needsKey && apiKey === undefined) throw createMissingKey(name.provider, provider);
  const headers = { ...name.headers };
  const opened = await provider.open({ model, apiKey, baseURL: checkAddress(baseURL), headers });
  rememberSecrets(opened, [apiKey, ...Object.values(headers)]);
  return opened;
}

/** `openai/gpt-5` is a provider and its model; the model's name may have more slashes. A provider alone may do. */
export function parseModelName(text: string): ModelName {
  const slash = text.indexOf("/");
  const provider = (slash < 0 ? text : text.slice(0, slash)).trim();
  const model = slash < 0 ? "" : text.slice(slash + 1).trim();
  if (provider === "") throw new LoomError("unknown_model", 'A model is named like "openai/gpt-5".');
  return model === "" ? { provider } : { provider, model };
}

/** As it is written whole: `openai/gpt-5` also for `openai`, where that is its model. One word for the offline model. */
export function formatModelName(name: ModelName): string {
  const { provider } = name;
  const usual = PROVIDERS.get(provider)?.model ?? "";
  const { model = usual } = name;
  return model === "" || (model === usual && model === provider) ? provider : `${provider}/${model}`;
}

/** The models of all providers whose key is in the environment: the one each has where none is named. */
export function listKeyedModels(env: Required<ResolveOptions>["env"] = process.env): readonly string[] {
  return [...PROVIDERS].flatMap(([provider, { needsKey, model, keyVariable }]) => {
    const isThere = needsKey && model !== undefined && readVariable(env, keyVariable) !== undefined;
    return isThere ? [formatModelName({ provider })] : [];
  });
}

function isModel(choice: ModelChoice): choice is LanguageModel {
  return typeof choice === "object" && choice !== null && "doStream" in choice;
}

/** It may come from a file that somebody wrote. */
function checkName(name: Partial<Record<keyof ModelName, unknown>> | null | undefined): void {
  const { provider = null, model = "", baseURL = "", apiKey = "" } = name ?? {};
  if ([provider, model, baseURL, apiKey].every((text) => typeof text === "string") && provider !== "") return;
  const form = '{ provider: "openai", model: "gpt-5" }';
  throw new LoomError("unknown_model", `A model is named like "openai/gpt-5" or ${form}, all of it texts.`);
}

/** Set and empty is how shells say "not set". */
function readVariable(env: Required<ResolveOptions>["env"], variable: string | undefined): string | undefined {
  const value = variable === undefined ? undefined : env[variable]?.trim();
  return value === "" ? undefined : value;
}

/** The address in its usual form. What it may hold that is secret would be shown wherever the address is. */
function checkAddress(baseURL: string | undefined): string | undefined {
  if (baseURL === undefined) return undefined;
  const url = URL.parse(baseURL);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new LoomError("unknown_model", "The baseURL of a model has to begin with http:// or https://.");
  }
  const { username, password, search, hash, origin, pathname } = url;
  if (username + password + search + hash === "") return origin + pathname.replace(/\/+$/, "");
  throw new LoomError(
    "unknown_model",
    "The baseURL of a model has to be without user name, password and query; give them as apiKey or headers.",
  );
}

function createUnknown(provider: string, { urlVariable = "" }: Provider): LoomError {
  const names = [...PROVIDERS.keys()].join(", ");
  return new LoomError(
    "unknown_model",
    `No provider is called "${provider}". Known are ${names}; any other needs a baseURL, as an option or in ${urlVariable}.`,
    { provider },
  );
}

function createMissingKey(provider: string, { keyVariable = "" }: Provider): LoomError {
  return new LoomError(
    "missing_key",
    `${provider} needs a key: set ${keyVariable} or give apiKey. The model "offline" works without one.`,
    { provider, variable: keyVariable },
  );
}
