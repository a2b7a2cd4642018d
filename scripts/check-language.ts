// Checks that code, docs and tests use plain words: prints each listed word with its file, line and suggestion, and
// fails if there is one. Without arguments it checks the whole project; with arguments only those files and folders.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { findLanguageFaults, type TextFile } from "./find-language-faults.ts";

const root = join(import.meta.dirname, "..");

const CHECKED = [".ci", "bench", "bin", "docs", "examples", "scripts", "site", "src", "test", "web"];
const EXTENSIONS = /\.(?:ts|tsx|js|md|css|html)$/;
const SKIPPED = /(?:^|\/)(?:node_modules|dist)\/|\.generated\.ts$|(?:^|\/)(?:find-language-faults|language\.test)\.ts$/;

function listFiles(path: string): string[] {
  const absolute = join(root, path);
  if (!existsSync(absolute)) throw new Error(`check-language: ${path} does not exist`);
  if (!statSync(absolute).isDirectory()) return [path];
  return readdirSync(absolute, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
}

function readFiles(paths: readonly string[]): TextFile[] {
  return paths
    .flatMap(listFiles)
    .map((path) => path.split(sep).join("/"))
    .filter((path) => EXTENSIONS.test(path) && !SKIPPED.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

const given = process.argv.slice(2).map((path) => relative(root, join(process.cwd(), path)));
const atRoot = readdirSync(root).filter((name) => EXTENSIONS.test(name));
const files = readFiles(given.length === 0 ? [...atRoot, ...CHECKED] : given);
const faults = findLanguageFaults(files);
for (const { path, line, found, suggestion } of faults) console.error(`${path}:${line}: "${found}" → ${suggestion}`);
console.log(`language: ${files.length} files, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
