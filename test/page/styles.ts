/** Returns the component styles as one text, with imports inlined. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../source-files.ts";

export function readStyles(path = join(packageRoot, "src", "react", "style.css")): string {
  return readFileSync(path, "utf8").replaceAll(/@import "(\.[^"]+)";/g, (_rule, name: string) =>
    readStyles(join(dirname(path), name)),
  );
}
