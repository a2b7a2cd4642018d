/**
 * Chinese fonts for Chromium, which has none here. They come from a package in WOFF format and are unpacked once into a
 * cache, because Chromium uses only unpacked system fonts.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { inflateSync } from "node:zlib";
import { packageRoot } from "../source-files.ts";

const WEIGHTS = ["400", "700"];

/** Returns environment variables for the browser. System fonts take precedence. */
export function prepareFonts(): { readonly [name: string]: string } {
  const files = join(dirname(createRequire(import.meta.url).resolve("@fontsource/noto-sans-sc")), "files");
  const folder = join(packageRoot, "node_modules", ".cache", "loom-fonts");
  mkdirSync(folder, { recursive: true });
  for (const weight of WEIGHTS) {
    const name = `noto-sans-sc-chinese-simplified-${weight}-normal`;
    const path = join(folder, `${name}.ttf`);
    if (!existsSync(path)) writeWhole(path, unpackFont(readFileSync(join(files, `${name}.woff`))));
  }
  const config = join(folder, "fonts.conf");
  const text = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>${folder}</dir>
<cachedir>${folder}</cachedir>
</fontconfig>
`;
  writeWhole(config, Buffer.from(text));
  return { FONTCONFIG_FILE: config };
}

/** Renames when complete, because other processes may write at the same time. */
function writeWhole(path: string, bytes: Buffer): void {
  const unfinished = `${path}-${process.pid}-${Math.random()}`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, path);
}

const [WOFF_HEAD, WOFF_ENTRY, FONT_HEAD, FONT_ENTRY] = [44, 20, 12, 16];

/** Unpacks WOFF 1.0: a directory of tables, each compressed separately. */
function unpackFont(packed: Buffer): Buffer {
  const count = packed.readUInt16BE(12);
  const power = Math.floor(Math.log2(count));
  const head = Buffer.alloc(FONT_HEAD + count * FONT_ENTRY);
  packed.copy(head, 0, 4, 8);
  head.writeUInt16BE(count, 4);
  head.writeUInt16BE(16 * 2 ** power, 6);
  head.writeUInt16BE(power, 8);
  head.writeUInt16BE(16 * (count - 2 ** power), 10);
  const tables: Buffer[] = [];
  let place = head.length;
  for (let index = 0; index < count; index++) {
    const from = WOFF_HEAD + index * WOFF_ENTRY;
    const [offset, length, whole] = [4, 8, 12].map((at) => packed.readUInt32BE(from + at)) as [number, number, number];
    const bytes = packed.subarray(offset, offset + length);
    const table = length === whole ? bytes : inflateSync(bytes);
    const to = FONT_HEAD + index * FONT_ENTRY;
    packed.copy(head, to, from, from + 4);
    packed.copy(head, to + 4, from + 16, from + 20);
    head.writeUInt32BE(place, to + 8);
    head.writeUInt32BE(table.length, to + 12);
    const padding = Buffer.alloc((4 - (table.length % 4)) % 4);
    tables.push(table, padding);
    place += table.length + padding.length;
  }
  return Buffer.concat([head, ...tables]);
}
