/**
 * Drops, duplicates and swaps single frames and pairs: the final view must be what was sent, or the status must not be
 * complete. Exhaustive on short golden runs, random on long ones.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DIALECTS } from "../../src/dialects/index.ts";
import { LONG, sampleCases, SAMPLES } from "../sampling.ts";
import { sessionArbitrary } from "../run-arbitrary.ts";
import {
  CONTIGUOUS_RUNS,
  contentOf,
  dialectOf,
  encodeRecords,
  framesOf,
  isComplete,
  isVerified,
  receive,
  type SessionView,
} from "./streams.ts";
import { FORMS } from "../vectors.ts";

/** Its numbers only order frames: they do not promise to be contiguous. */
const STRICT = "loom-strict";
/** Forms in which every loss is detected. */
const NUMBERED = Object.entries(FORMS).flatMap(([form, { dialect, options }]) =>
  DIALECTS[dialect].traits.numbering === undefined || options?.envelope === false || form === STRICT ? [] : [form],
);
const UNNUMBERED = Object.keys(FORMS).filter((form) => !NUMBERED.includes(form) && form !== STRICT);
/** The time for all pairs grows with the cube of the length, so the pairs of runs of over 40 frames are sampled. */
const MAX_PAIRS = LONG ? 780 : 6;
/** Every change takes as long as the run, so of long runs only some positions are tested, and the last ones. */
const MAX_POSITIONS = LONG ? 1_000_000 : 16;

/** `engine` numbers do not order changes that one request makes to another's to-do list. */
const ENGINE_RUNS = CONTIGUOUS_RUNS.filter((run) => run !== "todo-between-turns");

function isStart(text: string): boolean {
  return text.startsWith('{"type":"session_start"');
}

/** Forms that do not name the run of each frame cannot separate parallel runs. */
const INTERLEAVED = ["interleaved-runs", "session-record-mid-run"];

/** Runs of a form. The short run takes those of the numbered forms from a sample. */
function runsOf(form: string): readonly string[] {
  const runs = listRuns(form);
  return NUMBERED.includes(form) ? sampleCases(runs, { perKind: 10 }) : runs;
}

function listRuns(form: string): readonly string[] {
  if (form === "loom") return CONTIGUOUS_RUNS;
  const runs = (form === "engine" ? ENGINE_RUNS : CONTIGUOUS_RUNS).filter((run) => !INTERLEAVED.includes(run));
  if (form !== STRICT) return runs;
  // Runs stored before every run had a reply end with one that has no number.
  const numbered = runs.filter((run) => !framesOf(run, form).some(isClosingReply));
  const isWhole = (run: string): boolean => !framesOf(run, "loom").some((text) => text.includes('"prev_event_id"'));
  // Nothing counts the frames between two runs.
  return numbered.filter((run) => run !== "todo-between-turns" && isWhole(run));
}

function drop(texts: readonly string[], ...at: number[]): string[] {
  return texts.filter((_, index) => !at.includes(index));
}

function double(texts: readonly string[], from: number, to: number): string[] {
  return [...texts.slice(0, to + 1), texts[from] as string, ...texts.slice(to + 1)];
}

function swap(texts: readonly string[], a: number, b: number): string[] {
  const swapped = [...texts];
  [swapped[a], swapped[b]] = [texts[b] as string, texts[a] as string];
  return swapped;
}

/** The reply that ends a failed run in strict form. It is not a record, so nothing is lost without it. */
function isClosingReply(text: string): boolean {
  return text.includes('"reply":') && !/"(event_id|type)":/.test(text);
}

function* pairs(count: number): Generator<[number, number]> {
  const all = (count * (count - 1)) / 2;
  const step = Math.max(1, Math.ceil(all / MAX_PAIRS));
  let n = 0;
  for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) if (n++ % step === 0) yield [a, b];
}

