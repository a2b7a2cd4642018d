/**
 * Lists the models available without configuration: the offline model, and one for each provider key in the
 * environment.
 */
import { listKeyedModels } from "../../models/resolve-model.ts";
import type { Environment } from "../find-store.ts";

export function listDefaultModels(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env)];
}
