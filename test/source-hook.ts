// A module hook for programs from the docs and examples: the names of the package resolve to its source, and other
// packages resolve as if the program were in this repository.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "./source-files.ts";

interface ExportTarget {
  readonly default?: string;
}

function listEntryPoints(): { readonly [name: string]: string } {
  const { name, exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: { readonly [entryPoint: string]: ExportTarget | string };
  };
  const entryPoints = Object.entries(exports).flatMap(([entryPoint, target]) => {
    if (typeof target === "string" || target.default === undefined) return [];
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    return [[name + entryPoint.slice(1), pathToFileURL(join(packageRoot, source)).href]];
  });
  return Object.fromEntries(entryPoints) as { readonly [name: string]: string };
}

/** Value for `node --import`. */
export const SOURCE_HOOK = `data:text/javascript,import { registerHooks } from "node:module";
const entryPoints = ${JSON.stringify(listEntryPoints())};
const root = ${JSON.stringify(pathToFileURL(join(packageRoot, "package.json")).href)};
const isPackage = (name) => !/^(\\.|\\/|[a-z]+:)/.test(name);
registerHooks({ resolve: (name, context, next) =>
  entryPoints[name] !== undefined ? next(entryPoints[name], context)
  : isPackage(name) && !context.parentURL?.includes("/node_modules/") ? next(name, { ...context, parentURL: root })
  : next(name, context) });`;
