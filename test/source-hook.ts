// What programs in documents and examples are started with: the names of the package mean its source, so that what was
// built last does not matter, and packages are found as if the program stood in the checkout.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "./source-files.ts";

interface Door {
  readonly default?: string;
}

function listEndpoints(): { readonly [name: string]: string } {
  const { name, exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: { readonly [door: string]: Door | string };
  };
  const doors = Object.entries(exports).flatMap(([door, target]) => {
    if (typeof target === "string" || target.default === undefined) return [];
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    return [[name + door.slice(1), pathToFileURL(join(packageRoot, source)).href]];
  });
  return Object.fromEntries(doors) as { readonly [name: string]: string };
}

/** For `node --import`. */
export const SOURCE_HOOK = `data:text/javascript,import { registerHooks } from "node:module";
const doors = ${JSON.stringify(listEndpoints())};
const root = ${JSON.stringify(pathToFileURL(join(packageRoot, "package.json")).href)};
const isPackage = (name) => !/^(\\.|\\/|[a-z]+:)/.test(name);
registerHooks({ resolve: (name, context, next) =>
  doors[name] !== undefined ? next(doors[name], context)
  : isPackage(name) && !context.parentURL?.includes("/node_modules/") ? next(name, { ...context, parentURL: root })
  : next(name, context) });`;
