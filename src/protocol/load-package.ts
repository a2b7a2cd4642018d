/**
 * Imports an optional package. If it is not installed, throws `missing_package` with the command that installs it;
 * other import errors are rethrown unchanged.
 */
import { LoomError } from "./loom-error.ts";

export async function loadPackage<T>(name: string, purpose: string, importIt: () => Promise<T>): Promise<T> {
  try {
    return await importIt();
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    // A package that this package depends on can be the missing one.
    const missing = /package '([^']+)'/.exec(String(message))?.[1] ?? name;
    const advice = `Install ${missing} ${purpose}: npm install ${missing}`;
    throw new LoomError("missing_package", advice, { package: missing }, { cause: error });
  }
}
