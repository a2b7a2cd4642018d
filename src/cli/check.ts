/** `loom check`: the stream doctor, for people and for programs. */
import { createStreamCheck, type Dialect, issueOfFraming, type StreamCheck } from "../dialects/index.ts";
import type { Issue } from "../protocol/index.ts";
import { CliError, type ParsedCommand } from "./command.ts";
import { dialectOption, readDialect, readInput } from "./input.ts";
import type { Terminal } from "./terminal.ts";

interface Finding {
  readonly line: number;
  readonly eventId: number | undefined;
  readonly issue: Issue;
  readonly frame: string | undefined;
}

export async function runCheck(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const given = dialectOption(parsed, "dialect");
  const asJson = parsed.options["json"] === true;
  const show = asJson ? describeAsJson : (finding: Finding) => describe(finding, terminal);
  let doctor: StreamCheck | undefined;
  let spoken: Dialect | undefined;
  const counts = { frames: 0, error: 0, warning: 0 };
  let lastLine = 0;
  let report = "";
  const found = (finding: Finding) => {
    counts[finding.issue.level]++;
    report += show(finding);
  };
  for await (const { dialect, outcomes } of readDialect(
    readInput(parsed, terminal),
    given === "auto" ? undefined : given,
  )) {
    spoken = dialect;
    doctor ??= createStreamCheck(dialect, { frames: parsed.options["frames"] === true });
    for (const outcome of outcomes) {
      counts.frames++;
      lastLine = outcome.line;
      if (!outcome.ok) {
        found({
          line: outcome.line,
          eventId: undefined,
          issue: issueOfFraming(outcome.reason, outcome.detail),
          frame: undefined,
        });
        continue;
      }
      const { issues, eventId } = doctor.check(outcome.text);
      for (const issue of issues) found({ line: outcome.line, eventId, issue, frame: outcome.text });
    }
    await terminal.write(report);
    report = "";
  }
  if (doctor === undefined || spoken === undefined) throw new CliError("the input is empty: there is no frame in it");
  for (const issue of doctor.end()) found({ line: lastLine, eventId: undefined, issue, frame: undefined });
  await terminal.write(report);
  const summary = summarise(doctor, spoken, counts, asJson ? terminal.styleError : terminal.style);
  if (asJson) terminal.warn(summary);
  else await terminal.write(`${summary}\n`);
  return counts.error > 0 ? 1 : 0;
}

function describeAsJson({ line, eventId, issue: { rule, level, message, section } }: Finding): string {
  return `${JSON.stringify({ line, event_id: eventId ?? null, rule, level, message, section })}\n`;
}

function describe({ line, eventId, issue, frame }: Finding, terminal: Terminal): string {
  const level =
    issue.level === "error" ? terminal.style(["red", "bold"], "error") : terminal.style(["yellow", "bold"], "warning");
  const where = `line ${line}${eventId === undefined ? "" : `, event ${eventId}`}`;
  const head = `${terminal.style("bold", where)}: ${level} ${issue.rule} ${terminal.style("dim", `(${issue.section})`)}`;
  const shown =
    frame === undefined ? "" : `  ${terminal.style("dim", cut(frame, Math.max(40, terminal.columns - 4)))}\n`;
  return `${head}\n${shown}  ${issue.message}\n`;
}

/** One line of at most `width` characters; control characters would let a stream repaint the terminal. */
function cut(text: string, width: number): string {
  const clean = text.slice(0, width + 1).replaceAll(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, "�");
  return clean.length > width ? `${clean.slice(0, width - 1)}…` : clean;
}

function summarise(
  doctor: StreamCheck,
  dialect: Dialect,
  counts: { frames: number; error: number; warning: number },
  style: Terminal["style"],
): string {
  const { sessions, runs, spans, toolCalls, tokens } = doctor.totals;
  const parts = [
    plural(counts.frames, "frame"),
    ...(runs === 0
      ? []
      : [
          plural(sessions, "session"),
          plural(runs, "run"),
          plural(spans, "span"),
          plural(toolCalls, "tool call"),
          plural(tokens, "token"),
        ]),
  ];
  const errors = plural(counts.error, "error");
  const warnings = plural(counts.warning, "warning");
  const verdict = `${counts.error > 0 ? style("red", errors) : errors}, ${counts.warning > 0 ? style("yellow", warnings) : warnings}`;
  const clean = counts.error + counts.warning === 0 ? style("green", "clean") : verdict;
  return `${dialect.name}: ${parts.join(", ")}: ${clean}`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
