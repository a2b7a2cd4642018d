/** `loom init`: copies `examples/starter` of this package into a folder. */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { CliError, type ParsedCommand, quoteWord, textOption } from "../command.ts";
import { cleanText } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";

/** Of a checkout or of the installed package, where this file is in `dist`. */
const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));
/** Its modules are `.mts` files, which work in a project of any type. */
const STARTER = join(PACKAGE, "examples/starter");
const MANIFEST = "package.json";
/** A project has its own; the agent works without that of the starter. */
const README = "README.md";

/** For modules that Node runs without a build. */
const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    module: "nodenext",
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
  },
  include: ["**/*.mts"],
};

/**
 * Files of a project that are not in the starter: npm publishes no `.gitignore`, and a checkout checks the starter with
 * its own tsconfig.json. The store is in `data`.
 */
const OTHER_FILES = {
  ".gitignore": "node_modules/\n",
  "data/.gitignore": "*\n",
  "tsconfig.json": `${JSON.stringify(TSCONFIG, null, 2)}\n`,
};

export async function runInit(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const folder = resolve(parsed.argument ?? ".");
  const files = globSync("**/*.*", { cwd: STARTER }).filter((file) => statSync(join(STARTER, file)).isFile());
  const hasReadme = existsSync(join(folder, README));
  const copied = files.filter((file) => file !== MANIFEST && !(hasReadme && file === README)).toSorted();
  const existing = copied.find((file) => existsSync(join(folder, file)));
  if (existing !== undefined)
    throw new CliError(
      `\`${cleanText(join(folder, existing))}\` already exists; nothing was created`,
      "choose another folder: loom init FOLDER",
    );
  const hasManifest = existsSync(join(folder, MANIFEST));
  const own = hasManifest ? readManifest(join(folder, MANIFEST)) : undefined;
  const { manifest, start } = createManifest(folder, own, textOption(parsed, "package"));
  const others = Object.entries(OTHER_FILES).filter(([file]) => !existsSync(join(folder, file)));
  try {
    for (const file of copied) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(STARTER, file), join(folder, file));
    }
    writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    for (const [file, text] of others) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
  } catch (error) {
    throw new CliError(
      `cannot create the project: ${error instanceof Error ? error.message : String(error)}`,
      "choose a folder in which you may create files",
    );
  }
  await terminal.write(`${hasManifest ? "changed" : "created"} ${MANIFEST}\n`);
  for (const file of [...others.map(([file]) => file), ...copied]) await terminal.write(`created ${cleanText(file)}\n`);
  const path = relative(process.cwd(), folder);
  const commands = [...(path === "" ? [] : [`cd ${quoteWord(path)}`]), "npm install", start];
  await terminal.write(`\nNext:\n${commands.map((command) => `  ${cleanText(command)}\n`).join("")}`);
  return 0;
}

/** Adds the manifest of the starter to that of the folder, and returns the command that starts the server. */
function createManifest(
  folder: string,
  existing: JsonObject | undefined,
  given: string | undefined,
): { readonly manifest: JsonObject; readonly start: string } {
  const own = existing ?? {};
  const starter = readManifest(join(STARTER, MANIFEST));
  // npm would refuse to publish a project that becomes private.
  const { private: _, ...shared } = starter;
  const { start = "", ...scripts } = asObject(starter["scripts"]) as { readonly [name: string]: string };
  const ownScripts = asObject(own["scripts"]);
  const script = ["start", "loom"].find((name) => ownScripts[name] === undefined || ownScripts[name] === start);
  const manifest: JsonObject = {
    ...(existing === undefined ? starter : shared),
    name: createName(folder),
    ...own,
    scripts: { ...(script === undefined ? {} : { [script]: start }), ...scripts, ...ownScripts },
    dependencies: {
      ...asObject(starter["dependencies"]),
      ...findInstalledVersion(),
      ...asObject(own["dependencies"]),
      ...(given === undefined ? {} : { "loom-agent": given }),
    },
    devDependencies: { ...asObject(starter["devDependencies"]), ...asObject(own["devDependencies"]) },
  };
  if (script === undefined) return { manifest, start: `npx ${start}` };
  return { manifest, start: script === "start" ? "npm start" : `npm run ${script}` };
}

/** The version or file from which this package is installed; nothing in a checkout. */
function findInstalledVersion(): JsonObject {
  const modules = resolve(PACKAGE, "..");
  const project = dirname(modules);
  if (basename(modules) !== "node_modules" || !existsSync(join(project, MANIFEST))) return {};
  const { dependencies, devDependencies } = readManifest(join(project, MANIFEST));
  const version = { ...asObject(devDependencies), ...asObject(dependencies) }["loom-agent"];
  if (typeof version !== "string") return {};
  return { "loom-agent": version.startsWith("file:") ? `file:${resolve(project, version.slice(5))}` : version };
}

function readManifest(file: string): JsonObject {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new CliError(`cannot read \`${cleanText(file)}\`: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new CliError(`\`${cleanText(file)}\` is not a JSON object`);
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A name that npm accepts. */
function createName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z\d-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" || name === "loom-agent" ? "my-agent" : name;
}
