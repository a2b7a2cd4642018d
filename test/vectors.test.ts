/** Every vector gives the records and the bytes that are written in it, and every event type has one. */
import { describe, expect, test } from "vitest";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { EVENT_TYPES } from "../src/protocol/index.ts";
import { computeVector, decodeAll, FORMS, frameText, listVectorFiles, readVector } from "./vectors.ts";

const SAMPLES = listVectorFiles("samples").map(readVector);
const RUNS = listVectorFiles("runs").map(readVector);
const ALL = [...SAMPLES, ...RUNS];

describe("golden vectors", () => {
  test.each(ALL.map((vector) => [vector.name, vector] as const))("%s", (_name, vector) => {
    const computed = computeVector(vector);
    expect(computed.issues).toEqual(vector.issues);
    expect(computed.records).toEqual(vector.records);
    // Compared as text: the order of the fields is part of what is promised.
    for (const form of Object.keys(FORMS)) {
      expect(JSON.stringify(computed.encodings[form]), form).toBe(JSON.stringify(vector.encodings[form]));
    }
  });

  test("no sample of a specification breaks a must-rule", () => {
    for (const { dialect, mode, frames, name } of SAMPLES) {
      const doctor = createStreamCheck(DIALECTS[dialect], { frames: mode === "frame" });
      const issues = [...frames.flatMap((frame) => doctor.check(frameText(frame)).issues), ...doctor.end()];
      expect(
        issues.filter((issue) => issue.level === "error"),
        name,
      ).toEqual([]);
    }
  });

  test("every event type occurs in a vector", () => {
    const seen = new Set(ALL.flatMap((vector) => vector.records.flat().map((record) => record.event.type)));
    expect(EVENT_TYPES.filter((type) => !seen.has(type))).toEqual([]);
  });

  test("every dialect's frames occur among the vectors' inputs", () => {
    for (const dialect of Object.values(DIALECTS)) {
      const tags = Object.keys(dialect.frames ?? {});
      const seen = new Set(
        ALL.filter((v) => v.dialect === dialect.name).flatMap((v) =>
          v.frames.map((f) => (f as { type?: string }).type),
        ),
      );
      expect(
        tags.filter((tag) => !seen.has(tag)),
        dialect.name,
      ).toEqual([]);
    }
  });

  test("names are unique", () => {
    expect(new Set(ALL.map((vector) => vector.name)).size).toBe(ALL.length);
  });
});

/**
 * Forms without run ids cannot tell interleaved runs apart, and count a session's record in the middle of a run as one
 * of the run; forms without an envelope cannot say that frames were left out on purpose; frames kept from elsewhere are
 * passed on as they are.
 */
const UNCLEAN: { readonly [run: string]: readonly string[] } = {
  filtered: ["loom-bare", "export"],
  "interleaved-runs": ["loom-strict", "loom-bare", "export", "lumine", "stream-event"],
  opaque: ["lumine"],
  "session-record-mid-run": ["loom-strict", "loom-bare", "export"],
};

describe("whole runs", () => {
  test.each(RUNS.map((vector) => [vector.name, vector] as const))("%s breaks no rule in any form", (name, vector) => {
    for (const [form, { dialect }] of Object.entries(FORMS)) {
      const doctor = createStreamCheck(DIALECTS[dialect]);
      const texts = (vector.encodings[form] ?? []).flat().map((frame) => JSON.stringify(frame));
      const errors = [...texts.flatMap((text) => doctor.check(text).issues), ...doctor.end()].filter(
        (issue) => issue.level === "error",
      );
      const expected = UNCLEAN[name]?.includes(form) === true;
      expect(errors.length > 0, `${form}: ${errors.map((issue) => `${issue.rule} ${issue.message}`).join("; ")}`).toBe(
        expected,
      );
    }
  });

  test.each(RUNS.map((vector) => [vector.name, vector] as const))(
    "%s survives its own extended form unchanged",
    (_name, vector) => {
      const texts = (vector.encodings["loom"] ?? []).flat().map((frame) => JSON.stringify(frame));
      expect(decodeAll("loom", texts).flat()).toEqual(vector.records.flat());
    },
  );
});
