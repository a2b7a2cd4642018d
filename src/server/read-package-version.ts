/** The version in package.json, which lies two folders up from here, in a checkout and in the installed package alike. */
import { readFileSync } from "node:fs";

export function readPackageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
