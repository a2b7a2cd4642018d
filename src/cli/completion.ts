/** `loom completion`: prints a script that completes commands, options and their values in a shell. */
import { CliError, type CliCommand, type CliOption, type ParsedCommand } from "./command.ts";
import type { Terminal } from "./terminal.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** Argument with which the scripts list sessions. */
const SESSION_IDS = "sessions";

export const COMPLETION: CliCommand = {
  name: "completion",
  summary: "Print a script that completes commands and options in a shell.",
  argument: "SHELL",
  needsArgument: true,
  argumentChoices: SHELLS,
  options: {},
  notes: [
    `SHELL is ${SHELLS.join(", ")}. The script runs \`loom completion ${SESSION_IDS}\`, which lists the newest sessions, to complete IDs. Load the script when the shell starts: in bash from ~/.bashrc, in zsh from a file \`_loom\` in a folder of $fpath, in fish from ~/.config/fish/completions/loom.fish. Print it again after an update of Loom.`,
    "Exit codes: 0 printed, 2 unknown shell.",
  ],
  examples: [
    "source <(loom completion bash)",
    "loom completion zsh > ~/.zsh/completions/_loom",
    "loom completion fish > ~/.config/fish/completions/loom.fish",
  ],
};

export async function runCompletion(
  commands: readonly CliCommand[],
  parsed: ParsedCommand,
  terminal: Terminal,
): Promise<number> {
  const { argument = "" } = parsed;
  if (argument === SESSION_IDS) return (await import("./sessions/newest-sessions.ts")).listSessionIds(parsed, terminal);
  const shell = SHELLS.find((name) => name === argument);
  if (shell === undefined) throw new CliError(`unknown shell \`${argument}\``, `choose one of ${SHELLS.join(", ")}`);
  await terminal.write(createCompletion(shell, commands));
  return 0;
}

/** Returns the script for a shell. */
export function createCompletion(shell: Shell, commands: readonly CliCommand[]): string {
  return WRITERS[shell](commands);
}

const WRITERS: { readonly [S in Shell]: (commands: readonly CliCommand[]) => string } = {
  bash: createBashScript,
  zsh: createZshScript,
  fish: createFishScript,
};

/** What a value is completed with. */
interface CompletedValues {
  readonly words?: readonly string[] | undefined;
  readonly hasFiles: boolean;
  readonly hasSessions: boolean;
}

const FILE_PLACEHOLDER = /\b(?:FILE|DIR|FOLDER|PATH|STORE)\b/;
const SESSION_PLACEHOLDER = /\bSESSION\b/;

/** Returns undefined for a switch. */
function valuesOf(name: string, { value, choices }: CliOption): CompletedValues | undefined {
  if (value === undefined) return undefined;
  return { words: choices, hasFiles: FILE_PLACEHOLDER.test(value), hasSessions: name === "session" };
}

function argumentValuesOf({ argument = "", argumentChoices }: CliCommand): CompletedValues {
  const [hasFiles, hasSessions] = [FILE_PLACEHOLDER.test(argument), SESSION_PLACEHOLDER.test(argument)];
  return { words: argumentChoices, hasFiles, hasSessions };
}

/** The long forms of all options. */
function optionsOf({ options }: CliCommand): readonly (readonly [name: string, option: CliOption])[] {
  const forms = Object.entries(options).flatMap(([name, option]) =>
    (option.defaultsTo === undefined ? [name] : [name, `no-${name}`]).map((form) => [form, option] as const),
  );
  return [...forms, ["help", { about: "show this help", short: "h" }]];
}

function listLeaves(commands: readonly CliCommand[]): readonly CliCommand[] {
  return commands.flatMap(({ subcommands, ...command }) => subcommands ?? [command]);
}

function listGroups(commands: readonly CliCommand[]): readonly Required<Pick<CliCommand, "name" | "subcommands">>[] {
  return commands.flatMap(({ name, subcommands }) => (subcommands === undefined ? [] : [{ name, subcommands }]));
}

/** The name without that of its group. */
function lastWord({ name }: CliCommand): string {
  return name.split(" ").at(-1) ?? "";
}

