/**
 * Opens the models that users can choose in addition to the first model of a server. A model that cannot be opened is
 * skipped with a warning; it does not stop the server from starting.
 */
import { type LanguageModel, listModels, type ModelName } from "../../models/index.ts";
import { formatModelName, parseModelName } from "../../models/resolve-model.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError } from "../../protocol/index.ts";
import { openModel } from "../agent-resources.ts";
import type { Environment } from "../find-store.ts";
import { NONE } from "./setting.ts";
import { listDefaultModels } from "./settings.ts";

export interface NamedModel {
  /** For example `openai/gpt-5` or `offline`. */
  readonly name: string;
  readonly model: LanguageModel;
}

export interface AdditionalModelsOptions {
  /** The first model. `baseURL` and `apiKey` also apply to additional models of the same provider. */
  readonly model: string;
  /** Names of the additional models; undefined: the default models. */
  readonly models: readonly string[] | undefined;
  readonly baseURL?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly offlineDelayMs?: number | undefined;
  readonly env?: Environment;
  /** Lists the models of a provider. Default: asks the provider. */
  readonly list?: typeof listModels;
}

/** Maximum number of additional models; an agent of every kind is created for each. */
const MAX_MODELS = 100;
/** All models that the provider reports. */
const ALL = "*";

export async function openAdditionalModels(
  options: AdditionalModelsOptions,
  onWarning: (warning: string) => void,
): Promise<readonly NamedModel[]> {
  const { env = process.env, baseURL, apiKey, offlineDelayMs } = options;
  const first = parseModelName(options.model);
  const models = options.models ?? [...listDefaultModels(env), `${first.provider}/${ALL}`];
  const wanted = [...new Set(models)].filter((model) => model !== NONE).map((model) => parseModelName(model));
  const found = await Promise.all(wanted.map((name) => expand(name, first, { ...options, env }, onWarning)));
  const names = new Set(found.flat());
  names.delete(formatModelName(first));
  if (names.size > MAX_MODELS)
    onWarning(`${names.size} additional models configured; only the first ${MAX_MODELS} are served`);
  const opened = await Promise.all(
    [...names].slice(0, MAX_MODELS).map(async (name): Promise<NamedModel | undefined> => {
      const isSame = parseModelName(name).provider === first.provider;
      try {
        const model = await openModel({
          model: name,
          offlineDelayMs,
          ...(isSame ? { baseURL, apiKey } : FROM_ENVIRONMENT),
        });
        return { name, model };
      } catch (error) {
        if (!isLoomError(error)) throw error;
        onWarning(`model ${name} is not available: ${error.message}`);
        return undefined;
      }
    }),
  );
  return opened.filter((model) => model !== undefined);
}

/** Returns the name itself, or for `openai/*` the models that the provider reports. */
async function expand(
  name: ModelName,
  first: ModelName,
  { env = process.env, baseURL, apiKey, list = listModels }: AdditionalModelsOptions,
  onWarning: (warning: string) => void,
): Promise<readonly string[]> {
  if (name.model !== ALL) return [formatModelName(name)];
  const { provider } = name;
  const isSame = provider === first.provider;
  try {
    return await list({ provider, ...(isSame ? dropUndefined({ baseURL, apiKey }) : {}) }, { env });
  } catch (error) {
    if (!isLoomError(error)) throw error;
    onWarning(error.message);
    return [];
  }
}

/** Models of other providers take their key and URL from the environment. */
const FROM_ENVIRONMENT = { baseURL: undefined, apiKey: undefined } as const;
