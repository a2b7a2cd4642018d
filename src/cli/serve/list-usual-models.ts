/** The models that work here without a word: the offline one, and those whose key is in the environment. It opens none. */
import { listKeyedModels } from "../../models/resolve-model.ts";
import type { Environment } from "../find-store.ts";

export function listUsualModels(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env)];
}