function createBashScript(commands: readonly CliCommand[]): string {
  const groups = listGroups(commands);
  const leaves = listLeaves(commands);
  const names = commands.map(({ name }) => name).join(" ");
  const groupCases = groups.map(
    ({ name, subcommands }) =>
      `    ${name})\n      [[ $COMP_CWORD -eq 2 ]] && words="${subcommands.map(lastWord).join(" ")}"\n      cmd="${name} \${COMP_WORDS[2]}"\n      ;;`,
  );
  const helpCases = groups.map(
    ({ name, subcommands }) => `        "3 ${name}") words="${subcommands.map(lastWord).join(" ")}" ;;`,
  );
  const valueCases = leaves.flatMap((command) =>
    Object.entries(command.options).flatMap(([name, option]) => {
      const values = valuesOf(name, option);
      const letter = option.short === undefined ? "" : `|"${command.name} -${option.short}"`;
      return values === undefined ? [] : [`    "${command.name} --${name}"${letter}) ${bashWords(values)} ;;`];
    }),
  );
  const optionCases = leaves.map((command) => {
    const options = optionsOf(command).map(([name]) => `--${name}`);
    return `    "${command.name}") if [[ $cur == -* ]]; then words="${options.join(" ")}"; else ${bashWords(argumentValuesOf(command))}; fi ;;`;
  });
  return `# Completion of loom for bash. Load it with: source <(loom completion bash)
_loom() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} cmd=\${COMP_WORDS[1]} words="" files="" sessions=""
  COMPREPLY=()
  # Bash splits --option=value at the sign.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $COMP_CWORD -eq 1 ]]; then words="${names} help --help --version"; fi
  case "$cmd" in
    help)
      case "$COMP_CWORD \${COMP_WORDS[2]}" in
        2*) words="${names}" ;;
${helpCases.join("\n")}
      esac
      ;;
${groupCases.join("\n")}
  esac
  if [[ $COMP_CWORD -gt 1 && -z $words ]]; then
    case "$cmd $prev" in
${valueCases.join("\n")}
    *)
      case "$cmd" in
${optionCases.join("\n")}
      esac
      ;;
    esac
  fi
  if [[ -n $sessions ]]; then words=$(loom completion ${SESSION_IDS} 2>/dev/null | cut -f 1 | tr '\\n' ' '); fi
  local IFS=$'\\n'
  if [[ -n $words ]]; then COMPREPLY=($(IFS=' '; compgen -W "$words" -- "$cur")); fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$cur"))
  fi
}
complete -F _loom loom loom-agent
`;
}

function bashWords({ words, hasFiles, hasSessions }: CompletedValues): string {
  if (words !== undefined) return `words="${words.join(" ")}"`;
  return [...(hasSessions ? ["sessions=1"] : []), ...(hasFiles ? ["files=1"] : []), ":"].join("; ");
}

