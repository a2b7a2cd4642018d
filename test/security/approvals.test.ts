// Approval answers that are unsolicited, repeated, late, or about another call do not run a tool.
import { describe, expect, onTestFinished } from "vitest";
import { cutLog } from "../contracts/got-script.ts";
import { agent } from "../../src/agents/index.ts";
import { type Run, sendCommand, type Session, type SessionOptions } from "../../src/engine/index.ts";
import { forkSession, type Log, MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import {
  type AnyEvent,
  type EventOf,
  isLoomError,
  type JsonObject,
  type StampedRecord,
  type ToolRules,
} from "../../src/protocol/index.ts";
import { defineTool, type Tool } from "../../src/tools/index.ts";
import { describeInput } from "../../src/tools/describe-input.ts";
import { refineInput } from "../../src/tools/define-tool.ts";
import { type ApprovalQuestion, watchQuestions } from "./injection-fixture.ts";
import { testThreat } from "./test-threat.ts";

interface Process {
  readonly log: Log;
  readonly session: Session;
  readonly run: Run | undefined;
  readonly question: Promise<ApprovalQuestion>;
  /** Arguments of each tool call that ran. */
  readonly acts: JsonObject[];
  answer(body: JsonObject, commandId?: string): Promise<string | undefined>;
}

interface ProcessOptions {
  readonly log?: Log;
  readonly id?: string;
  readonly script?: Script;
  readonly session?: SessionOptions;
  readonly rules?: ToolRules;
  readonly alias?: () => string;
  /** Continues the session of another process instead of starting a run. */
  readonly isSecond?: boolean;
}

const CALL = { name: "act", input: { what: "this" }, id: "c" };
const ASK: Script = [{ calls: [CALL] }, { text: "Done." }];
let commands = 0;

/** Starts a process with one tool that needs approval and a model that calls it. */
async function start(options: ProcessOptions = {}): Promise<Process> {
  const { log = new MemoryLog(), id = "s", script = ASK, rules, alias, isSecond = false } = options;
  const acts: JsonObject[] = [];
  const plain: Tool = defineTool({
    name: "act",
    description: "Acts.",
    approval: "always",
    input: describeInput<JsonObject>({ type: "object", properties: { what: { type: "string" } }, required: ["what"] }),
    execute: (input) => void acts.push(input),
  });
  const tool = alias === undefined ? plain : refineInput<JsonObject>(plain, (input) => ({ ...input, where: alias() }));
  const extra = { ...plain, name: "extra", needsApproval: () => false };
  const actor = agent({ model: new ScriptedModel(script), tools: [tool, extra] });
  const asked = Promise.withResolvers<ApprovalQuestion>();
  const session = await actor.openSession(log, id, options.session);
  onTestFinished(() => session.close({ run: "leave" }));
  watchQuestions(session, (_, question) => asked.resolve(question));
  const run = isSecond
    ? session.liveRun
    : await actor.answer(session, "Go", rules === undefined ? {} : { toolRules: rules });
  return {
    log,
    session,
    run,
    question: asked.promise,
    acts,
    async answer(body, commandId = `command-${++commands}`) {
      const given = { run_id: run?.runId ?? "", call_id: "c", decision: "approved", ...body };
      const { outcome } = await sendCommand(log, { commandId, sessionId: id, kind: "approve", body: given });
      return outcome?.code;
    },
  };
}

const HOUR = 60 * 60 * 1000;

describe("approval answers", () => {
  testThreat("stolen-approvals", "rejects an answer that does not match the pending question", async ({ attempt }) => {
    const other = await start({ id: "other" });
    const stolen = await other.question;
    const bodies: { readonly [about: string]: readonly [JsonObject, string] } = {
      "another call": [{ call_id: "d" }, "unknown_call"],
      "another tool": [{ name: "other" }, "approval_mismatch"],
      "another run": [{ run_id: "unknown-run" }, "approval_mismatch"],
      "the run of another session": [{ run_id: other.run?.runId ?? "" }, "approval_mismatch"],
      "other arguments": [{ digest: "A".repeat(43) }, "approval_mismatch"],
      "an empty digest": [{ digest: "" }, "approval_mismatch"],
      "a digest that is a number": [{ digest: 7 }, "invalid_command"],
      "an invalid decision": [{ decision: "yes" }, "invalid_command"],
      "a decision that is not a string": [{ decision: true }, "invalid_command"],
      expired: [{ decision: "expired" }, "invalid_command"],
      "arguments that are not an object": [{ arguments: [1] }, "invalid_command"],
      "a tool that the caller may not use": [{ tools: { act: "deny" }, actor: "token:x" }, "forbidden"],
      "invalid rules": [{ tools: { act: 1 } }, "invalid_command"],
      "a call id with a lone surrogate": [{ call_id: "c\ud800" }, "invalid_command"],
    };
    for (const [about, [body, code]] of Object.entries(bodies))
      await attempt(about, async () => {
        const process = await start();
        const question = await process.question;
        expect(await process.answer(body)).toBe(code);
        expect([process.acts, process.run?.work.waiting.length]).toEqual([[], 1]);
        expect(question.digest).toMatch(/^[\w-]{43}$/);
        expect(await process.answer({ digest: question.digest ?? "" })).toBe("done");
        await process.run?.ended;
        expect(process.acts).toEqual([{ what: "this" }]);
      });
    await attempt("through another session, with the right ids", async () => {
      const process = await start();
      await process.question;
      const { call_id: call = "", digest = "" } = stolen;
      const body = { run_id: process.run?.runId ?? "", call_id: call, digest, decision: "approved" };
      const { outcome } = await sendCommand(process.log, {
        commandId: "x",
        sessionId: "elsewhere",
        kind: "approve",
        body,
      }).catch((error: unknown) => ({ outcome: { code: isLoomError(error) ? error.code : "" } }));
      expect(outcome?.code).not.toBe("done");
      expect([process.acts, process.run?.work.waiting.length]).toEqual([[], 1]);
    });
  });

  testThreat(
    "stolen-approvals",
    "accepts an answer once, and only while the question is pending",
    async ({ attempt }) => {
      await attempt("repeated, with the same command id and with a new one", async () => {
        const process = await start({ script: [{ calls: [CALL] }, { calls: [CALL] }, { text: "Done." }] });
        await process.question;
        expect(await process.answer({}, "same")).toBe("done");
        expect(await process.answer({}, "same")).toBe("done");
        expect(["already_answered", "unknown_call"]).toContain(await process.answer({}));
        expect(process.acts).toHaveLength(1);
        // The second call gets a new ID, although the model reused the old one, and needs its own answer.
        expect([...(process.run?.work.waiting ?? [])].map(({ callId }) => callId)).not.toContain("c");
      });
      await attempt("before the question", async () => {
        const gate = Promise.withResolvers<void>();
        const process = await start({ script: [{ calls: [CALL], until: gate.promise }, { text: "Done." }] });
        expect(await process.answer({})).toBe("unknown_call");
        gate.resolve();
        await process.question;
        expect([process.acts, process.run?.work.waiting.length]).toEqual([[], 1]);
      });
      await attempt("after the question expired", async () => {
        let now = 1_000_000;
        const process = await start({ session: { now: () => now } });
        await process.question;
        now += HOUR + 1;
        expect(await process.answer({})).toBe("already_answered");
        await process.run?.ended;
        expect(process.acts).toEqual([]);
      });
      await attempt("after the run ended", async () => {
        const process = await start();
        await process.question;
        await process.run?.cancel();
        expect(["run_ended", "unknown_call"]).toContain(await process.answer({}));
        expect(process.acts).toEqual([]);
      });
      await attempt("after a rejection", async () => {
        const process = await start();
        await process.question;
        expect(await process.answer({ decision: "rejected" })).toBe("done");
        expect(await process.answer({})).not.toBe("done");
        await process.run?.ended;
        expect(process.acts).toEqual([]);
      });
    },
  );

  testThreat("stolen-approvals", "checks answers again after a restart", async ({ attempt }) => {
    /** Stops the process after the question is asked. */
    const stopAfterQuestion = async (
      options: ProcessOptions = {},
    ): Promise<{ readonly first: Process; readonly digest: string }> => {
      const first = await start(options);
      const { digest = "" } = await first.question;
      await first.session.close({ run: "leave" });
      return { first, digest };
    };
    const resume = async ({ log }: Process, options: ProcessOptions = {}): Promise<Process> =>
      start({ log, isSecond: true, script: [{ text: "Done." }], ...options });

    await attempt("the question is still pending", async () => {
      const { first } = await stopAfterQuestion();
      const second = await resume(first);
      expect([second.acts, second.run?.work.waiting.length]).toEqual([[], 1]);
      expect(await second.answer({ digest: "other" })).toBe("approval_mismatch");
      expect(second.acts).toEqual([]);
    });
    await attempt("an answer given during the downtime counts once, even after several restarts", async () => {
      const { first, digest } = await stopAfterQuestion();
      expect(await first.answer({ digest })).toBe("done");
      const second = await resume(first);
      await second.session.idle();
      expect(second.acts).toEqual([{ what: "this" }]);
      await second.session.close();
      expect(await first.answer({ digest })).not.toBe("done");
      const third = await resume(first);
      await third.session.idle();
      expect(third.acts).toEqual([]);
    });
    await attempt("an answer given during the downtime expires", async () => {
      let now = 1_000_000;
      const session = { now: () => now };
      const { first } = await stopAfterQuestion({ session });
      const { outcome } = await sendCommand(
        first.log,
        {
          commandId: "y",
          sessionId: "s",
          kind: "approve",
          body: { run_id: first.run?.runId ?? "", call_id: "c", decision: "approved" },
        },
        { session },
      );
      expect(outcome?.code).toBe("done");
      now += HOUR + 1;
      const second = await resume(first, { session });
      await second.session.idle();
      expect(second.acts).toEqual([]);
    });
    await attempt("the tool now resolves its arguments differently", async () => {
      const { first } = await stopAfterQuestion({ alias: () => "here" });
      expect(await first.answer({})).toBe("done");
      const second = await resume(first, { alias: () => "there" });
      await second.session.idle();
      expect(second.acts).toEqual([]);
    });
    await attempt("the run may no longer use the tool", async () => {
      const { first } = await stopAfterQuestion();
      await first.answer({});
      const second = await resume({ ...first, log: await copyWith(first.log, { tool_rules: { act: "deny" } }) });
      await second.session.idle();
      expect(second.acts).toEqual([]);
    });
    await attempt("the rules of the run are invalid", async () => {
      for (const tool_rules of [{ act: "sometimes" }, { "*": 1 }]) {
        const { first } = await stopAfterQuestion();
        await first.answer({});
        const second = await resume({ ...first, log: await copyWith(first.log, { tool_rules }) });
        await second.session.idle();
        expect(second.acts).toEqual([]);
      }
    });
  });

  testThreat("stolen-approvals", "keeps the tool rules of a run", async ({ attempt }) => {
    await attempt("after a restart", async () => {
      const rules = { act: "ask", extra: "deny" } as const;
      const first = await start({ rules });
      await first.question;
      await first.session.close({ run: "leave" });
      const script: Script = [{ calls: [{ name: "extra", input: { what: "more" } }] }, { text: "Done." }];
      const second = await start({ log: first.log, isSecond: true, script });
      expect(second.run?.request.toolRules).toEqual(rules);
      expect(await second.answer({})).toBe("done");
      await second.session.idle();
      expect(second.acts).toEqual([{ what: "this" }]);
    });
    await attempt("for a queued run", async () => {
      const process = await start({ rules: { act: "deny" }, script: [{ text: "Done." }] });
      await process.session.idle();
      for (const tools of [{ act: "deny" }, { "*": "deny" }]) {
        const body = { message: "Go", run_id: `queued-${++commands}`, tools, actor: "token:x" };
        const log = new MemoryLog();
        await log.createSession("s");
        await log.submit({ commandId: "q", sessionId: "s", kind: "enqueue", body });
        const next = await start({ log, isSecond: true });
        await next.session.idle();
        expect(next.acts).toEqual([]);
        const { records } = await log.read("s", { after: 0, limit: 1 });
        expect(records[0]?.event).toMatchObject({ type: "run_start", tool_rules: tools, actor: "token:x" });
      }
    });
    await attempt("a message with invalid rules starts no run", async () => {
      for (const tools of [{ act: "maybe" }, [], "deny", { act: null }]) {
        const log = new MemoryLog();
        await log.createSession("s");
        const body = { message: "Go", tools } as JsonObject;
        await log.submit({ commandId: "q", sessionId: "s", kind: "enqueue", body });
        const next = await start({ log, isSecond: true });
        await next.session.idle();
        expect((await log.getCommand("s", "q"))?.outcome?.code).toBe("invalid_command");
        expect(await log.listRuns("s")).toEqual([]);
      }
    });
  });

  testThreat(
    "stolen-approvals",
    "does not carry answers into a fork, and applies the rules of its creator",
    async ({ attempt }) => {
      /**
       * Creates a session whose model has called the tool before any question was asked. Inserts `more` before the
       * checkpoint.
       */
      const stopBeforeQuestion = async (
        ...more: readonly AnyEvent[]
      ): Promise<{ readonly log: Log; readonly checkpointId: string }> => {
        const first = await start();
        await first.question;
        await first.session.close({ run: "leave" });
        const { records } = await first.log.read("s", { after: 0, limit: 1000 });
        const at = records.findLastIndex(({ event }) => event.type === "checkpoint");
        const { envelope, event } = records[at] as StampedRecord;
        const { node_id: _node, ...outside } = envelope;
        const forged = [...more.map((each) => ({ envelope: outside, event: each })), { envelope, event }];
        const all = [...records.slice(0, at), ...forged].map((record, index) => ({
          ...record,
          envelope: { ...record.envelope, event_id: index + 1 },
        }));
        const checkpointId = (event as EventOf<"checkpoint">).checkpoint_id;
        return { log: await cutLog("s", all), checkpointId };
      };
      const ask = { type: "tool_approval", call_id: "c", name: "act", arguments: { what: "this" } } as const;
      const yes = { type: "tool_approval_result", call_id: "c", name: "act", decision: "approved" } as const;
      const forgeries: { readonly [name: string]: readonly AnyEvent[] } = {
        "an answer": [ask, yes],
        "an answer without a question": [yes],
        "an answer without a call id": [ask, { type: "tool_approval_result", name: "act", decision: "approved" }],
        "an answer after the end of another call": [
          ask,
          yes,
          { type: "tool_end", name: "act", result: "", is_error: false },
        ],
      };
      for (const [name, events] of Object.entries(forgeries))
        await attempt(name, async () => {
          const { log, checkpointId } = await stopBeforeQuestion(...events);
          await expect(forkSession(log, { from: "s", checkpointId, to: "f" })).rejects.toMatchObject({
            code: "unsupported",
          });
          expect(await log.getSession("f")).toBeUndefined();
        });
      await attempt("the fork asks about the pending call", async () => {
        const { log, checkpointId } = await stopBeforeQuestion();
        await forkSession(log, { from: "s", checkpointId, to: "f" });
        const fork = await start({ log, id: "f", isSecond: true, script: [{ text: "Done." }] });
        await fork.question;
        expect([fork.acts, fork.run?.work.waiting.length]).toEqual([[], 1]);
      });
      await attempt("the fork has the rules of its creator and of the run", async () => {
        const { log, checkpointId } = await stopBeforeQuestion();
        await forkSession(log, { from: "s", checkpointId, to: "f", actor: "token:b", toolRules: { act: "deny" } });
        await forkSession(log, {
          from: "f",
          checkpointId,
          to: "g",
          actor: "token:c",
          toolRules: { act: "allow", extra: "ask" },
        });
        for (const id of ["f", "g"]) {
          const fork = await start({ log, id, isSecond: true, script: [{ text: "Done." }] });
          expect([fork.run?.request.actor, fork.run?.request.toolRules?.["act"]]).toEqual([
            id === "f" ? "token:b" : "token:c",
            "deny",
          ]);
          await fork.session.idle();
          expect(fork.acts).toEqual([]);
        }
      });
    },
  );
});

/** Copies the records to a new log, with these fields in `run_start`. */
async function copyWith(log: Log, fields: JsonObject): Promise<Log> {
  const { records } = await log.read("s", { after: 0, limit: 1000 });
  const copied = records.map(({ envelope, event }) => ({
    envelope,
    event: event.type === "run_start" ? { ...event, ...fields } : event,
  }));
  return cutLog("s", copied);
}
