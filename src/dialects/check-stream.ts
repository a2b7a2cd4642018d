/** Checks a stream of one dialect: reports broken rules of the dialect first, then those of the life cycle. */
import { type EventOf, type EventRecord, type Issue, Verifier } from "../protocol/index.ts";
import type { VerifierTotals } from "../protocol/verify/verifier.ts";
import { mayHaveUnpairedSurrogate, parseObject } from "../protocol/json.ts";
import { createIssueFactory, FRAME_RULES } from "../protocol/rules.ts";
import { createClientFrameCheck } from "./check-client-frames.ts";
import type { Dialect } from "./dialect.ts";
import { LOOM_RULES } from "./loom/rules.ts";

const createIssue = createIssueFactory(FRAME_RULES);
const createLoomIssue = createIssueFactory(LOOM_RULES);

/** Options of `createStreamCheck`. */
export interface CheckOptions {
  /** Check each frame on its own, without the life cycle. Default: false. */
  readonly frames?: boolean;
}

/** The result of checking one frame. */
export interface CheckedFrame {
  /** The records of the frame, as far as it could be read. */
  readonly records: readonly EventRecord[];
  readonly issues: readonly Issue[];
  readonly eventId: number | undefined;
}

/** A check in progress. */
export interface StreamCheck {
  check(text: string): CheckedFrame;
  /** Returns the issues found at the end of the stream: runs that did not end. */
  end(): readonly Issue[];
  readonly totals: VerifierTotals;
}

/**
 * Creates a check for a stream of one dialect.
 *
 * ```ts
 * const check = createStreamCheck(DIALECTS.loom);
 * for (const frame of frames) report(check.check(frame).issues);
 * report(check.end());
 * ```
 */
export function createStreamCheck(dialect: Dialect, { frames = false }: CheckOptions = {}): StreamCheck {
  const verifier = new Verifier({ expectsToolStart: dialect.ledger.tool_start.support !== "omitted" });
  const checkClientFrame = createClientFrameCheck(dialect.rules);
  let decoder = dialect.createDecoder();
  return {
    totals: verifier.totals,
    check(text) {
      if (frames) decoder = dialect.createDecoder();
      const { records, issues: faults } = decoder.decode(text);
      const issues = [...faults, ...findUnpairedSurrogate(text)];
      if (dialect.rules === LOOM_RULES) issues.push(...findMissingFields(text, records));
      const eventId = records[0]?.envelope.event_id;
      if (frames) return { issues: issues.filter((issue) => issue.perFrame), eventId, records };
      const found = [...issues];
      for (const record of records) for (const issue of verifier.check(record)) found.push(issue);
      // A frame without records that is not faulty, such as the start of a refused call, counts too.
      if (checkClientFrame !== undefined && (records.length > 0 || faults.length === 0)) {
        const isUncalled = found.some(({ rule }) => rule === "tool-end-uncalled" || rule === "tool-end-unstarted");
        const more: Issue[] = [];
        checkClientFrame(parseObject(text) ?? {}, more);
        found.push(...more.filter(({ rule }) => !isUncalled || !rule.endsWith("-unstarted")));
      }
      return { issues: found.filter((issue) => !dialect.ignoredRules.includes(issue.rule)), eventId, records };
    },
    end() {
      if (frames || decoder.isWaiting === true) return [];
      const { name, rule } = dialect.unendedRule;
      return [...verifier.liveRuns()].map(({ sessionId, runId }) => ({
        rule: name,
        level: rule.level,
        section: rule.section,
        perFrame: false,
        message: `${runId === undefined ? "the run" : `run ${runId}`}${sessionId === undefined ? "" : ` of session ${sessionId}`} did not end`,
      }));
    },
  };
}

/** Reports the first text or name of a frame with an unpaired surrogate. */
function findUnpairedSurrogate(text: string): readonly Issue[] {
  if (!mayHaveUnpairedSurrogate(text)) return [];
  let found: string | undefined;
  try {
    JSON.parse(text, (name, value: unknown) => {
      if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) found ??= name;
      return value;
    });
  } catch {
    // The decoder reports it.
  }
  if (found === undefined) return [];
  return [createIssue("frame-surrogate", `\`${found.toWellFormed()}\` has an unpaired surrogate`)];
}

/**
 * Reports fields of a checkpoint that 001 does not mark as optional, but decoders do not require, because earlier logs
 * lack them. 001 does not define their type, so null is accepted.
 */
function findMissingFields(text: string, [record]: readonly EventRecord[]): readonly Issue[] {
  if (record?.event.type !== "checkpoint") return [];
  const { thread_id, checkpoint_ns } = record.event as EventOf<"checkpoint">;
  if (thread_id !== undefined && checkpoint_ns !== undefined) return [];
  const frame = parseObject(text);
  return (["thread_id", "checkpoint_ns"] as const)
    .filter((name) => frame?.[name] === undefined)
    .map((name) => createLoomIssue("checkpoint-fields", `\`${name}\` is missing`));
}

/** Converts a framing fault to an issue. */
export function framingIssue(reason: "line_too_long" | "invalid_utf8" | "unfinished_event", detail: string): Issue {
  if (reason === "line_too_long") return createIssue("frame-too-long", detail);
  return createIssue(reason === "invalid_utf8" ? "frame-utf8" : "frame-unfinished", detail);
}
