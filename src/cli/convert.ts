/** `loom convert`: converts a stream from one dialect to another, in constant memory. */
import { createStreamConverter, type Dialect, DIALECTS, type StreamConverter } from "../dialects/index.ts";
import { framingIssue } from "../dialects/check-stream.ts";
import { encodeNdjson, encodeSse } from "../framing/index.ts";
import type { Issue } from "../protocol/index.ts";
import { FRAME_RULES } from "../protocol/rules.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { cutColumns, escapeJson, plural, wrapText } from "./fit-text.ts";
import { dialectOption, explainFault, type InputFrame, readInput } from "./input.ts";
import type { Terminal } from "./terminal.ts";

/** Rejected frames reported one by one; further ones are only counted. */
const MAX_REPORTED = 50;
const LONGEST_MESSAGE = 1000;

/** Flags of the command with the encoder option that each sets. */
const ENCODER_FLAGS = [
  ["strict", "strict"],
  ["no-envelope", "envelope"],
] as const;

export async function runConvert(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const to = targetOption(parsed);
  const settings = readSettings(parsed, to);
  const encodeFrame = (text: string): string => {
    const data = terminal.columns === undefined ? text : escapeJson(text);
    return parsed.options["sse"] === true ? encodeSse({ data }) : encodeNdjson(data);
  };
  const warn = createWarningWriter(terminal);
  let converter: StreamConverter | undefined;
  let rejected = 0;
  let invalid = 0;
  const reject = (line: number, { rule, section, message }: Issue) => {
    rejected++;
    if (rejected > MAX_REPORTED) return;
    const rejection = `${terminal.styleError(["red", "bold"], "rejected")} ${rule}`;
    warn(
      terminal.styleError("bold", `line ${line}`),
      `${rejection} ${terminal.styleError("dim", `(${section})`)}: ${cutColumns(message, LONGEST_MESSAGE)}`,
    );
  };
  for await (const { dialect, frames } of readInput(parsed, "from", terminal)) {
    converter ??= createStreamConverter(dialect, to, settings);
    let text = "";
    for (const frame of frames) {
      const { frames: converted, issues } = convertFrame(frame, converter);
      for (const out of converted) text += encodeFrame(out);
      const rejection = issues.find(isRejection);
      if (rejection !== undefined) reject(frame.line, explainFault(frame, rejection));
      else if (issues.some(({ level }) => level === "error")) invalid++;
    }
    await terminal.write(text);
  }
  if (rejected > MAX_REPORTED) warn("rejected", plural(rejected - MAX_REPORTED, "more frame"));
  if (invalid > 0) warn("invalid", `${plural(invalid, "frame")}, converted anyway; run \`loom check\` for details`);
  // `readInput` rejects an input without a frame.
  if (converter !== undefined) reportLosses(converter, to, warn);
  return rejected > 0 ? 1 : 0;
}

function targetOption(parsed: ParsedCommand): Dialect {
  const to = dialectOption(parsed, "to");
  if (to !== undefined && to !== "auto") return to;
  throw new CliError("`--to D` is required: the dialect to write", "run `loom convert --help` for a list");
}

function readSettings(parsed: ParsedCommand, to: Dialect) {
  const { options } = parsed;
  for (const [flag, option] of ENCODER_FLAGS) {
    if (options[flag] !== true || to.options.includes(option)) continue;
    const able = Object.values(DIALECTS).filter((dialect) => dialect.options.includes(option));
    throw new CliError(`\`--${flag}\` requires \`--to ${able.map(({ name }) => name).join("` or `--to ")}\``);
  }
  const session = textOption(parsed, "session");
  return {
    strict: options["strict"] === true,
    envelope: options["no-envelope"] !== true,
    debug: true,
    ...(session === undefined ? {} : { session }),
  };
}

function convertFrame(frame: InputFrame, converter: StreamConverter): ReturnType<StreamConverter["convert"]> {
  return frame.ok ? converter.convert(frame.text) : { frames: [], issues: [framingIssue(frame.reason, frame.detail)] };
}

/** Only a frame that breaks one of these rules is rejected; other violations are converted. */
function isRejection({ rule, level }: Issue): boolean {
  return level === "error" && Object.hasOwn(FRAME_RULES, rule);
}

type WriteWarning = (label: string, text: string) => void;

function createWarningWriter(terminal: Terminal): WriteWarning {
  const width = (terminal.errorColumns ?? Number.POSITIVE_INFINITY) - 2;
  return (label, text) => terminal.warn(wrapText(`${label}: ${text}`, width, "  "));
}

function reportLosses({ lost, held, dropped }: StreamConverter, to: Dialect, warn: WriteWarning): void {
  for (const [type, count] of [...lost].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const row = Object.hasOwn(to.ledger, type) ? to.ledger[type as keyof typeof to.ledger] : undefined;
    const reason =
      row === undefined
        ? "unknown type"
        : row.support === "omitted"
          ? row.reason
          : (row.note ?? "some events cannot be represented");
    warn("omitted", `${count} × ${cutColumns(type, 80)} (${reason})`);
  }
  if (dropped > 0) warn("omitted", `${plural(dropped, "event")} outside a run (not supported by ${to.name})`);
  if (held > 0) warn("pending", `${plural(held, "event")} waiting for the next request (004 §3)`);
}
