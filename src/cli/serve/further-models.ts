/**
 * The models that people may choose besides the first of a server. One that cannot be had is left out, and told of: it
 * never keeps a server from its start.
 */
import type { LanguageModel } from "../../models/index.ts";
import { formatModelName, parseModelName } from "../../models/resolve-model.ts";
import { isLoomError } from "../../protocol/index.ts";
import { openModel } from "../equipment.ts";
import type { Environment } from "../find-store.ts";
import { listUsualModels } from "./list-usual-models.ts";
import { NONE } from "./setting.ts";

export interface NamedModel {
  /** As `openai/gpt-5` or `offline`. */
  readonly name: string;
  readonly model: LanguageModel;
}

export interface FurtherModelsOptions {
  /** The first. What is told of its provider goes for others of the same. */
  readonly model: string;
  /** Undefined for the usual ones. */
  readonly models: readonly string[] | undefined;
  readonly baseURL?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly offlineDelayMs?: number | undefined;
  readonly env?: Environment;
}

/** Each makes an agent of every kind. */
const MAX_MODELS = 20;

export async function openFurtherModels(
  options: FurtherModelsOptions,
  onWarning: (warning: string) => void,
): Promise<readonly NamedModel[]> {
  const { env = process.env, models = listUsualModels(env), baseURL, apiKey, offlineDelayMs } = options;
  const first = parseModelName(options.model);
  const wanted = models.filter((model) => model !== NONE).map((model) => parseModelName(model));
  const names = new Set(wanted.map(formatModelName));
  names.delete(formatModelName(first));
  if (names.size > MAX_MODELS) onWarning(`only the first ${MAX_MODELS} of ${names.size} further models are served`);
  const opened = await Promise.all(
    [...names].slice(0, MAX_MODELS).map(async (name): Promise<NamedModel | undefined> => {
      const isSame = parseModelName(name).provider === first.provider;
      try {
        const model = await openModel({ model: name, offlineDelayMs, ...(isSame ? { baseURL, apiKey } : SOMEWHERE) });
        return { name, model };
      } catch (error) {
        if (!isLoomError(error)) throw error;
        onWarning(`the model ${name} is left out: ${error.message}`);
        return undefined;
      }
    }),
  );
  return opened.filter((model) => model !== undefined);
}

/** Where the environment says. */
const SOMEWHERE = { baseURL: undefined, apiKey: undefined } as const;
