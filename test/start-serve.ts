/** `loom serve` as a child process on a free port, without a knowledge base and with answers at once. */
import { type ChildProcess, spawn } from "node:child_process";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder } from "./cli-run.ts";

export interface ServerProcess {
  readonly url: string;
  readonly process: ChildProcess;
  /** What it has written to standard error so far. */
  readonly readErrors: () => string;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

const children = new Set<ChildProcess>();

export function killServers(): void {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
}

/** Resolves when the server prints its URL. `hook` is a module that Node imports first. Call `killServers` at the end. */
export async function startServe(store: string, args: readonly string[], hook?: string): Promise<ServerProcess> {
  const { url, ...server } = spawnServe(store, args, hook);
  return { url: await url, ...server };
}

/** Like `startServe`, but does not wait for the URL. */
export function spawnServe(
  store: string,
  args: readonly string[],
  hook?: string,
): Omit<ServerProcess, "url"> & { readonly url: Promise<string> } {
  const kb = args.includes("--kb") ? [] : ["--kb", "none"];
  const node = [...nodeArgs(), ...(hook === undefined ? [] : ["--import", hook])];
  const child = spawn(process.execPath, [...node, COMMAND, "serve", "--port", "0", "--store", store, ...kb, ...args], {
    cwd: folder,
    env: environment({ LOOM_PORT: "1", LOOM_OFFLINE_DELAY: "0", LOOM_DRAIN: "0", LOOM_MODELS: "acme/x,ollama/y" }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let out = "";
  let err = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    const url = /^listening on (?<url>\S+)$/m.exec(out)?.groups?.["url"];
    if (url !== undefined) resolve(url);
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  const ended = new Promise<{ code: number | null; out: string; err: string }>((settle) => {
    child.on("close", (code) => {
      children.delete(child);
      reject(new Error(`the server exited with ${String(code)}: ${err}`));
      settle({ code, out, err });
    });
  });
  promise.catch(() => undefined);
  return { url: promise, process: child, readErrors: () => err, ended };
}
