// Where the versions of a conversation differ.
import { describe, expect, it } from "vitest";
import type { Run, Session } from "../../../src/server/api/shapes.generated.ts";
import { findVersions } from "./find-versions.ts";

/** A session, and the session and record it was forked at. */
function branch(session_id: string, last_event_id: number, from?: string, event_id = 0): Session {
  const rest = { created_at: 0, updated_at: 0, first_event_id: 1, last_event_id, bytes: 0, cursor: "", root_id: "s" };
  return { session_id, ...rest, ...(from === undefined ? {} : { forked_from: { session_id: from, event_id } }) };
}

/** Runs of four records each. */
function runsOf(...ids: readonly string[]): readonly Run[] {
  return ids
    .map((run_id, index): Run => ({
      run_id,
      status: "completed",
      first_event_id: 4 * index + 1,
      last_event_id: 4 * index + 4,
      started_at: 0,
    }))
    .toReversed();
}

const plain = (...[session, branches, runs]: Parameters<typeof findVersions>) =>
  Object.fromEntries(findVersions(session, branches, runs));

describe("findVersions", () => {
  it("finds nothing in a session without forks", () => {
    expect(plain("s", [branch("s", 12)], runsOf("r1", "r2"))).toEqual({});
    expect(plain("none", [branch("s", 12)], [])).toEqual({});
  });

  it("finds the run that was edited, in both sessions", () => {
    const all = [branch("s", 12), branch("a", 8, "s", 4)];
    expect(plain("s", all, runsOf("r1", "r2", "r3"))).toEqual({
      r2: { after: 4, isInside: false, position: 1, count: 2, next: "a" },
    });
    expect(plain("a", all, runsOf("r1", "a2"))).toEqual({
      a2: { after: 4, isInside: false, position: 2, count: 2, previous: "s" },
    });
  });

  it("counts an edit of an edit as a third version", () => {
    const all = [branch("s", 8), branch("a", 8, "s", 4), branch("b", 8, "a", 4)];
    expect(plain("a", all, runsOf("r1", "a2"))).toEqual({
      a2: { after: 4, isInside: false, position: 2, count: 3, previous: "s", next: "b" },
    });
    expect(plain("s", all, runsOf("r1", "r2"))).toMatchObject({ r2: { position: 1, count: 3, next: "a" } });
    expect(plain("b", all, runsOf("r1", "b2"))).toMatchObject({ b2: { position: 3, count: 3, previous: "a" } });
  });

  it("opens the newest session of a version that was edited further on", () => {
    // `a` edits the first run, `b` the second run of `a`.
    const all = [branch("s", 8), branch("a", 8, "s", 0), branch("b", 8, "a", 4)];
    expect(plain("s", all, runsOf("r1", "r2"))).toEqual({
      r1: { after: 0, isInside: false, position: 1, count: 2, next: "b" },
    });
    expect(plain("b", all, runsOf("a1", "b2"))).toEqual({
      a1: { after: 0, isInside: false, position: 2, count: 2, previous: "s" },
      b2: { after: 4, isInside: false, position: 2, count: 2, previous: "a" },
    });
    expect(plain("a", all, runsOf("a1", "a2"))).toMatchObject({ a1: { position: 2 }, a2: { position: 1, next: "b" } });
  });

  it("finds a fork inside of a run at that run", () => {
    const all = [branch("s", 8), branch("a", 9, "s", 6)];
    expect(plain("s", all, runsOf("r1", "r2"))).toMatchObject({ r2: { after: 6, next: "a" } });
  });

  it("leaves out versions without a message, and runs that have not begun", () => {
    const all = [branch("s", 8), branch("a", 4, "s", 4)];
    expect(plain("s", all, runsOf("r1", "r2"))).toEqual({});
    expect(plain("a", all, runsOf("r1"))).toEqual({});
    expect(plain("a", [all[0]!, branch("a", 5, "s", 4)], runsOf("r1"))).toEqual({});
    const live: Run = { run_id: "a2", status: "live", first_event_id: 5, started_at: 0 };
    expect(plain("a", [all[0]!, branch("a", 5, "s", 4)], [live, ...runsOf("r1")])).toMatchObject({
      a2: { position: 2, previous: "s" },
    });
  });

  it("still relates the forks of a deleted session", () => {
    const all = [branch("a", 8, "gone", 4), branch("b", 8, "gone", 4)];
    expect(plain("b", all, runsOf("r1", "b2"))).toMatchObject({ b2: { position: 2, previous: "a" } });
  });

  it("ends for origins that refer to each other", () => {
    const all = [branch("a", 8, "b", 4), branch("b", 8, "a", 4)];
    expect(plain("a", all, runsOf("r1", "a2"))).toMatchObject({});
  });
});
