/** `loom convert`: any dialect to any, streaming, in constant memory. */
import { createStreamConverter, issueOfFraming, type StreamConverter } from "../dialects/index.ts";
import { encodeSse } from "../framing/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { dialectOption, readDialect, readInput } from "./input.ts";
import type { Terminal } from "./terminal.ts";

/** More refused frames than this are only counted. */
const MAX_NAMED = 50;

export async function runConvert(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const from = dialectOption(parsed, "from");
  const to = dialectOption(parsed, "to");
  if (to === undefined || to === "auto")
    throw new CliError("say which dialect to write: `--to D`", "`loom convert --help` lists them");
  const { options } = parsed;
  const session = textOption(parsed, "session");
  const loomOnly = ["strict", "no-envelope"].find((name) => options[name] === true);
  if (loomOnly !== undefined && to.name !== "loom") throw new CliError(`\`--${loomOnly}\` is for \`--to loom\` only`);
  const settings = {
    strict: options["strict"] === true,
    envelope: options["no-envelope"] !== true,
    debug: true,
    ...(session === undefined ? {} : { session }),
  };
  const frameText =
    options["sse"] === true ? (frame: string) => encodeSse({ data: frame }) : (frame: string) => `${frame}\n`;
  let converter: StreamConverter | undefined;
  let refused = 0;
  const refuse = (line: number, rule: string, message: string) => {
    refused++;
    if (refused <= MAX_NAMED) terminal.warn(`line ${line}: ${message} (${rule})`);
  };
  for await (const { dialect, outcomes } of readDialect(
    readInput(parsed, terminal),
    from === "auto" ? undefined : from,
  )) {
    converter ??= createStreamConverter(dialect, to, settings);
    let text = "";
    for (const outcome of outcomes) {
      if (!outcome.ok) {
        refuse(outcome.line, issueOfFraming(outcome.reason, outcome.detail).rule, outcome.detail);
        continue;
      }
      const { frames, issues } = converter.convert(outcome.text);
      for (const frame of frames) text += frameText(frame);
      for (const issue of issues)
        if (issue.perFrame && issue.level === "error") refuse(outcome.line, issue.rule, issue.message);
    }
    await terminal.write(text);
  }
  if (converter === undefined) throw new CliError("the input is empty");
  if (refused > MAX_NAMED) terminal.warn(`… and ${refused - MAX_NAMED} more`);
  for (const [type, count] of [...converter.lost].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const row = Object.hasOwn(to.ledger, type) ? to.ledger[type as keyof typeof to.ledger] : undefined;
    const reason =
      row === undefined ? "an unknown type" : row.fate === "omitted" ? row.reason : (row.note ?? "not all of them fit");
    terminal.warn(`${terminal.styleError("dim", "left out:")} ${count} × ${type} (${reason})`);
  }
  if (converter.held > 0)
    terminal.warn(
      `${terminal.styleError("dim", "held back:")} ${converter.held} that must wait for the next request (004 §3)`,
    );
  return refused > 0 ? 1 : 0;
}
