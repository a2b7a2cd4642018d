/**
 * Builds the package into `dist`, and `loom-client`, the part of it for frontends, into `dist-client`. Each has one module and
 * one declaration file per entry point, and chunks that they share. What a feature needs is in a chunk that is loaded on
 * demand. Dependencies stay external, and nothing is minified.
 *
 *   node scripts/build.ts [--no-check]    `--no-check` does not check the types
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";

const ROOT = join(import.meta.dirname, "..");
const TYPES = join(ROOT, "dist", ".types");

/** Programs of the package that no other module imports: the command, and the threads that it starts by their path. */
const PROGRAMS = ["src/cli/main.ts", "src/**/{writer,search,digest,read-pdf}-thread.ts"];

/** The entry points of `loom-client`. The first is its root. They need no Node, and no dependency of the server. */
const CLIENT = ["client", "react", "protocol", "dialects", "framing", "ai-sdk"];

interface Manifest {
  readonly exports: { readonly [path: string]: string | { readonly types: string; readonly default: string } };
  readonly dependencies: { readonly [name: string]: string };
  readonly [field: string]: unknown;
}

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

const OUTPUT: OutputOptions = { format: "esm", chunkFileNames: "chunks/[name]-[hash].js" };

/** Declarations of commands, which `loom` loads all: their texts are its help. */
const COMMANDS = /src.cli.(?:(?:backup|chat|kb|sessions|store).)?(?!audit)[\w-]*(?:commands?|terminal).ts$/;

/**
 * Shared modules are in one chunk per folder, instead of one per set of entry points that shares them. A folder imports
 * only folders named before it, so no chunk imports another in a circle. A chunk includes what its modules import.
 */
const GROUPS: NonNullable<OutputOptions["codeSplitting"]> = {
  groups: [
    { name: "protocol", test: /src.(?:protocol|framing)/, priority: 9, minShareCount: 3 },
    { name: "dialects", test: /src.dialects.(?:loom|engine|stream-event)/, priority: 8, minShareCount: 4 },
    // The other dialects are loaded on demand, one at a time.
    { name: (path) => /src.dialects.([\w-]+)[\\/]/.exec(path)?.[1] ?? null, debugName: "dialect", priority: 7 },
    { name: "all-dialects", test: /src.dialects.(?!load-dialect)/, priority: 6, minShareCount: 2 },
    // Commands on a local store need no more of the client.
    { name: "command-frames", test: /src.client.transport.command-frames/, priority: 5 },
    { name: "log", test: /src.(?:sqlite|log).(?!postgres)/, priority: 4, minShareCount: 12 },
    { name: "client", test: /src.client/, priority: 3, minShareCount: 2 },
    { name: "sqlite", test: /src.log.sqlite/, priority: 2, minShareCount: 2 },
    // Also for `loom chat`, where React may be missing.
    { name: "markdown", test: /src.react.text.lex-markdown/, priority: 3 },
    { name: "react", test: /src.react/, priority: 2 },
    { name: "commands", test: COMMANDS, priority: 1 },
  ],
};

/** Entry points of the package by their path in `dist`, without the extension. */
function listEntryPoints(): readonly string[] {
  return Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [] : [posix.relative("dist", posix.normalize(target.default)).replace(/\.js$/, "")],
  );
}

const isExternal = (id: string): boolean => !id.startsWith(".") && !isAbsolute(id);

/** Modules find threads and files by paths relative to their source. These hold wherever the bundle puts the module. */
const KEEP_PLACES: Plugin = {
  name: "keep-places",
  transform: {
    filter: { code: /import\.meta\.url/ },
    handler: (code, id) => {
      const path = relative(join(ROOT, "src"), id).split(sep).join("/").replace(/\.ts$/, ".js");
      return code.replaceAll("import.meta.url", `LOOM_PLACE(${JSON.stringify(path)})`);
    },
  },
  renderChunk: (code, { fileName }) =>
    code.replaceAll(/LOOM_PLACE\("([^"]+)"\)/g, (_call, path: string) => {
      const place = posix.relative(posix.dirname(fileName), path);
      return `new URL(${JSON.stringify(place)}, import.meta.url).href`;
    }),
};

