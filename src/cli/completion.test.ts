// The scripts are run in their shells, if they are installed.
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createCompletion } from "./completion.ts";
import { COMMANDS } from "./main.ts";

/** Stands for the command, which lists sessions. */
const LIST_SESSIONS = "loom() { printf 'alpha\\tFirst title\\nbeta\\tSecond: title\\n'; }";
const LISTED = COMMANDS.map(({ command }) => command);
const hasShell = (name: string): boolean => spawnSync(name, ["-c", "true"]).status === 0;

/** Completes the last word of each line in one bash. */
function completeInBash(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const calls = lines.map((words) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _loom; echo "\${COMPREPLY[*]}"`;
  });
  const input = [LIST_SESSIONS, createCompletion("bash", LISTED), "IFS=' '", ...calls].join("\n");
  const { stdout, stderr, status } = spawnSync("bash", ["--norc"], { input, encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/\s+/).filter((word) => word !== ""));
}

/** Completes the last word of each line in one fish. */
function completeInFish(lines: readonly string[]): readonly (readonly string[])[] {
  const calls = lines.map((line) => `complete -C '${line}'; echo ---`);
  const sessions = "function loom; printf 'alpha\\tFirst title\\nbeta\\tSecond: title\\n'; end";
  const input = [sessions, createCompletion("fish", LISTED), ...calls].join("\n");
  const { stdout, stderr, status } = spawnSync("fish", ["--no-config", "-c", input], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  const words = (part: string): string[] => part.match(/^[^\t\n]+/gm) ?? [];
  return stdout.split("---\n").slice(0, -1).map(words);
}

/** Completes the last word of each line in one zsh, which needs a terminal, and returns the lines after it. */
function completeInZsh(lines: readonly string[]): readonly string[] {
  const script = `
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$SCRIPT"; show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show; bindkey "^G" show; print REA""DY'
    zpty -r -m z shown '*READY*'
    for line in "$@"; do
      zpty -w -n z "$line"$'\\t\\x07'
      zpty -r -m z shown '*<*>*'
      print -r -- "$shown"
    done`;
  const env = { ...process.env, SCRIPT: `${LIST_SESSIONS}\n${createCompletion("zsh", LISTED)}`, TERM: "xterm" };
  const { stdout, stderr, status } = spawnSync("zsh", ["-f", "-c", script, "zsh", ...lines], { env, encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.match(/(?<=<)loom [^>]*(?=>)/g) ?? [];
}

describe("completion", () => {
  test.skipIf(!hasShell("zsh"))("zsh completes commands, options and values", () => {
    const given = [
      "loom ing",
      "loom sessions e",
      "loom chat --pl",
      "loom run --reasoning=h",
      "loom run --reasoning h",
      "loom help sh",
      "loom help sessions e",
      "loom help run --ag",
      "loom check /etc/host",
      "loom sessions show b",
      "loom run -s a",
    ];
    expect(completeInZsh(given)).toEqual([
      "loom ingest ",
      "loom sessions export ",
      "loom chat --plain ",
      "loom run --reasoning=high ",
      "loom run --reasoning high ",
      "loom help show ",
      "loom help sessions export ",
      "loom help run --ag",
      "loom check /etc/host",
      "loom sessions show beta ",
      "loom run -s alpha ",
    ]);
  });

  test.skipIf(!hasShell("fish"))("fish completes commands, options and values", () => {
    const [started, subcommands, options, levels, explained, none, files, helped, shown, named] = completeInFish([
      "loom s",
      "loom sessions e",
      "loom sessions fork --",
      "loom serve --log-level ",
      "loom help sh",
      "loom run help ",
      "loom check /etc/host",
      "loom help sessions e",
      "loom sessions show ",
      "loom run -s ",
    ]);
    expect([shown, named]).toEqual([
      ["alpha", "beta"],
      ["alpha", "beta"],
    ]);
    expect(started).toEqual(["serve", "sessions", "show", "store"]);
    expect(subcommands).toEqual(["export"]);
    expect(options).toEqual(expect.arrayContaining(["--before", "--checkpoint", "--server", "--help"]));
    expect(levels).toEqual(["debug", "error", "info", "silent", "warn"]);
    expect(explained).toEqual(["show"]);
    expect(none).toEqual([]);
    expect(files).toContain("/etc/hosts");
    expect(helped).toEqual(["export"]);
  });

  test.skipIf(!hasShell("bash"))("bash completes commands, options and values", () => {
    const [
      commands,
      started,
      subcommands,
      options,
      values,
      shells,
      explained,
      framings,
      named,
      shown,
      negated,
      after,
      files,
      helped,
      joined,
      all,
    ] = completeInBash([
      ["loom", ""],
      ["loom", "s"],
      ["loom", "sessions", "e"],
      ["loom", "sessions", "fork", "--"],
      ["loom", "run", "--approve", ""],
      ["loom", "completion", ""],
      ["loom", "help", "sh"],
      ["loom", "check", "--framing", ""],
      ["loom", "run", "--session", "b"],
      ["loom", "show", "b"],
      ["loom", "serve", "--no-i"],
      ["loom", "show", "abc", "--dialect", "a"],
      ["loom", "check", "/etc/host"],
      ["loom", "help", "sessions", "e"],
      ["loom", "run", "--reasoning", "=", "h"],
      ["loom", "run", "--approve", "="],
    ]);
    expect(commands).toEqual(expect.arrayContaining(LISTED.map(({ name }) => name)));
    expect(started).toEqual(["serve", "show", "sessions", "store"]);
    expect(subcommands).toEqual(["export"]);
    expect(options).toEqual(expect.arrayContaining(["--before", "--checkpoint", "--server", "--help"]));
    expect(values).toEqual(["ask", "always", "never"]);
    expect(shells).toEqual(["bash", "zsh", "fish"]);
    expect(explained).toEqual(["show"]);
    expect(framings).toEqual(["ndjson", "sse", "auto"]);
    expect(named).toEqual(["beta"]);
    expect(shown).toEqual(expect.arrayContaining(["beta"]));
    expect(negated).toEqual(["--no-images"]);
    expect(after).toEqual(["ai-sdk", "ag-ui"]);
    expect(files).toContain("/etc/hosts");
    expect(helped).toEqual(["export"]);
    expect(joined).toEqual(["high"]);
    expect(all).toEqual(["ask", "always", "never"]);
  });

  test.each(["bash", "zsh", "fish"] as const)("%s accepts the script", (shell) => {
    const script = createCompletion(shell, LISTED);
    for (const { name } of LISTED) expect(script).toContain(name);
    if (!hasShell(shell)) return;
    const { status, stderr } = spawnSync(shell, ["-n", "-c", script], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  });
});
