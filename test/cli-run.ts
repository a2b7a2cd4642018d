/**
 * Runs the real command, `bin/loom.js`, and returns its output. Every run is checked for stack traces and source paths.
 *
 * In the short run, most commands run in this process, because a child process takes longer than most commands. Those
 * that tests stop with a signal are child processes, and in the long run all are.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { expect, vi } from "vitest";
import { main } from "../src/cli/main.ts";
import { nodeArgs } from "./bundle-source.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: { readonly [name: string]: string };
  /** Standard error is a terminal of 80 columns. The command then runs in this process. */
  readonly isTerminal?: boolean;
  /** Standard output is such a terminal, too. */
  readonly isScreen?: boolean;
  /** The command runs as a child process, with its own umask. */
  readonly isChild?: boolean;
  /** The command runs in this process, whatever it is. It must not need signals or another folder. */
  readonly isInProcess?: boolean;
}

/** A folder for the files of the tests in this thread. */
export const folder = realpathSync(mkdtempSync(join(tmpdir(), "loom-cli-")));

export const COMMAND = join(packageRoot, "bin", "loom.js");

/** The environment of the tests, without variables that change colours or the command. */
const {
  CI: _ci,
  FORCE_COLOR: _force,
  NO_COLOR: _no,
  NODE_OPTIONS: _options,
  LOOM_DEBUG: _debug,
  ...OWN_ENVIRONMENT
} = process.env;

export function environment(env: RunOptions["env"] = {}): NodeJS.ProcessEnv {
  return { ...OWN_ENVIRONMENT, ...env };
}

const MAX_CONCURRENT = Math.max(2, availableParallelism());
let running = 0;
const waiting: (() => void)[] = [];

export async function loom(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  if (running >= MAX_CONCURRENT) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    const ran = await (canRunInProcess(args, options) ? runInProcess(args, options) : runInChild(args, options));
    expectNoStackTrace(ran);
    return ran;
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** Commands that only read and print, and those that also read the environment. */
const PRINTING: ReadonlySet<string | undefined> = new Set(["check", "convert", "help", "--help", "-h"]);
const STORING: ReadonlySet<string | undefined> = new Set([
  "run",
  "kb",
  "token",
  "store",
  "sessions",
  "show",
  "ingest",
  "cancel",
  "approve",
  "chat",
  "completion",
]);

/** Commands with relative paths need a process whose current folder is `folder`. */
function canRunInProcess(
  [name, ...rest]: readonly string[],
  { env, isTerminal = false, isChild = false, isInProcess = false }: RunOptions,
): boolean {
  if (isTerminal || isInProcess) return true;
  if (isChild) return false;
  const isPlain = (word: string): boolean =>
    word.startsWith("-") ||
    word.startsWith(folder) ||
    word.startsWith("postgres://") ||
    word.includes(" ") ||
    !(/[./]/.test(word) || existsSync(join(folder, word)));
  const isKnown = STORING.has(name) || (PRINTING.has(name) && env === undefined);
  return !LONG && isKnown && rest.every(isPlain);
}

let lastInProcess: Promise<unknown> = Promise.resolve();

/** Runs commands one after another, because they share the variables of this process. */
async function runInProcess(args: readonly string[], options: RunOptions): Promise<CommandResult> {
  const run = async (): Promise<CommandResult> => {
    setEnvironment(environment(options.env));
    // Threads cannot set it; a test of permissions needs a process.
    const umask = vi.spyOn(process, "umask").mockReturnValue(0o022);
    try {
      return await callMain(args, options);
    } finally {
      umask.mockRestore();
      setEnvironment(environment());
    }
  };
  const result = lastInProcess.then(run, run);
  lastInProcess = result;
  return result;
}

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  Object.assign(process.env, env);
}

const TERMINAL = { isTTY: true, columns: 80 };

async function callMain(
  args: readonly string[],
  { input = "", isTerminal = false, isScreen = false }: RunOptions,
): Promise<CommandResult> {
  const chunks: { out: Buffer[]; err: Buffer[] } = { out: [], err: [] };
  const collect = (into: Buffer[]) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        into.push(chunk);
        done();
      },
    });
  const code = await main(args, {
    stdin: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]),
    stdout: Object.assign(collect(chunks.out), isScreen ? TERMINAL : {}),
    stderr: Object.assign(collect(chunks.err), isTerminal ? TERMINAL : {}),
  } as unknown as NodeJS.Process);
  return { code, out: Buffer.concat(chunks.out).toString(), err: Buffer.concat(chunks.err).toString() };
}

async function runInChild(args: readonly string[], { input = "", env }: RunOptions): Promise<CommandResult> {
  const child = spawn(process.execPath, [...nodeArgs(), COMMAND, ...args], { cwd: folder, env: environment(env) });
  const chunks: { out: Buffer[]; err: Buffer[] } = { out: [], err: [] };
  child.stdout.on("data", (chunk: Buffer) => chunks.out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.err.push(chunk));
  // The command may exit before it has read all input.
  child.stdin.on("error", () => undefined).end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  return { code, out: Buffer.concat(chunks.out).toString(), err: Buffer.concat(chunks.err).toString() };
}

/** Expects no stack trace and no path of the source tree. */
export function expectNoStackTrace({ out, err }: CommandResult): void {
  expect(`${out}\n${err}`).not.toMatch(/^ +at .+[:(]/m);
  expect(`${out}\n${err}`).not.toContain(packageRoot);
}

export function writeInput(name: string, text: string | Uint8Array): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

export function ndjson(frames: readonly unknown[]): string {
  return frames.map((frame) => `${typeof frame === "string" ? frame : JSON.stringify(frame)}\n`).join("");
}

export function parseLines(text: string): { readonly [key: string]: unknown }[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly [key: string]: unknown });
}
