/**
 * The stream doctor: reads a stream of one dialect and names every rule that is broken, first those of the wire, then
 * those of the life cycle.
 */
import {
  createRaise,
  type EventRecord,
  FRAME_RULES,
  type Issue,
  Verifier,
  type VerifierTotals,
} from "../protocol/index.ts";
import type { Dialect } from "./dialect.ts";

const raise = createRaise(FRAME_RULES);

export interface CheckOptions {
  /** Check each frame by itself, without a life cycle. */
  readonly frames?: boolean;
}

export interface CheckedFrame {
  /** What the frame says, as far as it could be read. */
  readonly records: readonly EventRecord[];
  readonly issues: readonly Issue[];
  readonly eventId: number | undefined;
}

export interface StreamCheck {
  check(text: string): CheckedFrame;
  /** What the end of the stream shows: runs that were cut. */
  end(): readonly Issue[];
  readonly totals: VerifierTotals;
}

export function createStreamCheck(dialect: Dialect, { frames = false }: CheckOptions = {}): StreamCheck {
  const verifier = new Verifier({ expectsToolStart: dialect.ledger.tool_start.fate !== "omitted" });
  let decoder = dialect.createDecoder();
  return {
    totals: verifier.totals,
    check(text) {
      if (frames) decoder = dialect.createDecoder();
      const { records, issues } = decoder.decode(text);
      const eventId = records[0]?.envelope.event_id;
      if (frames) return { issues: issues.filter((issue) => issue.perFrame), eventId, records };
      const found = [...issues];
      for (const record of records) for (const issue of verifier.check(record)) found.push(issue);
      return { issues: found.filter((issue) => !dialect.unsaid.includes(issue.rule)), eventId, records };
    },
    end() {
      if (frames) return [];
      const { name, rule } = dialect.unended;
      return [...verifier.liveRuns()].map(({ sessionId, runId }) => ({
        rule: name,
        level: rule.level,
        section: rule.section,
        perFrame: false,
        message: `${runId === undefined ? "the run" : `run ${runId}`}${sessionId === undefined ? "" : ` of session ${sessionId}`} was still going: ${rule.about.en.toLowerCase()}`,
      }));
    },
  };
}

/** The rule a framing fault breaks. */
export function issueOfFraming(reason: "line_too_long" | "invalid_utf8" | "unfinished_event", detail: string): Issue {
  if (reason === "line_too_long") return raise("frame-too-long", detail);
  return raise(reason === "invalid_utf8" ? "frame-utf8" : "frame-unfinished", detail);
}
