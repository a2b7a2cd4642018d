// Stops the process of an agent that uses another agent as a tool, after every record, and starts it again. The run ends,
// and no tool that had started is run again unless it is idempotent.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../../src/agents/index.ts";
import type { Session } from "../../src/engine/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { answerOf, createAgentFixture, eventsOf } from "./agent-fixture.ts";
import { cutLog } from "./cut-log.ts";
import { findRuleViolation } from "./find-rule-violation.ts";
import { sampleCases } from "../sampling.ts";

const countAnswers = ({ prompt }: ScriptedRequest): number => prompt.filter(({ role }) => role === "assistant").length;

function playHelper(request: ScriptedRequest): ScriptedTurn {
  const turns: readonly ScriptedTurn[] = [
    {
      reasoning: "First.",
      calls: [
        { name: "look", input: { path: "x" }, id: "n1" },
        { name: "remove", input: { path: "y" }, id: "n2" },
      ],
    },
    { text: "It is gone.", chunk: 50 },
  ];
  return turns[countAnswers(request)] ?? { text: "?" };
}

function playCaller(request: ScriptedRequest): ScriptedTurn {
  const turns: readonly ScriptedTurn[] = [
    { calls: [{ name: "help", input: { message: "Remove y" }, id: "p1" }] },
    { text: "All is done.", chunk: 50 },
  ];
  return turns[countAnswers(request)] ?? { text: "?" };
}

function approveAll(session: Session): void {
  const answer = (): void => {
    const run = session.liveRun;
    for (const { callId = "" } of run?.work.waiting ?? []) run?.answerApproval({ callId, decision: "approved" });
  };
  session.onCommit(() => queueMicrotask(answer));
  answer();
}

async function live(idempotent: boolean, log = new MemoryLog()) {
  const ran: string[] = [];
  const define = (name: string) =>
    defineTool({
      name,
      description: name,
      input: z.object({ path: z.string() }),
      approval: name === "remove" ? "always" : "never",
      idempotent: idempotent || name === "look",
      execute: ({ path }) => {
        ran.push(name);
        return `${name} ${path}`;
      },
    });
  const helper = agent({ model: new ScriptedModel(playHelper), tools: [define("look"), define("remove")] });
  const tools = [helper.asTool({ name: "help", description: "Removes things." })];
  const fixture = await createAgentFixture(playCaller, { log, tools });
  approveAll(fixture.session);
  return { ...fixture, ran };
}

/** Records in one append with the one before them: a crash leaves both or neither. */
function isJoined(records: readonly StampedRecord[], index: number): boolean {
  const type = records[index]?.event.type;
  const before = records[index - 1]?.event.type;
  if (type === "node_exit") return before === "updates";
  if (type === "values") return before === "node_exit";
  return (type === "checkpoint" && before === "values") || (type === "reply" && before === "run_end");
}

const started = (records: readonly StampedRecord[]): readonly string[] =>
  eventsOf(records, "tool_start").map(({ name }) => name);
const ended = (records: readonly StampedRecord[]): readonly string[] =>
  eventsOf(records, "tool_end").map(({ name }) => name);

describe("an agent as a tool, after a crash", () => {
  it.each(sampleCases([false, true]))(
    "ends, and repeats only what may be repeated (idempotent: %s)",
    async (idempotent) => {
      const whole = await live(idempotent);
      await (
        await whole.ask("Go")
      ).ended;
      const records = await whole.read();
      expect(eventsOf(records, "reply")[0]?.reply).toBe("All is done.");
      expect(whole.ran).toEqual(["look", "remove"]);
      const seen = { lost: 0, repeated: 0 };

      for (let length = 1; length < records.length; length++) {
        if (isJoined(records, length)) continue;
        const prefix = records.slice(0, length);
        const fixture = await live(idempotent, await cutLog(prefix));
        await fixture.session.idle();
        const after = await fixture.read();
        const where = `after record ${length}, ${prefix.at(-1)?.event.type}`;
        expect([where, eventsOf(after, "run_end")]).toMatchObject([where, [{ status: "completed" }]]);
        expect([where, eventsOf(after, "reply")[0]?.reply]).toEqual([where, "All is done."]);
        expect([where, answerOf(after)]).toEqual([where, "All is done."]);
        // Every question is answered, also that of an interrupted call.
        const asked = eventsOf(after, "tool_approval").length;
        expect([where, eventsOf(after, "tool_approval_result").length]).toEqual([where, asked]);

        const isInside = started(prefix).includes("help") && !ended(prefix).includes("help");
        const isOver = ended(prefix).includes("help");
        if (isOver || (isInside && !idempotent)) expect([where, fixture.ran]).toEqual([where, []]);
        else expect([where, fixture.ran]).toEqual([where, ["look", "remove"]]);
        const end = eventsOf(after, "tool_end").findLast(({ name }) => name === "help");
        const code = isInside && !idempotent ? "interrupted" : undefined;
        expect([where, end?.error_code]).toEqual([where, code]);
        if (code !== undefined) seen.lost++;
        if (isInside && idempotent) {
          seen.repeated++;
          const repeats = eventsOf(after, "node_enter").filter(({ call_id }) => call_id === "p1");
          const isEntered = eventsOf(prefix, "node_enter").some(({ id }) => id === "help");
          const isLeft = eventsOf(prefix, "node_exit").some(({ id }) => id === "help");
          expect([where, repeats.map(({ supersedes }) => supersedes !== undefined)]).toEqual([
            where,
            isEntered ? [false, !isLeft] : [false],
          ]);
        }

        const next = await fixture.ask("And now?");
        expect([where, (await next.ended).status]).toEqual([where, "completed"]);
        for (const prompt of fixture.model.prompts)
          expect([where, findRuleViolation(prompt)]).toEqual([where, undefined]);
        expect(JSON.stringify(fixture.model.prompts.at(-1))).not.toMatch(/"n[12]/);
        await fixture.read();
        await fixture.session.close();
      }
      expect(idempotent ? seen.repeated : seen.lost).toBeGreaterThan(15);
    },
  );
});