function positions(count: number): number[] {
  const step = Math.ceil(count / MAX_POSITIONS);
  return Array.from({ length: count }, (_, at) => at).filter((at) => at % step === 0 || at >= count - 3);
}

function judge(found: readonly SessionView[], expected: readonly SessionView[], what: string): void {
  if (!isComplete(found)) return;
  expect(contentOf(found), what).toEqual(contentOf(expected));
}

describe.each(NUMBERED)("%s", (form) => {
  const dialect = dialectOf(form);

  it.each(runsOf(form))("%s arrives complete and verified", (run) => {
    const sessions = receive(framesOf(run, form), { dialect });
    expect(sessions.map(({ state }) => state)).toEqual(
      sessions.map(() => ({ status: "complete", verified: true, undetectable: [] })),
    );
  });

  it.each(runsOf(form))("%s is not complete without any one record", (run) => {
    const texts = framesOf(run, form);
    // Events after the last run belong to no run and are not counted.
    for (const index of positions(endOfRuns(texts))) {
      const found = receive(drop(texts, index), { dialect });
      expect(isComplete(found), `without frame ${index}`).toBe(false);
      expect(isVerified(found), `without frame ${index}`).toBe(false);
    }
  });

  it.each(runsOf(form))("%s is not complete without any two records", (run) => {
    const texts = framesOf(run, form);
    for (const [a, b] of pairs(endOfRuns(texts))) {
      // A last run of which nothing arrived leaves no trace.
      if (texts.length - a === 2 && /run_start|session_start/.test(texts[a] ?? "")) continue;
      expect(isComplete(receive(drop(texts, a, b), { dialect })), `without ${a} and ${b}`).toBe(false);
    }
  });

  it.each(runsOf(form))("%s is the same with any frame duplicated later", (run) => {
    const texts = framesOf(run, form);
    const expected = receive(texts, { dialect });
    for (const [a, b] of positions(texts.length)
      .map((at): [number, number] => [at, at])
      .concat([...pairs(texts.length)])) {
      const found = receive(double(texts, a, b), { dialect });
      expect(isComplete(found), `${a} again after ${b}`).toBe(true);
      expect(contentOf(found), `${a} again after ${b}`).toEqual(contentOf(expected));
    }
  });

  it.each(runsOf(form))("%s is the same and verified with any two frames swapped", (run) => {
    const texts = framesOf(run, form);
    const expected = receive(texts, { dialect });
    for (const [a, b] of pairs(texts.length)) {
      const found = receive(swap(texts, a, b), { dialect });
      judge(found, expected, `${a} and ${b} swapped`);
      // Before the run_start, contiguous numbers are not promised, so not everything can be reordered.
      if (a === 0 && b > 60) continue;
      expect(isComplete(found), `${a} and ${b} swapped`).toBe(true);
      expect(isVerified(found), `${a} and ${b} swapped`).toBe(true);
    }
  });

  it.each(runsOf(form))("%s is the same in reverse", (run) => {
    const texts = framesOf(run, form);
    judge(receive(texts.toReversed(), { dialect }), receive(texts, { dialect }), "reversed");
  });
});

/** Returns the index after the last frame of a run. */
function endOfRuns(texts: readonly string[]): number {
  return texts.findLastIndex((text) => /"run_id"|"reply"|"run_end"|session_end/.test(text)) + 1;
}

