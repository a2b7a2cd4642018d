// The pages whose programs are tested, and their code blocks.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./source-files.ts";

export interface Block {
  /** Page and line. */
  readonly name: string;
  readonly language: string;
  readonly text: string;
}

const guides = readdirSync(join(packageRoot, "docs", "guides")).map((name) => join("docs", "guides", name));
const starts = ["quickstart", "concepts", "comparison"]
  .flatMap((name) => [`${name}.md`, `${name}.zh.md`])
  .map((name) => join("docs", name))
  .filter((page) => existsSync(join(packageRoot, page)));

/** Code blocks of each page. */
export function readBlocks(): Block[][] {
  return ["README.md", "README.zh-CN.md", ...starts, ...guides].map((page) =>
    findBlocks(page, readFileSync(join(packageRoot, page), "utf8")),
  );
}

export function findBlocks(page: string, markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(({ index, 1: language = "", 2: text = "" }) => {
    const line = markdown.slice(0, index).split("\n").length;
    return { name: `${page}:${line}`, language, text };
  });
}
