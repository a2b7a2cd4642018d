// Stops the process of a graph of thoughts after every record and starts it again. It ends as it would have ended, and
// no finished thought, model call or tool call is repeated.
import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { LONG, sampleCases } from "../../../test/sampling.ts";
import {
  answerOf,
  eventsOf,
  SESSION,
  createAgentFixture,
  type AgentFixture,
} from "../../../test/agents/agent-fixture.ts";
import type { Session } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { EventOf, EventType, StampedRecord } from "../../protocol/index.ts";
import {
  type GotPrompt,
  cutLog,
  describeWork,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
} from "../../../test/contracts/got-script.ts";

/** Tools in two thoughts, one with approval; a failure and a dependant; an expansion with another inside. */
const play = playGot({
  plan: listNodes([
    { id: "look" },
    { id: "read" },
    { id: "deep" },
    { id: "weak" },
    { id: "lost", needs: ["weak", "look"] },
    { id: "best", needs: ["look", "read"], operation: "score" },
    { id: "all", needs: ["best", "deep"], operation: "aggregate" },
  ]),
  expansions: {
    deep: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }, { id: "z", needs: ["x"] }, { id: "w", needs: ["x"] }]),
    "deep.y": listNodes([{ id: "s" }, { id: "t", needs: ["s"] }]),
  },
  // The first answer is invalid.
  scores: ({ turn }) => (turn === 0 ? "I like both." : { scores: { look: 0.25, read: 0.75 } }),
  work: (asked) => {
    const { id, turn } = asked;
    if (id === "weak" || id === "deep.z") return { fault: { kind: "throw" } };
    if (turn > 0) return { reasoning: "Now then.", ...describeWork(asked) };
    if (id === "look")
      return {
        calls: [
          { name: "add", input: { a: 1, b: 2 }, id: "look-1" },
          { name: "remove", input: { path: "x" }, id: "look-2" },
        ],
      };
    if (id === "read") return { text: "Let me see.", calls: [{ name: "fail", id: "read-1" }] };
    if (id === "deep.y.t") return { calls: [{ name: "add", input: '{"a":', id: "t-1" }] };
    return describeWork(asked);
  },
});

function approveAll(session: Session): void {
  const answer = (): void => {
    const run = session.liveRun;
    for (const { callId = "" } of run?.work.waiting ?? []) run?.answerApproval({ callId, decision: "approved" });
  };
  session.onCommit(() => queueMicrotask(answer));
  answer();
}

async function live(log = new MemoryLog()): Promise<AgentFixture> {
  const options = { kind: "got", adaptive: true, retryMs: 0, concurrency: 3, callOptions: { maxRetries: 0 } } as const;
  const fixture = await createAgentFixture((request) => play(request), { log, ...options });
  approveAll(fixture.session);
  return fixture;
}

const CONCLUDED: ReadonlySet<EventType> = new Set([
  "got_plan",
  "got_expand",
  "got_node_complete",
  "got_node_failed",
  "error",
]);

/** Records in one append with the one before them: a crash leaves both or neither. */
function isJoined(records: readonly StampedRecord[], index: number): boolean {
  const type = records[index]?.event.type as EventType;
  const before = records[index - 1]?.event.type as EventType;
  if (type === "updates" || type === "got_plan") return CONCLUDED.has(before);
  if (type === "node_exit") return before === "updates";
  if (type === "values") return before === "node_exit";
  return (type === "checkpoint" && before === "values") || (type === "reply" && before === "run_end");
}

/** Remembered model calls as `node|call`; calls of the plan have no node. */
function listRemembered(records: readonly StampedRecord[]): ReadonlySet<string> {
  const paths = eventsOf(records, "updates").map(({ checkpoint_ns: path = "" }) => path.split("|"));
  return new Set(
    paths.map((path) =>
      path
        .slice(-2)
        .join("|")
        .replace(/^plan_graph:[^|]*/, "")
        .replace(/^.*\|expand:(.*)-(\d)$/, "$1|expand-$2"),
    ),
  );
}