async function buildModules(dir: string, names: readonly string[]): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(ROOT, "src", `${name}.ts`)])),
    platform: "node",
    external: isExternal,
    treeshake: { moduleSideEffects: false },
    checks: { ineffectiveDynamicImport: false },
    plugins: [KEEP_PLACES],
  });
  const comments = { legal: true, annotation: true, jsdoc: false };
  await bundle.write({ ...OUTPUT, dir, codeSplitting: GROUPS, comments });
}

function writeTypes(args: readonly string[]): void {
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const options = ["-p", "tsconfig.build.json", "--outDir", TYPES, ...args];
  const { status } = spawnSync(process.execPath, [compiler, ...options], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) throw new Error("The declarations could not be made");
}

async function buildDeclarations(dir: string, names: readonly string[]): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(TYPES, `${name}.d.ts`)])),
    external: isExternal,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
  });
  await bundle.write({ ...OUTPUT, dir });
}

/** The stylesheet of the components, in one file. */
function buildStyles(dir: string): void {
  const path = join(ROOT, "src", "react", "style.css");
  const text = readFileSync(path, "utf8").replaceAll(/^@import "(\S+)";$/gm, (_line, imported: string) =>
    readFileSync(join(dirname(path), imported), "utf8"),
  );
  writeFileSync(join(dir, "react", "style.css"), text);
}

/** What `loom-client` publishes besides the modules. */
function writeClientManifest(dir: string): void {
  const { version, license, repository, engines, dependencies } = manifest;
  const exports: { [path: string]: unknown } = {};
  for (const [index, name] of CLIENT.entries())
    exports[index === 0 ? "." : `./${name}`] = { types: `./${name}/index.d.ts`, default: `./${name}/index.js` };
  const used = ["marked", "@tanstack/virtual-core"].map((name) => [name, dependencies[name]] as const);
  const own = {
    name: "loom-client",
    version,
    description: "Receive and show the runs of AI agents: the part of loom-agent for frontends.",
    license,
    repository,
    type: "module",
    engines,
    sideEffects: ["**/*.css"],
    exports: { ...exports, "./react/style.css": "./react/style.css", "./package.json": "./package.json" },
    dependencies: Object.fromEntries(used),
    peerDependencies: { ai: ">=7", react: ">=19" },
    peerDependenciesMeta: { ai: { optional: true }, react: { optional: true } },
  };
  writeFileSync(join(dir, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  copyFileSync(join(ROOT, "LICENSE"), join(dir, "LICENSE"));
  writeFileSync(join(dir, "README.md"), CLIENT_README);
}

const CLIENT_README = `# loom-client

The part of [loom-agent](https://www.npmjs.com/package/loom-agent) that runs in browsers and other frontends: the receiver
(\`loom-client\`), the hooks and components (\`loom-client/react\`), the transport for the AI SDK (\`loom-client/ai-sdk\`), and
the protocol. Its guides apply: read \`loom-agent/client\` as \`loom-client\`.
`;

const programs = PROGRAMS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).map((path) =>
  path
    .split(sep)
    .join("/")
    .replace(/^src\/(.*)\.ts$/, "$1"),
);
const products = [
  { dir: join(ROOT, "dist"), entryPoints: listEntryPoints(), programs },
  { dir: join(ROOT, "dist-client"), entryPoints: CLIENT.map((name) => `${name}/index`), programs: [] },
];
for (const { dir } of products) rmSync(dir, { recursive: true, force: true });
mkdirSync(join(ROOT, "dist"));
writeTypes(process.argv.includes("--no-check") ? ["--noCheck"] : []);
for (const { dir, entryPoints, programs: more } of products) {
  await buildModules(dir, [...entryPoints, ...more]);
  await buildDeclarations(dir, entryPoints);
  buildStyles(dir);
}
writeClientManifest(join(ROOT, "dist-client"));
rmSync(TYPES, { recursive: true });