describe.each(UNNUMBERED)("%s", (form) => {
  // Without IDs a filtered stream cannot be recognized.
  const isWhole = (run: string) => !framesOf(run, "loom").some((text) => text.includes('"prev_event_id"'));
  it.each(runsOf(form).filter(isWhole))("%s is never verified", (run) => {
    const texts = framesOf(run, form);
    const sessions = receive(texts, { dialect: dialectOf(form) });
    for (const { state } of sessions) {
      expect(state.verified).toBe(false);
      expect(state.undetectable).toEqual(["loss", "duplicate", "order"]);
      expect(state.status).toBe("complete");
    }
    // In a run that did not complete, `finish` of the AI SDK follows its end.
    const ends = /"reply"|"run_end"|\[DONE\]|agent_finish|"errorText"|"type":"abort"|"finishReason":"(stop|length)"/;
    const lastEnd = texts.findLastIndex((text) => ends.test(text));
    // In 004 a greeting alone starts nothing.
    if (form === "lumine" && texts[lastEnd - 1]?.includes('"session_id",') === true) return;
    expect(isComplete(receive(texts.slice(0, lastEnd), { dialect: dialectOf(form) }))).toBe(false);
  });
});

describe(STRICT, () => {
  it.each(runsOf(STRICT))("%s arrives complete, and is never verified", (run) => {
    for (const { state } of receive(framesOf(run, STRICT)))
      expect(state).toEqual({ status: "complete", verified: false, undetectable: ["loss"] });
  });

  it.each(runsOf(STRICT))("%s reveals the loss of any frame between the first and the end of the run", (run) => {
    const texts = framesOf(run, STRICT);
    const isCounted = (text: string): boolean => !/"type":"run_start"|"run_end"|"reply":/.test(text);
    const last = texts.findLastIndex((text) => text.includes('"run_end"'));
    for (const index of positions(last).filter((at) => isCounted(texts[at] as string)))
      expect(isComplete(receive(drop(texts, index))), `without frame ${index}`).toBe(false);
  });
});

describe("IDs that may jump", () => {
  const texts = framesOf("react-tools", "loom").map((text) => text.replace('"contiguous":true,', ""));

  it("are complete, with undetectable faults listed", () => {
    expect(receive(texts)[0]?.state).toEqual({ status: "complete", verified: false, undetectable: ["loss"] });
  });

  it("reveal a loss if run_end counts the frames", () => {
    for (let index = 1; index < texts.length - 2; index++)
      expect(receive(drop(texts, index))[0]?.state).toMatchObject({ status: "gap", reason: { code: "proof_failed" } });
  });

  it("are reordered after a swap", () => {
    const expected = receive(texts);
    for (const [a, b] of pairs(texts.length)) {
      const found = receive(swap(texts, a, b));
      if (isComplete(found)) expect(contentOf(found), `${a} and ${b} swapped`).toEqual(contentOf(expected));
      // Every late number causes a reordering, and their number is limited.
      if (b - a < 60) expect(isComplete(found), `${a} and ${b} swapped`).toBe(true);
    }
  });
});

describe("long random sessions", () => {
  const faults = fc.array(fc.record({ kind: fc.constantFrom("drop", "double", "swap"), a: fc.nat(), b: fc.nat() }), {
    minLength: 1,
    maxLength: 6,
  });

  it.each(["loom", "engine"] as const)("%s: the same view, or not complete", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, faults, (records, harm) => {
        const texts = encodeRecords(records, dialect);
        // `engine` numbers order only one request.
        if (texts.length === 0 || (dialect === "engine" && texts.filter(isStart).length !== 1)) return;
        const expected = receive(texts, { dialect });
        let sent = texts;
        for (const { kind, a, b } of harm) {
          if (sent.length === 0) continue;
          const [i, j] = [a % sent.length, b % sent.length];
          // A last run of which nothing arrived leaves no trace, so drop fewer frames than any run has.
          if (kind === "drop" && texts.length - sent.length < 3) sent = drop(sent, i);
          else if (kind === "double") sent = double(sent, Math.min(i, j), Math.max(i, j));
          else if (kind === "swap") sent = swap(sent, i, j);
        }
        const found = receive(sent, { dialect });
        if (!isComplete(found)) return;
        expect(contentOf(found)).toEqual(contentOf(expected));
        if (isComplete(expected)) expect(isVerified(found)).toBe(isVerified(expected));
      }),
      { numRuns: SAMPLES.sessions },
    );
  });
});
