/**
 * A Chinese font for Chromium, which has none here. It comes from a package as many WOFF2 files, one per range of
 * characters, which are unpacked once into a cache, because Chromium uses only unpacked system fonts.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import decompress from "woff2-encoder/decompress";
import { packageRoot } from "../source-files.ts";

export interface FontOptions {
  /** System fonts take precedence. Without them, text looks the same on every machine. Default: true. */
  readonly hasSystemFonts?: boolean;
}

/** Returns environment variables for the browser. */
export async function prepareFonts({ hasSystemFonts = true }: FontOptions = {}): Promise<{
  readonly [name: string]: string;
}> {
  const files = join(dirname(createRequire(import.meta.url).resolve("@fontsource-variable/noto-sans-sc")), "files");
  const folder = join(packageRoot, "node_modules", ".cache", "loom-fonts");
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(files)) {
    const path = join(folder, name.replace(/\.woff2$/, ".ttf"));
    if (!existsSync(path)) writeWhole(path, await decompress(readFileSync(join(files, name))));
  }
  const config = join(folder, hasSystemFonts ? "fonts.conf" : "own-fonts.conf");
  const text = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${hasSystemFonts ? '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>' : ""}
<dir>${folder}</dir>
<cachedir>${folder}</cachedir>
</fontconfig>
`;
  writeWhole(config, Buffer.from(text));
  return { FONTCONFIG_FILE: config };
}

/** Renames when complete, because other processes may write at the same time. */
function writeWhole(path: string, bytes: Uint8Array): void {
  const unfinished = `${path}-${process.pid}-${Math.random()}`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, path);
}
