#!/usr/bin/env node
// The `loom` command, in a checkout and in the installed package. It picks the Node that runs the command: Loom needs
// Node 24 or newer, but this file must run on Node 14. It therefore uses plain JavaScript, static imports of built-in
// modules without the `node:` prefix, and no top-level await.
//
// Invariant: it restarts itself at most once, and exits with the exit code or signal of the command.
import { spawn } from "child_process";
import { existsSync, readFileSync } from "fs";
import module from "module";
import { homedir } from "os";
import { dirname, join } from "path";
import { fileURLToPath, pathToFileURL } from "url";

const OLDEST_MAJOR = 24;
const RERUN_MARK = "LOOM_NODE_RERUN";
const SELF = fileURLToPath(import.meta.url);
const PACKAGE_ROOT = dirname(dirname(SELF));

/** Finds the executable of the `node` package in any `node_modules` from here upward. */
function findNodePackage() {
  const file = process.platform === "win32" ? "node.exe" : "node";
  for (let folder = PACKAGE_ROOT; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", "node", "bin", file);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
}

function refuseOldNode() {
  process.stderr.write(
    `loom: Node ${process.versions.node} is too old; Loom needs Node ${OLDEST_MAJOR} or newer.\n` +
      `loom: install it from https://nodejs.org, or run \`npm install node@26\` next to loom-agent.\n`,
  );
  process.exitCode = 2;
}

function rerunWith(executable) {
  const child = spawn(executable, [SELF, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, [RERUN_MARK]: "1" },
  });
  // In a terminal, Ctrl-C reaches the whole process group, so the child already has it; forwarding it would count as a
  // second Ctrl-C. Without a terminal, only this process receives the signal.
  const hasTerminal = Boolean(process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  const forward = (signal) => {
    if (signal !== "SIGINT" || !hasTerminal) child.kill(signal);
  };
  for (const signal of signals) process.on(signal, forward);
  child.on("error", (error) => {
    process.stderr.write(`loom: cannot start ${executable}: ${error.message}\n`);
    refuseOldNode();
  });
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeListener(name, forward);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
}

/**
 * Lets Node keep the compiled modules for the next start. Not in its default folder: that is shared with other users of the
 * machine, who could change what is in it.
 */
function keepCompiledModules() {
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  module.enableCompileCache(join(caches, "loom"));
}

function runCommand() {
  // Set for the restart only; programs started by the command must not inherit it.
  delete process.env[RERUN_MARK];
  // Node does not strip types under node_modules, so the published package runs the built files. It has no tsconfig.json.
  const isCheckout = existsSync(join(PACKAGE_ROOT, "tsconfig.json"));
  if (!isCheckout) keepCompiledModules();
  const entry = join(PACKAGE_ROOT, ...(isCheckout ? ["src", "cli", "main.ts"] : ["dist", "cli", "main.js"]));
  import(pathToFileURL(entry).href)
    .then(({ main }) => main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
      // A module of `--agents` may have left timers or connections open. The timer does not keep the process alive.
      process.stdout.write("", () => setTimeout(() => process.exit(), 1000).unref());
    })
    .catch((error) => {
      // The command reports its own errors; anything else is a bug (70 is EX_SOFTWARE).
      const detail = process.env.LOOM_DEBUG ? error.stack : `${error.message} (set LOOM_DEBUG=1 for a stack trace)`;
      process.stderr.write(`loom: internal error: ${detail}\n`);
      process.exitCode = 70;
    });
}

/** Answered here, because the command takes four times as long to load. */
function printVersion() {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8"));
  process.stdout.write(`${version}\n`);
}

if (Number(process.versions.node.split(".")[0]) >= OLDEST_MAJOR) {
  if (process.argv[2] === "--version" || process.argv[2] === "-V") printVersion();
  else runCommand();
} else {
  const executable = process.env[RERUN_MARK] ? undefined : findNodePackage();
  if (executable) rerunWith(executable);
  else refuseOldNode();
}
