/** Finds the default files for sessions and documents from the environment. */
import { homedir } from "node:os";
import { dirname, join } from "node:path";

export type Environment = { readonly [name: string]: string | undefined };

/** Returns undefined for an empty variable. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

export function findStore(env: Environment): string {
  const data = readVariable(env, "XDG_DATA_HOME") ?? join(homedir(), ".local", "share");
  return readVariable(env, "LOOM_STORE") ?? join(data, "loom", "loom.db");
}

/** `LOOM_KB`, or a file next to the default store. */
export function findKnowledgeBase(env: Environment): string {
  return readVariable(env, "LOOM_KB") ?? join(dirname(findStore(env)), "knowledge.db");
}
