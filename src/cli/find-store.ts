/** Finds the default files for sessions and documents from the environment. */
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isDatabaseUrl } from "../log/open-log.ts";
import { isLoomError } from "../protocol/index.ts";
import { CliError } from "./command.ts";

export type Environment = { readonly [name: string]: string | undefined };

/** Returns undefined for an empty variable. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

/** A file, or the URL of a database. */
export function findStore(env: Environment): string {
  return readVariable(env, "LOOM_STORE") ?? join(findDataFolder(env), "loom.db");
}

/** Throws a CliError for `:memory:`, which is not a file. */
export function rejectMemory(store: string): void {
  if (store === ":memory:")
    throw new CliError(
      "a store in memory would be lost when the command ends",
      "name a file with --store or LOOM_STORE",
    );
}

/** The folder of the default store. */
export function findDataFolder(env: Environment): string {
  const data = readVariable(env, "XDG_DATA_HOME") ?? join(homedir(), ".local", "share");
  return join(data, "loom");
}

/** Whether the store is a database. Throws a CliError for a URL of another kind. */
export function isDatabase(store: string): boolean {
  try {
    return isDatabaseUrl(store);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message, "choose another store with `--store` or LOOM_STORE");
  }
}

/** Whether the store is a database or a file that exists. Throws the errors of `isDatabase` and `fileExists`. */
export function storeExists(store: string): boolean {
  return isDatabase(store) || fileExists(store);
}

/** Throws a CliError if the file cannot be read, or if it cannot be found out, for example without permission for the folder. */
export function fileExists(file: string): boolean {
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
    accessSync(file, constants.R_OK);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason = code === "EACCES" || code === "EPERM" ? "permission denied" : code;
    throw new CliError(
      `\`${file}\` cannot be read (${reason})`,
      "check the path, its permissions and those of its folders",
    );
  }
}

/** Removes user, password and options from a URL. Returns a path as it is. */
export function hideCredentials(store: string): string {
  if (!/^[a-z][a-z\d+.-]+:\/\//i.test(store)) return store;
  if (!URL.canParse(store)) return "a database";
  const { protocol, host, pathname } = new URL(store);
  return `${protocol}//${host}${pathname}`;
}

/** `LOOM_KB`; or the store if that is a database; or a file next to the default store. */
export function findKnowledgeBase(env: Environment, store: string = findStore(env)): string {
  const given = readVariable(env, "LOOM_KB");
  if (given !== undefined) return given;
  if (isDatabase(store)) return store;
  const own = findStore(env);
  return join(isDatabase(own) ? findDataFolder(env) : dirname(own), "knowledge.db");
}
