/**
 * Opens the credentials of a session store. The file is named after the store, since several stores may share a folder.
 */
import { lstatSync } from "node:fs";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import type { Credentials } from "../../server/auth/credentials/credentials.ts";
import { openCredentials } from "../../server/auth/credentials/open-credentials.ts";

function credentialsFile(store: string): string {
  return `${store}-auth`;
}

function fileExists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error, file);
  }
}

/** Creates the credentials file if it is missing. Throws `store_…`. */
export function openStoreCredentials(store: string): Credentials {
  return openCredentials(credentialsFile(store));
}

/** Returns undefined if there is no credentials file. Throws if it exists but cannot be opened. */
export function findStoreCredentials(store: string): Credentials | undefined {
  return fileExists(credentialsFile(store)) ? openStoreCredentials(store) : undefined;
}
