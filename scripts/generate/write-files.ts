/** Writes generated files. In check mode it only lists those that are out of date. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

export class GeneratedFiles {
  readonly #checkOnly: boolean;
  readonly stale: string[] = [];

  constructor(checkOnly: boolean) {
    this.#checkOnly = checkOnly;
  }

  write(path: string, text: string): void {
    const full = join(ROOT, path);
    if (existsSync(full) && readFileSync(full, "utf8") === text) return;
    this.stale.push(path);
    if (this.#checkOnly) return;
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }

  /** Replaces the text between `<!-- generated:NAME -->` and `<!-- /generated -->` in a page. */
  writeSection(path: string, name: string, text: string): void {
    const start = `<!-- generated:${name} -->`;
    const end = "<!-- /generated -->";
    const full = join(ROOT, path);
    const page = existsSync(full) ? readFileSync(full, "utf8") : "";
    const from = page.indexOf(start);
    const to = page.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`${path} has no section ${start} … ${end}`);
    this.write(path, `${page.slice(0, from + start.length)}\n${text.trim()}\n${page.slice(to)}`);
  }
}
