import { describe, expect, it } from "vitest";
import type { SessionView } from "../client/index.ts";
import { createTurnSelector } from "./use-receiver.ts";

/** A session with these runs, which counts how often a run is read. */
function createSession(...keys: readonly string[]) {
  let reads = 0;
  const turns = keys.map((key) => ({
    get key(): string {
      reads++;
      return key;
    },
  }));
  return { session: { turns } as unknown as SessionView, countReads: () => reads };
}

describe("a turn selector", () => {
  it("finds a run wherever it moves", () => {
    const select = createTurnSelector("b");
    expect(select(createSession("a", "b", "c").session)?.key).toBe("b");
    expect(select(createSession("b", "c").session)?.key).toBe("b");
    expect(select(createSession("c").session)).toBeUndefined();
    expect(select(createSession("c", "b").session)?.key).toBe("b");
  });

  it("does not search for a missing run again until a run is added", () => {
    const select = createTurnSelector("missing");
    const keys = Array.from({ length: 1000 }, (_, n) => `run-${n}`);
    const { session, countReads } = createSession(...keys);
    select(session);
    const before = countReads();
    for (let token = 0; token < 100; token++) expect(select(session)).toBeUndefined();
    expect(countReads() - before).toBeLessThan(500);
    expect(select(createSession(...keys, "missing").session)?.key).toBe("missing");
  });
});
