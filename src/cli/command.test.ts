import { describe, expect, test } from "vitest";
import { type CliCommand, CliError, parseCommand, usageOf } from "./command.ts";
import { CHECK, RUN } from "./commands.ts";
import { measureColumns } from "./fit-text.ts";
import { KB } from "./kb/kb-commands.ts";
import { COMMANDS, main } from "./main.ts";
import { SERVE } from "./serve/serve-command.ts";
import { SESSIONS } from "./sessions/session-commands.ts";

const TOP = COMMANDS.map(({ command }) => command);
const LEAVES = TOP.flatMap(({ subcommands, ...command }) => subcommands ?? [command as CliCommand]);

describe("usageOf", () => {
  test.each([...TOP, ...LEAVES].map((command) => [command.name, command] as const))(
    "fits the window for %s",
    (_, command) => {
      for (const width of [40, 60, 80]) {
        // Examples are not wrapped, so that they can be copied.
        const [text = ""] = usageOf(command, width).split("Examples:\n");
        // A word wider than the window cannot be wrapped.
        const long = text.split("\n").filter((line) => measureColumns(line) > width && line.trim().includes(" "));
        expect(
          long.filter((line) =>
            line
              .trim()
              .split(" ")
              .every((word) => word.length < width - 6),
          ),
        ).toEqual([]);
      }
    },
  );

  test("shows examples and exit codes of every command", () => {
    for (const command of [...TOP, ...LEAVES]) expect(usageOf(command, 80), command.name).toContain("Examples:\n  ");
    for (const command of LEAVES) expect(usageOf(command, 80), command.name).toContain("Exit codes: ");
  });
});

/** The words of the `loom` commands in a line of shell. */
function findCommands(example: string): readonly (readonly string[])[] {
  const words = [...example.matchAll(/"([^"]*)"|'([^']*)'|(\|\||&&|[|<>()])|([^\s"'|<>()]+)/g)];
  const lines: string[][] = [[]];
  for (const [, double, single, sign, plain] of words)
    if (sign === undefined) lines.at(-1)?.push(double ?? single ?? plain ?? "");
    else lines.push([]);
  return lines.flatMap((line) => {
    const start = line.indexOf("loom");
    return start === -1 ? [] : [line.slice(start + 1)];
  });
}

describe("examples", () => {
  test.each(LEAVES.map((command) => [command.name, command] as const))("of %s can be parsed", (name, command) => {
    const used = (command.examples ?? []).flatMap(findCommands);
    expect(used.map(([word = "", next = ""]) => [word, `${word} ${next}`]).flat()).toContain(name);
    for (const [word, ...rest] of used) {
      const found = TOP.find((one) => one.name === word);
      expect(found, word).toBeDefined();
      if (found !== undefined) expect(() => parseCommand(found, rest)).not.toThrow();
    }
  });

  test("are found in pipes, lists and substitutions", () => {
    expect(findCommands('A=1 loom run "a | b" | loom check && T=$(loom token list)')).toEqual([
      ["run", "a | b"],
      ["check"],
      ["token", "list"],
    ]);
  });
});

/** The message and the hint of a CliError. */
function readFault(work: () => unknown): readonly [string, string | undefined] {
  try {
    work();
  } catch (error) {
    if (error instanceof CliError) return [error.message, error.hint];
    throw error;
  }
  return ["", undefined];
}

describe("parseCommand", () => {
  test("suggests the nearest option and subcommand", () => {
    const ask = (command: CliCommand, ...argv: readonly string[]) => readFault(() => parseCommand(command, argv));
    expect(ask(RUN, "--modle", "x")).toEqual(["unknown option `--modle`", "did you mean `--model`?"]);
    expect(ask(RUN, "a", "b")).toEqual(["unexpected argument `b`", "put the message in quotes"]);
    expect(ask(RUN, "--Json")).toEqual(["unknown option `--Json`", "did you mean `--json`?"]);
    expect(ask(CHECK, "--xyzzy")).toEqual(["unknown option `--xyzzy`", "run `loom check --help` for usage"]);
    expect(ask(KB, "serach", "x")).toEqual(["unknown command `loom kb serach`", "did you mean `loom kb search`?"]);
    expect(ask(KB)).toEqual(["`loom kb` needs a command", "choose one of add, list, search, remove"]);
    expect(ask(SESSIONS, "show")).toEqual([
      "`loom sessions show` needs SESSION",
      "run `loom sessions show --help` for usage",
    ]);
    expect(ask(SESSIONS, "show", "a", "b")[0]).toBe("unexpected argument `b`");
  });

  test("explains options and commands of earlier versions", () => {
    const ask = (command: CliCommand, ...argv: readonly string[]) => readFault(() => parseCommand(command, argv))[1];
    expect(ask(RUN, "--beam", "5")).toBe("it is a strategy setting: use `--set tot.beam=…`");
    expect(ask(RUN, "--max-depth", "5")).toBe("it is a strategy setting: use `--set tot.depth=…`");
    expect(ask(RUN, "--max-iterations", "5")).toBe("it is a strategy setting: use `--set react.iterations=…`");
    expect(ask(RUN, "--adaptive")).toBe("use `--agent agot`");
    expect(ask(RUN, "--no-kb")).toBe("use `--kb none`");
  });

  test("reads short options, and both forms of a switch", () => {
    const { options } = parseCommand(RUN, ["-s", "a", "-m", "offline", "hi"]);
    expect(options).toEqual({ session: "a", model: "offline" });
    const serve = (...argv: readonly string[]) => parseCommand(SERVE, argv).options;
    expect(serve("--no-images", "--debug")).toEqual({ images: false, debug: true });
    expect(() => serve("--no-images", "--images")).toThrow("--images and --no-images cannot be used together");
    expect(usageOf(SERVE, 80)).toMatch(/^ {2}--no-images /m);
    expect(usageOf(RUN, 80)).toMatch(/^ {2}-m, --model P\/M /m);
  });

  test("main suggests the nearest command", async () => {
    const written: string[] = [];
    const stream = { on: () => stream, write: (text: string) => written.push(text) };
    const streams = { stdin: stream, stdout: stream, stderr: stream } as unknown as NodeJS.Process;
    expect(await main(["runn"], streams)).toBe(2);
    expect(await main(["xyzzyxyzzy"], streams)).toBe(2);
    expect(await main(["tail", "x"], streams)).toBe(2);
    expect(written.join("")).toContain("unknown command `tail`\n      did you mean `loom show SESSION --follow`?");
    expect(written.join("")).toContain("did you mean `loom run`?");
    expect(written.join("")).toContain("unknown command `xyzzyxyzzy`\n      run `loom --help` for a list");
  });
});