function nameCall({ kind, id, turn }: GotPrompt): string {
  if (kind === "complex") return `${id}|complex`;
  return `${id}|${kind === "work" ? "think" : kind}-${turn + 1}`;
}

function describeEnd(records: readonly StampedRecord[]) {
  const { completed, failed, skipped, nodes, edges } = rebuildGraph(records);
  const sort = (list: readonly string[]): readonly string[] => list.toSorted();
  return {
    reply: eventsOf(records, "reply")[0]?.reply,
    answer: answerOf(records),
    completed: sort(completed),
    failed: sort(failed),
    skipped: sort(skipped),
    nodes: sort(nodes),
    edges: sort(edges),
  };
}

/** Resumes a truncated log and checks the outcome. */
async function checkCut(whole: readonly StampedRecord[], prefix: readonly StampedRecord[]) {
  const fixture = await live(await cutLog(SESSION, prefix));
  await fixture.session.idle();
  const after = await fixture.read();
  const where = `after record ${prefix.length}, ${prefix.at(-1)?.event.type}`;
  expect([where, eventsOf(after, "run_end")]).toMatchObject([where, [{ status: "completed" }]]);
  expect([where, describeEnd(after)]).toEqual([where, describeEnd(whole)]);
  // A node that has ended is not started again. The last failure of a node is stored with its result.
  const ended = new Set(
    prefix.flatMap(({ event }, index) => {
      const isLast = event.type === "got_node_failed" && prefix[index + 1]?.event.type === "updates";
      return isLast || event.type === "got_node_complete" ? [(event as EventOf<"got_node_failed">).id] : [];
    }),
  );
  const begun = eventsOf(after.slice(prefix.length), "got_node_start").filter(({ id }) => ended.has(id));
  expect([where, begun]).toEqual([where, []]);
  // A model call with a remembered answer is not repeated.
  const remembered = listRemembered(prefix);
  const again = fixture.model.prompts
    .map((prompt) => nameCall(readGotPrompt(prompt)))
    .filter((call) => remembered.has(call));
  expect([where, again]).toEqual([where, []]);
  // A tool that had started is not run again.
  const started = new Set(eventsOf(prefix, "tool_start").map(({ call_id }) => call_id));
  const restarted = eventsOf(after.slice(prefix.length), "tool_start").filter(({ call_id }) => started.has(call_id));
  expect([where, restarted]).toEqual([where, []]);
  expect([where, fixture.ran.length <= 3 - started.size]).toEqual([where, true]);
  for (const prompt of fixture.model.prompts) expect([where, findRuleViolation(prompt)]).toEqual([where, undefined]);
  await fixture.session.close();
  return after;
}

describe("a graph of thoughts after a crash", () => {
  it("ends as it would have ended, at any point, and repeats nothing", { timeout: 60_000 }, async () => {
    const fixture = await live();
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(describeEnd(records)).toMatchObject({
      reply: "From all.\n\n(No result for: deep.z, weak, lost.)",
      failed: ["deep.z", "weak"],
      skipped: ["lost"],
    });
    expect(fixture.ran).toHaveLength(3);

    let seen = 0;
    const lengths = records.map((_, index) => index).filter((length) => length > 0 && !isJoined(records, length));
    // The short run stops after each type of record, also of the final answer.
    const kindOf = (length: number): string => {
      const { envelope, event } = records[length - 1] as StampedRecord;
      return `${event.type} ${envelope.node_id?.startsWith("run-answer-")}`;
    };
    for (const length of sampleCases(lengths, { perKind: 2, kindOf })) {
      const after = await checkCut(records, records.slice(0, length));
      seen++;
      // Crashes once more, after the first crash.
      if (!LONG && length % 6 !== 0) continue;
      const second = length + 1 + ((length * 37) % Math.max(1, after.length - length - 1));
      if (!isJoined(after, second)) await checkCut(records, after.slice(0, second));
    }
    expect(seen).toBeGreaterThan(20);
  });
});
