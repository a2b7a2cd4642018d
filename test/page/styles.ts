/** The styles of the components as one text, with what they import put in its place. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../source-files.ts";

export function readStyles(path = join(packageRoot, "src", "react", "style.css")): string {
  return readFileSync(path, "utf8").replaceAll(/@import "(\.[^"]+)";/g, (_rule, name: string) =>
    readStyles(join(dirname(path), name)),
  );
}
