/**
 * Lists the models available without configuration: the offline model, and for each provider key in the environment
 * its default model and all models that the provider reports.
 */
import { listKeyedModels, parseModelName } from "../../models/resolve-model.ts";
import type { Environment } from "../find-store.ts";

export function listDefaultModels(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env).flatMap((model) => [model, `${parseModelName(model).provider}/*`])];
}
