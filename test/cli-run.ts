/**
 * Runs the real command, `bin/loom.js`, as a caller would, and gives back what that caller sees. Whatever a run is
 * about, it must not show a stack trace or where the source lies; this is checked on every one.
 *
 * A process costs more than what most commands do. Those that only read and print are carried out in this one in the short
 * run, by all that `bin/loom.js` calls; in the long run each is a process.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll, expect } from "vitest";
import { main } from "../src/cli/main.ts";
import { packageRoot } from "./source-files.ts";

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: { readonly [name: string]: string };
}

/** A folder for the files of one test file, gone when it ends. */
export const folder = realpathSync(mkdtempSync(join(tmpdir(), "loom-cli-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

export const COMMAND = join(packageRoot, "bin", "loom.js");

/** The environment less what would colour the output or change the command. */
export function environment(env: RunOptions["env"] = {}): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _force, NO_COLOR: _no, NODE_OPTIONS: _options, LOOM_DEBUG: _debug, ...rest } = process.env;
  return { ...rest, ...env };
}

const AT_ONCE = Math.max(2, availableParallelism());
let running = 0;
const waiting: (() => void)[] = [];

export async function loom(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    const ran = await (mayRunHere(args, options) ? runHere(args, options) : runCommand(args, options));
    expectQuiet(ran);
    return ran;
  } finally {
    running--;
    waiting.shift()?.();
  }
}

const HERE: ReadonlySet<string | undefined> = new Set(["check", "convert", "schema", "demo", "help", "--help", "-h"]);

/** Files that are named by less than their whole path are looked for where a process is. */
function mayRunHere([name, ...rest]: readonly string[], { env }: RunOptions): boolean {
  const isPlain = (word: string): boolean =>
    word.startsWith("-") || word.startsWith(folder) || !(/[./]/.test(word) || existsSync(join(folder, word)));
  return process.env["LOOM_LONG"] !== "1" && env === undefined && HERE.has(name) && rest.every(isPlain);
}

async function runHere(args: readonly string[], { input = "" }: RunOptions): Promise<Ran> {
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
    stdout: collect(chunks.out),
    stderr: collect(chunks.err),
  } as unknown as NodeJS.Process);
  return { code, out: Buffer.concat(chunks.out).toString(), err: Buffer.concat(chunks.err).toString() };
}

async function runCommand(args: readonly string[], { input = "", env }: RunOptions): Promise<Ran> {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: folder, env: environment(env) });
  const chunks: { out: Buffer[]; err: Buffer[] } = { out: [], err: [] };
  child.stdout.on("data", (chunk: Buffer) => chunks.out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.err.push(chunk));
  // The command may end before it has read all of it.
  child.stdin.on("error", () => undefined).end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  return { code, out: Buffer.concat(chunks.out).toString(), err: Buffer.concat(chunks.err).toString() };
}

/** No stack trace, no place in the source tree. */
export function expectQuiet({ out, err }: Ran): void {
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
