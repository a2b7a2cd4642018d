/** Where the credentials of a store are. Named after it: two stores in one folder have nothing to do with each other. */
import { lstatSync } from "node:fs";
import { asStoreError } from "../../log/sqlite/failure.ts";
import type { Credentials } from "../../server/auth/credentials/credentials.ts";
import { openCredentials } from "../../server/auth/credentials/open-credentials.ts";

function credentialsFile(store: string): string {
  return `${store}-auth`;
}

function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error, file);
  }
}

/** Makes them where there are none. Throws `store_…`. */
export function openCredentialsOf(store: string): Credentials {
  return openCredentials(credentialsFile(store));
}

/** Undefined where there are none: whoever only looks makes nothing. What is there and cannot be opened is no "none". */
export function findCredentialsOf(store: string): Credentials | undefined {
  return isThere(credentialsFile(store)) ? openCredentialsOf(store) : undefined;
}