function createZshScript(commands: readonly CliCommand[]): string {
  const describe = (listed: readonly CliCommand[], indent: string): string =>
    `${indent}choices=(\n${listed.map((one) => `${indent}  ${quote(`${lastWord(one)}:${one.summary.replaceAll(":", "\\:")}`)}`).join("\n")}\n${indent})\n${indent}_describe command choices`;
  const groupCases = listGroups(commands).map(
    ({ name, subcommands }) =>
      `    ${name})\n      if (( CURRENT == 3 )); then\n${describe(subcommands, "        ")}\n        return\n      fi\n      cmd="$cmd $words[3]"\n      shift words\n      (( CURRENT-- ))\n      ;;`,
  );
  const cases = listLeaves(commands).map((command) => {
    const specs = optionsOf(command).flatMap(([name, option]) => {
      const about = option.about.replaceAll(/[[\]\\]/g, "\\$&");
      const values = valuesOf(name, option);
      // With `=`, zsh completes `--option VALUE` and `--option=VALUE`.
      if (values === undefined) return [quote(`--${name}[${about}]`)];
      const rest = `[${about}]:${option.value ?? ""}:${zshWords(values, " ")}`;
      return [`--${name}=`, ...(option.short === undefined ? [] : [`-${option.short}+`])].map((form) =>
        quote(form + rest),
      );
    });
    const { argument } = command;
    if (argument !== undefined) specs.push(quote(`*:${argument}:${zshWords(argumentValuesOf(command), "()")}`));
    return `    ${quote(command.name)})\n      _arguments \\\n        ${specs.join(" \\\n        ")}\n      ;;`;
  });
  return `#compdef loom loom-agent
# Completion of loom for zsh. Save it as _loom in a folder of $fpath.
_loom_sessions() {
  local -a listed
  listed=(\${(f)"$(loom completion ${SESSION_IDS} 2>/dev/null)"})
  listed=(\${(@)listed//:/\\\\:})
  listed=(\${(@)listed/$'\\t'/:})
  _describe session listed
}
_loom() {
  local cmd=$words[2] help=""
  local -a choices
  if [[ $cmd == help ]] && (( CURRENT > 2 )); then
    help=1
    shift words
    (( CURRENT-- ))
    cmd=$words[2]
  fi
  if (( CURRENT == 2 )); then
${describe(commands, "    ")}
    return
  fi
  case $cmd in
${groupCases.join("\n")}
  esac
  [[ -n $help ]] && return
  shift words
  (( CURRENT-- ))
  case $cmd in
${cases.join("\n")}
  esac
}
if [[ $funcstack[1] == _loom ]]; then _loom "$@"; else compdef _loom loom loom-agent; fi
`;
}

/** As `none` for an argument, one space would keep zsh from inserting options where the argument can also be. */
function zshWords({ words, hasFiles, hasSessions }: CompletedValues, none: string): string {
  if (words !== undefined) return `(${words.join(" ")})`;
  const actions = [...(hasSessions ? ["_loom_sessions"] : []), ...(hasFiles ? ["_files"] : [])];
  return actions.length < 2 ? (actions[0] ?? none) : `{${actions.join("; ")}}`;
}

function createFishScript(commands: readonly CliCommand[]): string {
  const lines = [
    "# Completion of loom for fish.",
    "function __loom_at",
    String.raw`  string match -qr "^\S+ $argv( |\$)" -- (string join -- " " (commandline -opc))`,
    "end",
    "complete -c loom -f",
  ];
  const isFirst = `__fish_use_subcommand; or string match -qr '^\\S+ help$' -- (string join -- " " (commandline -opc))`;
  for (const { name, summary } of commands)
    lines.push(`complete -c loom -n ${quoteFish(isFirst)} -a ${name} -d ${quoteFish(summary)}`);
  for (const { name, subcommands } of listGroups(commands)) {
    const words = subcommands.map(lastWord).join(" ");
    const isOpen = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words}`;
    for (const one of subcommands)
      lines.push(`complete -c loom -n ${quoteFish(isOpen)} -a ${lastWord(one)} -d ${quoteFish(one.summary)}`);
  }
  for (const command of listLeaves(commands)) {
    const start = `complete -c loom -n ${quoteFish(`__loom_at ${command.name}`)}`;
    for (const [name, option] of optionsOf(command)) {
      const letter = option.short === undefined ? "" : ` -s ${option.short}`;
      const values = valuesOf(name, option);
      const rest = values === undefined ? "" : ` ${values.hasFiles ? "-r" : "-x"}${fishWords(values)}`;
      lines.push(`${start} -l ${name}${letter} -d ${quoteFish(option.about)}${rest}`);
    }
    const words = fishWords(argumentValuesOf(command));
    if (words !== "") lines.push(`${start}${words}`);
  }
  lines.push("complete -c loom-agent -w loom");
  return `${lines.join("\n")}\n`;
}

function fishWords({ words, hasFiles, hasSessions }: CompletedValues): string {
  const listed = words?.join(" ") ?? (hasSessions ? `(loom completion ${SESSION_IDS} 2>/dev/null)` : "");
  return `${hasFiles ? " -F" : ""}${listed === "" ? "" : ` -a ${quoteFish(listed)}`}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
