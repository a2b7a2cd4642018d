/** `loom convert`: any dialect to any, streaming, in constant memory. */
import { createStreamConverter, type Dialect, issueOfFraming, type StreamConverter } from "../dialects/index.ts";
import { encodeNdjson, encodeSse } from "../framing/index.ts";
import { FRAME_RULES, type Issue } from "../protocol/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { dialectOption } from "./dialect-option.ts";
import { cutText, plural, wrapText } from "./fit-text.ts";
import { explainFault, type InputFrame, readInput } from "./input.ts";
import type { Terminal } from "./terminal.ts";

/** More refused frames than this are only counted. */
const MAX_NAMED = 50;
const LONGEST_MESSAGE = 1000;

export async function runConvert(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const to = targetOption(parsed);
  const settings = readSettings(parsed, to);
  const encodeFrame = parsed.options["sse"] === true ? (data: string) => encodeSse({ data }) : encodeNdjson;
  const tell = createTeller(terminal);
  let converter: StreamConverter | undefined;
  let refused = 0;
  let faulty = 0;
  const refuse = (line: number, { rule, section, message }: Issue) => {
    refused++;
    if (refused > MAX_NAMED) return;
    const refusal = `${terminal.styleError(["red", "bold"], "refused")} ${rule}`;
    tell(
      terminal.styleError("bold", `line ${line}`),
      `${refusal} ${terminal.styleError("dim", `(${section})`)}: ${cutText(message, LONGEST_MESSAGE)}`,
    );
  };
  for await (const { dialect, frames } of readInput(parsed, "from", terminal)) {
    converter ??= createStreamConverter(dialect, to, settings);
    let text = "";
    for (const frame of frames) {
      const { frames: converted, issues } = convertFrame(frame, converter);
      for (const out of converted) text += encodeFrame(out);
      const refusal = issues.find(isRefusal);
      if (refusal !== undefined) refuse(frame.line, explainFault(frame, refusal));
      else if (issues.some(({ level }) => level === "error")) faulty++;
    }
    await terminal.write(text);
  }
  if (refused > MAX_NAMED) tell("and so on", `${plural(refused - MAX_NAMED, "more frame")} refused`);
  if (faulty > 0) tell("faulty", `${plural(faulty, "frame")} converted all the same; \`loom check\` tells why`);
  // An input without a frame is refused by the reader.
  if (converter !== undefined) reportLosses(converter, to, tell);
  return refused > 0 ? 1 : 0;
}

function targetOption(parsed: ParsedCommand): Dialect {
  const to = dialectOption(parsed, "to");
  if (to !== undefined && to !== "auto") return to;
  throw new CliError("say which dialect to write: `--to D`", "`loom convert --help` lists them");
}

function readSettings(parsed: ParsedCommand, to: Dialect) {
  const { options } = parsed;
  const loomOnly = ["strict", "no-envelope"].find((name) => options[name] === true);
  if (loomOnly !== undefined && to.name !== "loom") throw new CliError(`\`--${loomOnly}\` is for \`--to loom\` only`);
  const session = textOption(parsed, "session");
  return {
    strict: options["strict"] === true,
    envelope: options["no-envelope"] !== true,
    debug: true,
    ...(session === undefined ? {} : { session }),
  };
}

function convertFrame(frame: InputFrame, converter: StreamConverter): ReturnType<StreamConverter["convert"]> {
  return frame.ok
    ? converter.convert(frame.text)
    : { frames: [], issues: [issueOfFraming(frame.reason, frame.detail)] };
}

/** A frame that breaks another rule than these is read all the same. */
function isRefusal({ rule, level }: Issue): boolean {
  return level === "error" && Object.hasOwn(FRAME_RULES, rule);
}

type Tell = (label: string, text: string) => void;

function createTeller(terminal: Terminal): Tell {
  const width = (terminal.errorColumns ?? Number.POSITIVE_INFINITY) - 2;
  return (label, text) => terminal.warn(wrapText(`${label}: ${text}`, width, "  "));
}

function reportLosses({ lost, held, dropped }: StreamConverter, to: Dialect, tell: Tell): void {
  for (const [type, count] of [...lost].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const row = Object.hasOwn(to.ledger, type) ? to.ledger[type as keyof typeof to.ledger] : undefined;
    const reason =
      row === undefined ? "an unknown type" : row.fate === "omitted" ? row.reason : (row.note ?? "not all of them fit");
    tell("left out", `${count} × ${cutText(type, 80)} (${reason})`);
  }
  if (dropped > 0) tell("left out", `${plural(dropped, "event")} outside any run (${to.name} has no place for such)`);
  if (held > 0) tell("held back", `${plural(held, "event")} that must wait for the next request (004 §3)`);
}
