// Stops a search's process after every record and starts it again. The tree is the same, no stored answer is requested
// again, no tool runs twice and no tree event is repeated.
import { describe, expect, it } from "vitest";
import { cutLog } from "../../../test/agents/cut-log.ts";
import { sampleCases } from "../../../test/sampling.ts";
import { eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { Session } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { UpdatesEvent } from "../../protocol/events.generated.ts";
import type { TotOptions } from "./tot-settings.ts";
import { playTree, readPrompt, rebuildTree, type ScriptedTree } from "../../../test/contracts/tree-script.ts";

const world: ScriptedTree = {
  first: {
    score: 0.9,
    calls: [{ id: "c-first", name: "add", input: { a: 1, b: 2 } }],
    next: { stuck: { score: 0 }, lost: { score: 0 } },
  },
  second: {
    score: 0.5,
    calls: [{ id: "c-second", name: "remove", input: { path: "x" } }],
    next: { fine: { score: 0.7, next: { done: { score: 1, solved: true } } }, wrong: { score: 0 } },
  },
  third: { score: 0, calls: [{ id: "c-third", name: "add", input: { a: 3, b: 3 } }] },
};

/** The same without tools, for one call that lists everything. */
const plain: ScriptedTree = {
  first: { score: 0.5, next: { stuck: { score: 0.9 }, lost: { score: 0 } } },
  second: {
    score: 0.9,
    next: { fine: { score: 0.7, next: { done: { score: 1, solved: true } } }, wrong: { score: 0 } },
  },
};

function approveAll(session: Session): void {
  const answer = (): void => {
    const run = session.liveRun;
    for (const { callId = "" } of run?.work.waiting ?? []) run?.answerApproval({ callId, decision: "approved" });
  };
  session.onCommit(() => queueMicrotask(answer));
  answer();
}

async function live(options: TotOptions, log = new MemoryLog()) {
  const fixture = await createAgentFixture(
    (request) => playTree(options.generate === "sample" ? world : plain, request),
    {
      kind: "tot",
      log,
      ...options,
    },
  );
  approveAll(fixture.session);
  return fixture;
}

/** Records in one append with the one before them: a crash leaves both or neither. */
function isJoined(records: readonly StampedRecord[], index: number): boolean {
  const type = records[index]?.event.type ?? "";
  const before = records[index - 1]?.event.type ?? "";
  if (before.startsWith("tot_")) return true;
  if (type === "node_exit") return before === "updates";
  if (type === "values") return before === "node_exit";
  return (type === "checkpoint" && before === "values") || (type === "reply" && before === "run_end");
}

/** Model answers that were stored. */
function countAnswers(records: readonly StampedRecord[]): number {
  return eventsOf(records, "updates").filter(({ state, delta }: UpdatesEvent) => {
    const result = delta !== true && isJsonObject(state) ? state["result"] : undefined;
    return isJsonObject(result) && "tokens" in result;
  }).length;
}

function listTreeEvents(records: readonly StampedRecord[]): readonly string[] {
  return records.flatMap(({ event }) => (event.type.startsWith("tot_") ? [JSON.stringify(event)] : [])).toSorted();
}

function describeTree(records: readonly StampedRecord[]): readonly unknown[] {
  const { thoughts, path } = rebuildTree(records);
  return [path, [...thoughts].toSorted(([a], [b]) => (a < b ? -1 : 1))];
}

const SEARCHES: readonly TotOptions[] = [
  { generate: "sample", candidates: 3, beam: 1 },
  { generate: "sample", candidates: 3, strategy: "depth", concurrency: 1 },
  { generate: "propose", beam: 2 },
  { generate: "propose", beam: 2, evaluate: "vote", evaluations: 2, strategy: "depth" },
];

describe("a search after a crash", () => {
  it.each(SEARCHES)("writes related records in one append: %o", async (options) => {
    // Appends of different sizes end at different records, but never split related ones.
    const ends = new Set<number>();
    const limits = sampleCases(
      Array.from({ length: 12 }, (_, index) => 8 + index),
      { perKind: 3 },
    );
    for (const maxBatchRecords of limits) {
      const fixture = await live(options, new MemoryLog({ limits: { maxBatchRecords } }));
      const sizes: number[] = [];
      fixture.session.onCommit((entries) => void sizes.push(entries.length));
      await (
        await fixture.ask("Go")
      ).ended;
      const records = await fixture.read();
      let end = 0;
      for (const size of sizes) {
        end += size;
        const pair = records.slice(end - 1, end + 1).map(({ event }) => event.type);
        expect([maxBatchRecords, end, pair, isJoined(records, end)]).toEqual([maxBatchRecords, end, pair, false]);
        ends.add(end);
      }
      await fixture.session.close();
    }
    expect(ends.size).toBeGreaterThan(3 * limits.length);
  });

  it.each(sampleCases(SEARCHES))(
    "gives the same tree, at any point: %o",
    async (options) => {
      const whole = await live(options);
      await (
        await whole.ask("Go")
      ).ended;
      const records = await whole.read();
      const reply = eventsOf(records, "reply")[0]?.reply;
      const asked = whole.model.requests.length;
      expect(asked).toBe(countAnswers(records) + 1);
      let completed = 0;

      // The short run stops after each type of record, twice in the first search.
      const lengths = records.map((_, index) => index).filter((length) => length > 0 && !isJoined(records, length));
      const perKind = options === SEARCHES[0] ? 2 : 1;
      const kindOf = (length: number): string => records[length - 1]?.event.type ?? "";
      for (const length of sampleCases(lengths, { perKind, kindOf })) {
        const prefix = records.slice(0, length);
        const fixture = await live(options, await cutLog(prefix));
        await fixture.session.idle();
        const after = await fixture.read();
        const where = `after record ${length}, ${prefix.at(-1)?.event.type}`;
        expect([where, eventsOf(after, "run_end")]).toMatchObject([where, [{ status: "completed" }]]);
        completed++;
        const started = new Set(eventsOf(prefix, "tool_start").map(({ call_id }) => call_id));
        const unknown = eventsOf(after, "tool_end").some(
          ({ call_id, error_code }) => error_code === "interrupted" && started.has(call_id),
        );
        expect([where, eventsOf(after, "reply")[0]?.reply]).toEqual([where, reply]);
        expect([where, listTreeEvents(after)]).toEqual([where, listTreeEvents(records)]);
        expect([where, describeTree(after)]).toEqual([where, describeTree(records)]);
        const isAnswering = fixture.model.requests.filter((request) => readPrompt(request).kind === "answer").length;
        expect([where, fixture.model.requests.length - isAnswering]).toEqual([where, asked - 1 - countAnswers(prefix)]);
        const again = eventsOf(after.slice(length), "tool_start").filter(({ call_id }) => started.has(call_id));
        expect([where, again]).toEqual([where, []]);
        if (!unknown) expect([where, fixture.ran.length]).toEqual([where, whole.ran.length - started.size]);
        await fixture.session.close();
      }
      expect(completed).toBeGreaterThan(8);
    },
    60_000,
  );
});
