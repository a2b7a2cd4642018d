/**
 * Start times of the built package: importing each entry point in a new process, next to peers, and starting the server
 * until it answers `GET /healthz`. Medians of wall time and processor time; the contestants take turns.
 *
 * Run `npm run build` first. `--quick` takes fewer turns.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { median, print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const TURNS = QUICK ? 5 : 15;
const SERVER_TURNS = QUICK ? 3 : 7;
const ROOT_GOAL_MS = 60;
const PEERS = ["hono", "ai"];
const ROOT = join(import.meta.dirname, "..");

interface Start {
  readonly wallMs: number;
  /** Processor time, user and system. */
  readonly cpuMs: number;
}

/** Starts a program with the folder of the package, so that it finds the package and its peers by name. */
async function importInChild(specifier: string): Promise<Start> {
  const program = `
    const before = process.cpuUsage();
    const started = performance.now();
    await import(${JSON.stringify(specifier)});
    const wallMs = performance.now() - started;
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }), () => process.exit());`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: ROOT,
  });
  return JSON.parse(stdout) as Start;
}

/** Starts the server with an empty store on a free port, until it answers. */
async function startServer(): Promise<Start> {
  const folder = mkdtempSync(join(tmpdir(), "loom-start-"));
  const port = await findFreePort();
  const started = performance.now();
  const options = ["--port", String(port), "--store", join(folder, "chats.db")];
  const child = spawn(process.execPath, [join(ROOT, "bin", "loom.js"), "serve", ...options], {
    cwd: folder,
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  try {
    while (!(await isHealthy(port))) {
      if (child.exitCode !== null) throw new Error(`loom serve ended with code ${child.exitCode}`);
      await pause(2);
    }
    return { wallMs: performance.now() - started, cpuMs: readCpuMs(child.pid) };
  } finally {
    child.kill();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** Processor time of a process so far, from Linux's `/proc`; elsewhere not a number. */
function readCpuMs(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  // The fields after the name of the command. The unit of time is 10 ms.
  const fields = readFileSync(file, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

function summarize(starts: readonly Start[]): Start {
  return { wallMs: median(starts.map(({ wallMs }) => wallMs)), cpuMs: median(starts.map(({ cpuMs }) => cpuMs)) };
}

const format = ({ wallMs, cpuMs }: Start): string => `${wallMs.toFixed(0)} ms, processor ${cpuMs.toFixed(0)} ms`;

const { name, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly name: string;
  readonly exports: { readonly [path: string]: string | object };
};
const entryPoints = Object.keys(exports).filter((path) => typeof exports[path] === "object");
const specifiers = [...entryPoints.map((path) => posix.join(name, path)), ...PEERS];

const imports = new Map<string, Start[]>(specifiers.map((specifier) => [specifier, []]));
for (let turn = 0; turn < TURNS; turn++)
  for (const specifier of specifiers) imports.get(specifier)?.push(await importInChild(specifier));
const summaries = new Map([...imports].map(([specifier, starts]) => [specifier, summarize(starts)]));

print(`import in a new process, median of ${TURNS}`);
for (const [specifier, summary] of summaries) print(`      ${specifier.padEnd(22)} ${format(summary)}`);
const root = summaries.get(name) ?? { wallMs: Number.NaN, cpuMs: Number.NaN };
const ratios = PEERS.map((peer) => `${peer} ${times((summaries.get(peer)?.cpuMs ?? Number.NaN) / root.cpuMs)}`);
const isReached = report(
  `import ${name}`,
  `${root.wallMs.toFixed(0)} ms`,
  `${ROOT_GOAL_MS} ms`,
  root.wallMs <= ROOT_GOAL_MS,
  `processor time of peers: ${ratios.join(", ")}`,
);
if (!isReached) process.exitCode = 1;

const servers: Start[] = [];
for (let turn = 0; turn < SERVER_TURNS; turn++) servers.push(await startServer());
print(`loom serve until GET /healthz answers, median of ${SERVER_TURNS}: ${format(summarize(servers))}`);
