/**
 * Starts of the built package, each in a new process: importing an entry point, next to the peers that users import for
 * the same purpose, and the commands that only start, answer and end. The processor time is that of the new process up
 * to its end, with the start of Node; the limit is Node with an empty program.
 *
 * The package is linked into a folder without sources, as if it was installed, because in a checkout the command runs
 * the sources.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { Benchmark, Contestants, Prepare, Row, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const { name, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly name: string;
  readonly exports: { readonly [path: string]: string | object };
};

/** Writes the processor time and peak memory to a pipe when the program ends. The signal ends the server. */
const PROBE = `
  import { writeSync } from "node:fs";
  import { isMainThread } from "node:worker_threads";
  if (isMainThread) {
    process.on("exit", () => {
      const { user, system } = process.cpuUsage();
      writeSync(3, JSON.stringify({ cpuMs: (user + system) / 1000, peakMb: process.resourceUsage().maxRSS / 1024 }));
    });
    process.on("SIGUSR2", () => process.exit());
  }`;

/** The built package and its dependencies, and the probe. */
function installPackage(): string {
  if (!existsSync(join(ROOT, "dist", "index.js"))) throw new Error("Run `npm run build` first.");
  const folder = createFolder();
  const target = join(folder, "node_modules", name);
  mkdirSync(target, { recursive: true });
  for (const part of ["bin", "package.json"]) cpSync(join(ROOT, part), join(target, part), { recursive: true });
  symlinkSync(join(ROOT, "dist"), join(target, "dist"));
  for (const peer of ["ai", "hono", "@ag-ui", "@langchain", "@openai"])
    symlinkSync(join(ROOT, "node_modules", peer), join(folder, "node_modules", peer));
  writeFileSync(join(folder, "probe.mjs"), PROBE);
  writeFileSync(join(folder, "empty.mjs"), "");
  return folder;
}

interface Program {
  readonly args: readonly string[];
  /** Runs once before the first round. */
  readonly before?: readonly string[];
  /** Ends a program that keeps running, when this resolves. */
  readonly until?: (output: AsyncIterable<Buffer>) => Promise<void>;
}

const runEach =
  (createProgram: (folder: string) => Program): Prepare =>
  (count) => {
    const folder = installPackage();
    const { args, before = [], until } = createProgram(folder);
    // Compiled modules are kept there from the first round on, as for a user.
    const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache"), LOOM_STORE: join(folder, "chats.db") };
    if (before.length > 0) spawnSync(process.execPath, before, { cwd: folder, env, stdio: "ignore" });
    return async (): Promise<Spent> => {
      let [cpuMs, peakMb] = [0, 0];
      for (let run = 0; run < count; run++) {
        const child = spawn(process.execPath, ["--import", join(folder, "probe.mjs"), ...args], {
          cwd: folder,
          env,
          stdio: ["ignore", "pipe", "ignore", "pipe"],
        });
        const ended = once(child, "exit");
        const [, output, , probe] = child.stdio as unknown as readonly [null, Readable, null, Readable];
        const spent = text(probe);
        if (until === undefined) output.resume();
        else {
          await until(output);
          child.kill("SIGUSR2");
        }
        const [code] = (await ended) as [number | null];
        if (code !== 0) throw new Error(`\`${args.join(" ")}\` ended with code ${code}.`);
        const one = JSON.parse(await spent) as Required<Spent>;
        cpuMs += one.cpuMs;
        peakMb = Math.max(peakMb, one.peakMb);
      }
      return { cpuMs, peakMb };
    };
  };

const importPackage = (specifier: string): Prepare =>
  runEach(() => ({ args: ["--input-type=module", "--eval", `await import(${JSON.stringify(specifier)})`] }));

const loom = (args: readonly string[], more: Omit<Program, "args"> = {}): Prepare =>
  runEach((folder) => {
    const program = join(folder, "node_modules", name, "bin", "loom.js");
    // There is a store with one session.
    return { args: [program, ...args], before: [program, "run", "6*7"], ...more };
  });

/** The server prints its address when it listens. */
async function waitForHealth(output: AsyncIterable<Buffer>): Promise<void> {
  let printed = "";
  for await (const piece of output) {
    printed += piece.toString();
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
    if (url === undefined) continue;
    while (!(await fetch(`${url}/healthz`)).ok) await pause(2);
    return;
  }
  throw new Error("The server did not start.");
}

const limits = { "an empty program": runEach((folder) => ({ args: [join(folder, "empty.mjs")] })) };

/** What users import for the same purpose. `@openai/agents` also loads its provider; ours are loaded by the first call. */
const PEERS: { readonly [path: string]: readonly string[] } = {
  ".": ["ai", "hono", "@langchain/langgraph", "@openai/agents-core"],
  "./agents": ["ai", "@openai/agents-core"],
  "./graph": ["@langchain/langgraph"],
  "./server": ["hono"],
  "./client": ["@ag-ui/client"],
};

const rowOf = (what: string, ours: Prepare, peers: Contestants = {}): Row => ({
  what,
  unit: "start",
  sizes: [1],
  ours,
  peers,
  limits,
});

const entryPoints = Object.keys(exports).filter((path) => typeof exports[path] === "object");

export const benchmark: Benchmark = {
  about: "CPU time of a new process that imports an entry point of the built package, or runs a command",
  rows: [
    ...entryPoints.map((path) => {
      const specifier = posix.join(name, path);
      const peers = Object.fromEntries((PEERS[path] ?? []).map((peer) => [peer, importPackage(peer)]));
      return { ...rowOf(`import ${specifier}`, importPackage(specifier), peers), isSlow: PEERS[path] === undefined };
    }),
    ...[["--version"], ["--help"], ["sessions", "list"], ["run", "6*7"]].map((args) =>
      rowOf(`loom ${args.join(" ")}`, loom(args)),
    ),
    rowOf("loom serve until GET /healthz", loom(["serve", "--port", "0"], { until: waitForHealth })),
  ],
};
