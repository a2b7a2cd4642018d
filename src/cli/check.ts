/** `loom check`: reports the rule violations of a stream, as text or as JSON, or prints its JSON Schema. */
import { createStreamCheck, type Dialect, DIALECTS, type StreamCheck } from "../dialects/index.ts";
import { dialectSchemas } from "../dialects/schemas.ts";
import { framingIssue } from "../dialects/check-stream.ts";
import type { Issue } from "../protocol/index.ts";
import { CliError, type ParsedCommand } from "./command.ts";
import { cutColumns, formatJson, plural, wrapText } from "./fit-text.ts";
import { dialectOption, explainFault, type InputFrame, readInput } from "./input.ts";
import type { Terminal } from "./terminal.ts";

interface Finding {
  readonly line: number;
  readonly eventId: number | undefined;
  readonly issue: Issue;
  /** Absent if there is no frame, or if the previous finding already showed it. */
  readonly frame: string | undefined;
}

interface Counts {
  frames: number;
  error: number;
  warning: number;
}

/** Columns of a frame and characters of a message shown when the output is not a terminal. */
const SHOWN_COLUMNS = 200;
const LONGEST_MESSAGE = 1000;

export async function runCheck(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  if (parsed.options["schema"] === true) return printSchema(parsed, terminal);
  const asJson = parsed.options["json"] === true;
  const show = asJson ? describeAsJson : (finding: Finding) => describe(finding, terminal);
  const counts: Counts = { frames: 0, error: 0, warning: 0 };
  let checker: StreamCheck | undefined;
  let dialect: Dialect | undefined;
  let lastLine = 0;
  const report = (findings: readonly Finding[]): string => {
    for (const { issue } of findings) counts[issue.level]++;
    return findings.map(show).join("");
  };
  for await (const batch of readInput(parsed, "dialect", terminal)) {
    ({ dialect } = batch);
    checker ??= createStreamCheck(dialect, { frames: parsed.options["frames"] === true });
    let text = "";
    for (const frame of batch.frames) {
      counts.frames++;
      lastLine = frame.line;
      text += report(checkFrame(frame, checker));
    }
    await terminal.write(text);
  }
  // `readInput` rejects an input without a frame.
  if (checker === undefined || dialect === undefined) return 2;
  await terminal.write(
    report(checker.end().map((issue) => ({ line: lastLine, eventId: undefined, issue, frame: undefined }))),
  );
  const summary = summarise(checker, dialect, counts, asJson ? terminal.styleError : terminal.style);
  const columns = (asJson ? terminal.errorColumns : terminal.columns) ?? Number.POSITIVE_INFINITY;
  if (asJson) terminal.warn(wrapText(summary, columns, ""));
  else await terminal.write(`${wrapText(summary, columns, "")}\n`);
  return counts.error > 0 ? 1 : 0;
}

function checkFrame(frame: InputFrame, checker: StreamCheck): readonly Finding[] {
  const { issues, eventId } = frame.ok
    ? checker.check(frame.text)
    : { issues: [framingIssue(frame.reason, frame.detail)], eventId: undefined };
  return issues.map((issue, index) => ({
    line: frame.line,
    eventId,
    issue: explainFault(frame, issue),
    frame: frame.ok && index === 0 ? frame.text : undefined,
  }));
}

function describeAsJson({ line, eventId, issue: { rule, level, message, section } }: Finding): string {
  return formatJson({ line, event_id: eventId ?? null, rule, level, message, section });
}

function describe({ line, eventId, issue, frame }: Finding, { style, columns }: Terminal): string {
  const where = style("bold", `line ${line}${eventId === undefined ? "" : `, event ${eventId}`}`);
  const level = style(issue.level === "error" ? ["red", "bold"] : ["yellow", "bold"], issue.level);
  const head = `${where}: ${level} ${issue.rule} ${style("dim", `(${issue.section})`)}`;
  const width = Math.max(20, (columns ?? SHOWN_COLUMNS) - 2);
  const fit = (text: string) => (columns === undefined ? text : wrapText(text, width, "  "));
  const shown = frame === undefined ? "" : `  ${style("dim", cutFrame(frame, issue, width))}\n`;
  return `${fit(head)}\n${shown}  ${fit(cutColumns(issue.message, LONGEST_MESSAGE))}\n`;
}

/** Shortens a frame: it starts at its type, or at the field the message names if that comes first. */
function cutFrame(frame: string, { message }: Issue, width: number): string {
  const whole = cutColumns(frame, width);
  if (!whole.endsWith("…")) return whole;
  const named = /`(?<field>\w+)/.exec(message)?.groups?.["field"];
  const head = frame.slice(0, 2 * SHOWN_COLUMNS);
  const places = [`"type":`, `"${named}":`].map((key) => head.indexOf(key)).filter((place) => place > 1);
  return places.length === 0 ? whole : cutColumns(`{…${frame.slice(Math.min(...places))}`, width);
}

/** Builds the summary line: the result, then the counts. Counts that the dialect does not carry are left out. */
function summarise(
  { totals }: StreamCheck,
  { name, ledger }: Dialect,
  counts: Counts,
  style: Terminal["style"],
): string {
  const seen = [plural(counts.frames, `${name} frame`)];
  if (totals.runs > 0) {
    seen.push(plural(totals.sessions, "session"), plural(totals.runs, "run"));
    if (ledger.node_enter.support !== "omitted") seen.push(plural(totals.spans, "span"));
    seen.push(plural(totals.toolCalls, "tool call"));
    if (ledger.usage.support !== "omitted" || totals.tokens > 0) seen.push(plural(totals.tokens, "token"));
  }
  if (counts.error + counts.warning === 0) return `${style(["green", "bold"], "clean")}: ${seen.join(", ")}`;
  const verdict = [
    ...(counts.error > 0 ? [style(["red", "bold"], plural(counts.error, "error"))] : []),
    ...(counts.warning > 0 ? [style(["yellow", "bold"], plural(counts.warning, "warning"))] : []),
  ];
  return `${verdict.join(", ")}: ${seen.join(", ")}`;
}

async function printSchema(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  for (const name of ["frames", "json", "framing", "max-line"])
    if (parsed.options[name] !== undefined) throw new CliError(`\`--${name}\` does not apply to \`--schema\``);
  const { dialectSchema } = await import("../dialects/schemas.ts");
  const dialect = dialectOption(parsed, "dialect") ?? DIALECTS.loom;
  if (dialect === "auto")
    throw new CliError("`--dialect auto` is not supported here: there is no stream to detect it from");
  const type = parsed.argument;
  if (type === undefined) {
    await terminal.write(`${JSON.stringify(dialectSchema(dialect), null, 2)}\n`);
    return 0;
  }
  const schemas = dialectSchemas(dialect);
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined)
    throw new CliError(
      `the ${dialect.name} dialect has no type \`${type}\``,
      `available types: ${Object.keys(schemas).join(", ")}`,
    );
  await terminal.write(
    `${JSON.stringify({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }, null, 2)}\n`,
  );
  return 0;
}
