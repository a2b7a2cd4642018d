#!/usr/bin/env node
// The command `loom`, from a checkout and from the installed package alike. It only picks the Node that runs the
// command: the rest of Loom needs Node 24 or newer, this file must still parse and run on Node 14, so it keeps to
// plain JavaScript, static imports of built-in modules without the `node:` prefix, and no top-level await.
// Invariant: it re-runs itself at most once, and ends with the exit code (or the signal) of the command.
import { spawn } from "child_process";
import { existsSync } from "fs";
import { dirname, join } from "path";
import { fileURLToPath, pathToFileURL } from "url";

const OLDEST_MAJOR = 24;
const RERUN_MARK = "LOOM_NODE_RERUN";
const SELF = fileURLToPath(import.meta.url);
const PACKAGE_ROOT = dirname(dirname(SELF));

/** The executable of the `node` package, looked for in every `node_modules` from here upward. */
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
    `loom: this is Node ${process.versions.node}, but Loom needs Node ${OLDEST_MAJOR} or newer (>=${OLDEST_MAJOR}).\n` +
      `loom: install a newer Node from https://nodejs.org, or run \`npm install node@26\` beside loom-agent, then try again.\n`,
  );
  process.exitCode = 2;
}

function rerunWith(executable) {
  const child = spawn(executable, [SELF, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, [RERUN_MARK]: "1" },
  });
  // Ctrl-C in a terminal reaches the whole process group, so the child has it already; a second one could read as
  // "stop at once". Without a terminal nobody but this process was told.
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

function runCommand() {
  // The mark is for the one re-run only; programs that the command starts must not inherit it.
  delete process.env[RERUN_MARK];
  // Node does not strip types under node_modules, so the published package runs the built files.
  const source = join(PACKAGE_ROOT, "src", "cli", "main.ts");
  const entry = existsSync(source) ? source : join(PACKAGE_ROOT, "dist", "cli", "main.js");
  import(pathToFileURL(entry).href)
    .then(({ main }) => main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      // The command reports its own failures; what arrives here is a fault of Loom (70 is EX_SOFTWARE).
      const detail = process.env.LOOM_DEBUG ? error.stack : `${error.message} (LOOM_DEBUG=1 shows where)`;
      process.stderr.write(`loom: internal error: ${detail}\n`);
      process.exitCode = 70;
    });
}

if (Number(process.versions.node.split(".")[0]) >= OLDEST_MAJOR) {
  runCommand();
} else {
  const executable = process.env[RERUN_MARK] ? undefined : findNodePackage();
  if (executable) rerunWith(executable);
  else refuseOldNode();
}
