// Stops an agent's process after every record and starts it again. The run ends as it would have ended, finished work is
// not repeated, and no text counts twice.
import { describe, expect, it } from "vitest";
import { cutLog, isJoined } from "../../../test/agents/cut-log.ts";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { answerOf, eventsOf, SESSION, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { Session } from "../../engine/index.ts";
import { readRecords } from "../../../test/contracts/sender.ts";
import { MemoryLog } from "../../log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { type Json, StateFold, type StampedRecord } from "../../protocol/index.ts";

/** A model that continues from its prompt alone, so it works in any process. */
function play({ prompt }: ScriptedRequest): ScriptedTurn {
  const round = prompt.filter(({ role }) => role === "assistant").length;
  const turns: readonly ScriptedTurn[] = [
    {
      reasoning: "First.",
      calls: [
        { name: "add", input: { a: 1, b: 2 }, id: "c1" },
        { name: "remove", input: { path: "x" }, id: "c2" },
      ],
    },
    {
      text: "So far so good. ",
      calls: [
        { name: "fail", id: "c3" },
        { name: "add", input: '{"a":', id: "c4" },
      ],
    },
    { reasoning: "Last.", text: "All is done." },
  ];
  return turns[round] ?? { text: "?" };
}

function approveAll(session: Session): void {
  const answer = (): void => {
    const run = session.liveRun;
    for (const { callId = "" } of run?.work.waiting ?? []) run?.answerApproval({ callId, decision: "approved" });
  };
  session.onCommit(() => queueMicrotask(answer));
  answer();
}

async function live(log = new MemoryLog()) {
  const fixture = await createAgentFixture((request) => play(request), { log });
  approveAll(fixture.session);
  return fixture;
}

function finalState(records: readonly StampedRecord[]): Json | undefined {
  const fold = new StateFold();
  for (const { event } of records) fold.add(event);
  return fold.find()?.state;
}

function startedCalls(records: readonly StampedRecord[]): ReadonlySet<string | undefined> {
  return new Set(eventsOf(records, "tool_start").map(({ call_id }) => call_id));
}

describe("an agent after a crash", () => {
  it("ends as it would have ended, at any point", async () => {
    const whole = await live();
    await (
      await whole.ask("Go")
    ).ended;
    const records = await whole.read();
    expect(eventsOf(records, "reply")[0]?.reply).toBe("All is done.");
    await (
      await whole.ask("And now?")
    ).ended;
    const history = whole.model.prompts.at(-1);
    let seen = 0;

    for (let length = 1; length < records.length; length++) {
      if (isJoined(records, length)) continue;
      const prefix = records.slice(0, length);
      const log = await cutLog(prefix);
      const fixture = await live(log);
      await fixture.session.idle();
      const after = await fixture.read();
      const where = `after record ${length}, ${prefix.at(-1)?.event.type}`;
      expect([where, eventsOf(after, "run_end")]).toMatchObject([where, [{ status: "completed" }]]);
      seen++;
      expect([where, eventsOf(after, "reply")[0]?.reply]).toEqual([where, "All is done."]);
      expect([where, answerOf(after)]).toEqual([where, answerOf(records)]);
      const unknown = eventsOf(after, "tool_end").some(({ error_code }) => error_code === "interrupted");
      if (!unknown) expect([where, finalState(after)]).toEqual([where, finalState(records)]);
      // A tool that had started is not run again.
      const started = startedCalls(prefix);
      const again = eventsOf(after.slice(length), "tool_start").filter(({ call_id }) => started.has(call_id));
      expect([where, again]).toEqual([where, []]);
      expect([where, fixture.ran.length <= 3 - started.size]).toEqual([where, true]);
      for (const prompt of fixture.model.prompts)
        expect([where, findRuleViolation(prompt)]).toEqual([where, undefined]);

      // The conversation continues.
      const next = await fixture.ask("And now?");
      expect([where, (await next.ended).status]).toEqual([where, "completed"]);
      expect(findRuleViolation(fixture.model.prompts.at(-1) ?? [])).toBeUndefined();
      const lost = eventsOf(after, "tool_end").some(({ result }) => result.includes("outcome is unknown"));
      // A call that is made again has another ID.
      const prompt = JSON.stringify(fixture.model.prompts.at(-1)).replaceAll(/(c\d)_\d/g, "$1");
      if (!lost) expect([where, JSON.parse(prompt)]).toEqual([where, history]);
      await fixture.session.close();
    }
    expect(seen).toBeGreaterThan(30);
  });

  it("keeps the existing records", async () => {
    const whole = await live();
    await (
      await whole.ask("Go")
    ).ended;
    const records = await whole.read();
    const log = await cutLog(records.slice(0, 12));
    const fixture = await live(log);
    await fixture.session.idle();
    expect((await readRecords(log, SESSION)).slice(0, 12)).toEqual(records.slice(0, 12));
  });
});
