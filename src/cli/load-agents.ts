/**
 * Loads the agents of `--agents FILE`: a JavaScript or TypeScript module of the user. Agents are recognised by their
 * methods, because they may come from another copy of this package.
 */
import { statSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Agent } from "../agents/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { withTimeout } from "../protocol/with-timeout.ts";
import type { ServedAgent } from "../server/runs/run-dispatcher.ts";
import { CliError } from "./command.ts";

/** Paragraph of the help texts. */
export const AGENTS_NOTE =
  "--agents FILE adds your own agents. FILE is a JavaScript or TypeScript module with `export default { NAME: AGENT }`, where AGENT comes from `agent` or `foreignAgent` of loom-agent, which must be installed for the folder of FILE. The first one is the default agent, and one named react replaces the built-in one. Options for models, prompts and tools apply to the built-in agents only.";

/** The agents of a module by name, in its order. */
export type LoadedAgents = { readonly [name: string]: ServedAgent };

/** Time for a module to load, in milliseconds. */
const LOAD_MS = 30_000;
const FORM = "write `export default { NAME: AGENT }`, with agents of `agent` or `foreignAgent`";
/** What Node says of an ES module in a file that it takes for CommonJS, as `.ts` and `.js` files after `npm init`. */
const NOT_A_MODULE = /outside a module|^Unexpected token 'export'|top level bodies of modules/;
const AGENT_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.:/@-]{0,63}$/u;

/** True for a name that can be given to `--agent`. */
export function isAgentName(name: string): boolean {
  return AGENT_NAME.test(name);
}

/** Throws a CliError that names the file if it cannot be loaded or has no agents. */
export async function loadAgents(file: string, { timeoutMs = LOAD_MS } = {}): Promise<LoadedAgents> {
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new CliError(`agents: no file \`${file}\``);
  return readAgents(await importModule(file, pathToFileURL(path).href, timeoutMs), file);
}

async function importModule(file: string, url: string, timeoutMs: number): Promise<unknown> {
  const message = `agents: \`${file}\` did not finish loading within ${timeoutMs / 1000} s`;
  const late = (): Error => new CliError(message);
  try {
    const loaded: unknown = await withTimeout({ timeoutMs, late }, () => import(/* @vite-ignore */ url));
    return (loaded as { readonly default?: unknown }).default;
  } catch (error) {
    throw error instanceof CliError ? error : describeFailedImport(error, file, url);
  }
}

function describeFailedImport(error: unknown, file: string, url: string): CliError {
  const thrown: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const { name, code, message, stack } = thrown;
  const place = findPlace(stack ?? "", file, url);
  const where = place === undefined ? "" : ` (${place})`;
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    const missing = /package '([^']+)'/.exec(message)?.[1];
    const hint = missing === undefined ? undefined : `run \`npm install ${missing}\` in the folder of the file`;
    return new CliError(`agents: cannot load \`${file}\`: ${message.split("\n", 1).join("")}`, hint);
  }
  if (name !== "SyntaxError") return new CliError(`agents: \`${file}\` failed while loading: ${message}${where}`);
  const hint = NOT_A_MODULE.test(message)
    ? 'give it the extension .mts or .mjs, or set "type": "module" in its package.json'
    : place === undefined
      ? `run \`node --check ${file}\` to see the line`
      : undefined;
  return new CliError(`agents: cannot parse \`${file}\`: ${message}${where}`, hint);
}

/** Finds the line in the file or, if an imported module failed, the place there. */
function findPlace(stack: string, file: string, url: string): string | undefined {
  for (const start of [url, fileURLToPath(url)]) {
    const [, after] = stack.split(`${start}:`, 2);
    const line = after === undefined ? undefined : /^\d+/.exec(after)?.[0];
    if (line !== undefined) return `${file}:${line}`;
  }
  const { module, line } = /(?<module>file:\/\/[^\s?)]+?):(?<line>\d+)/.exec(stack)?.groups ?? {};
  return module === undefined ? undefined : `${fileURLToPath(module)}:${line ?? ""}`;
}

function readAgents(exported: unknown, file: string): LoadedAgents {
  if (exported === undefined) throw new CliError(`agents: \`${file}\` has no default export`, FORM);
  const single = basename(file, extname(file));
  const entries = isAgent(exported) ? [[single, exported] as const] : listEntries(exported);
  if (entries.length === 0)
    throw new CliError(`agents: the default export of \`${file}\` has no agents: ${describeValue(exported)}`, FORM);
  return Object.fromEntries(entries.map(([name, value]) => [name, readAgent(name, value, file)]));
}

function listEntries(exported: unknown): readonly (readonly [string, unknown])[] {
  return typeof exported === "object" && exported !== null && !Array.isArray(exported) ? Object.entries(exported) : [];
}

function readAgent(name: string, value: unknown, file: string): ServedAgent {
  if (!isAgentName(name))
    throw new CliError(
      `agents: invalid name "${name.slice(0, 80)}" of an agent in \`${file}\``,
      "use up to 64 letters, digits and _ . : / @ -, and begin with a letter, a digit or _",
    );
  if (isAgent(value)) return { agent: value };
  const { agent, description, model } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly [key in keyof ServedAgent]?: unknown;
  };
  if (!isAgent(agent))
    throw new CliError(`agents: "${name}" in \`${file}\` is not an agent: ${describeValue(value)}`, FORM);
  for (const [key, text] of Object.entries({ description, model }))
    if (text !== undefined && typeof text !== "string")
      throw new CliError(`agents: \`${key}\` of "${name}" in \`${file}\` must be a string, not ${describeValue(text)}`);
  return value as ServedAgent;
}

/** True for an agent of this or another copy of the package that has what the commands use. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  const { kind, toolNames, sessionOptions, openSession, close } = value as { readonly [key in keyof Agent]?: unknown };
  return (
    typeof kind === "string" &&
    Array.isArray(toolNames) &&
    [sessionOptions, openSession, close].every((method) => typeof method === "function")
  );
}
