/**
 * Loads a package that need not be there. Where it is missing, the error says what to install and what for; every other
 * failure of its loading is passed on as it is.
 */
import { LoomError } from "./loom-error.ts";

export async function loadPackage<T>(name: string, purpose: string, importIt: () => Promise<T>): Promise<T> {
  try {
    return await importIt();
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    // The package itself, or one that it needs beside it.
    const missing = /package '([^']+)'/.exec(String(message))?.[1] ?? name;
    const advice = `Install ${missing} ${purpose}: npm install ${missing}`;
    throw new LoomError("missing_package", advice, { package: missing }, { cause: error });
  }
}
