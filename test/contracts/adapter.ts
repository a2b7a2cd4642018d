/**
 * The contract of adapters, as tests. An adapter's test file builds a source from a script with the real package of its
 * framework and that framework's own mock model, and calls `describeAdapter`.
 */
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sendCommand } from "../../src/engine/send-command.ts";
import { openSession } from "../../src/engine/session.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import {
  type AnyEvent,
  type EventOf,
  type EventType,
  isKnownEvent,
  type JsonObject,
} from "../../src/protocol/index.ts";
import { Verifier } from "../../src/protocol/verify/verifier.ts";
import { overrideLog } from "../log-sessions.ts";
import { conversation } from "../../src/adapters/conversation.ts";
import { type ForeignAgentOptions, foreignAgent } from "../../src/adapters/foreign-agent.ts";
import { record, type ForeignRecording } from "../../src/adapters/record.ts";
import type { ForeignSource, SourceContext } from "../../src/adapters/source.ts";

/** One answer of the mock model. */
export interface ScriptedTurn {
  readonly reasoning?: readonly string[];
  readonly text?: readonly string[];
  /** Calls of the tool `weather`; each city is one call with the ID `call-<city>`. */
  readonly cities?: readonly string[];
  /** The model waits here until the run is aborted. */
  readonly hangs?: boolean;
  /** The model fails with an error that has this text. */
  readonly error?: string;
}

/** What the framework does: the turns of its model, and how its tool behaves. */
export interface AdapterScript {
  readonly turns: readonly ScriptedTurn[];
  /** The tool `weather` takes `{ city }` and returns `{ city, degrees: -3 }`, or throws an error with this text. */
  readonly toolError?: string;
  /** The tool needs an approval. */
  readonly needsApproval?: boolean;
  /** Called when the tool runs. */
  readonly onTool?: (input: JsonObject) => void;
  /** Called with each piece of text that the model sends. */
  readonly onPiece?: () => void;
}

export interface AdapterFixture {
  /**
   * Creates a source that plays the script. `context` has the signal of the run, as `foreignAgent` passes it; the model
   * must stop when it aborts.
   */
  create(script: AdapterScript, context?: SourceContext): ForeignSource;
  /** What the framework has no notion of. Its tests are left out. */
  readonly lacks?: readonly ("reasoning" | "tools" | "approvals" | "usage" | "argumentPieces" | "backPressure")[];
}

const SESSION = "chat-7";
const QUESTION = "How cold is it?";
const WEATHER: ScriptedTurn = { text: ["I look."], cities: ["Oslo"] };
const COLD: ScriptedTurn = { text: ["It is ", "cold."] };

export function describeAdapter(name: string, { create, lacks = [] }: AdapterFixture): void {
  const start = (log: Log, script: AdapterScript): Promise<ForeignRecording> => {
    const source = create(script);
    return record(log, { sessionId: SESSION, message: QUESTION, onError: () => undefined }, source);
  };
  const serve = (script: AdapterScript, options?: ForeignAgentOptions) =>
    foreignAgent((_message, context) => create(script, context), options);

  describe(name, () => {
    it("records text, and the reply is the whole text", async () => {
      const log = new MemoryLog();
      const run = await start(log, { turns: [COLD] });
      await expect(run.ended).resolves.toMatchObject({ status: "completed" });
      const events = await readEvents(log);
      expect(textOf(events)).toBe("It is cold.");
      expect(find(events, "message_chunk").length).toBeGreaterThan(1);
      expect(find(events, "reply")).toMatchObject([{ reply: "It is cold." }]);
    });

    it.skipIf(lacks.includes("reasoning"))("records reasoning apart from the answer", async () => {
      const log = new MemoryLog();
      await (
        await start(log, { turns: [{ reasoning: ["Cold ", "there?"], ...COLD }] })
      ).ended;
      const events = await readEvents(log);
      const reasoning = find(events, "reasoning_chunk").map(({ content }) => content);
      expect(reasoning.join("")).toBe("Cold there?");
      expect(find(events, "reply")).toMatchObject([{ reply: "It is cold." }]);
    });

    it.skipIf(lacks.includes("usage"))("records the tokens of every model call", async () => {
      const log = new MemoryLog();
      await (
        await start(log, { turns: [lacks.includes("tools") ? COLD : WEATHER, COLD] })
      ).ended;
      const usage = find(await readEvents(log), "usage");
      expect(usage.length).toBe(lacks.includes("tools") ? 1 : 2);
      expect(usage[0]).toMatchObject({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
    });

    describe.skipIf(lacks.includes("tools"))("tools", () => {
      it("records calls with their arguments and results, also parallel ones", async () => {
        const log = new MemoryLog();
        await (
          await start(log, { turns: [{ ...WEATHER, cities: ["Oslo", "Bergen"] }, COLD] })
        ).ended;
        const events = await readEvents(log);
        expect(
          find(events, "tool_call").map(({ call_id, name: tool, arguments: input }) => [call_id, tool, input]),
        ).toEqual([
          ["call-Oslo", "weather", { city: "Oslo" }],
          ["call-Bergen", "weather", { city: "Bergen" }],
        ]);
        expect(find(events, "tool_start")).toHaveLength(2);
        const ends = find(events, "tool_end").toSorted((one, other) => (one.call_id! < other.call_id! ? 1 : -1));
        expect(ends).toMatchObject([
          { call_id: "call-Oslo", is_error: false },
          { call_id: "call-Bergen", is_error: false },
        ]);
        expect(ends.map(({ result }) => JSON.parse(result) as unknown)).toEqual([
          { city: "Oslo", degrees: -3 },
          { city: "Bergen", degrees: -3 },
        ]);
        expect(find(events, "reply")).toMatchObject([{ reply: "It is cold." }]);
      });

      it.skipIf(lacks.includes("argumentPieces"))("records arguments as they stream", async () => {
        const log = new MemoryLog();
        await (
          await start(log, { turns: [WEATHER, COLD] })
        ).ended;
        const pieces = find(await readEvents(log), "tool_call_chunk");
        expect(pieces.length).toBeGreaterThan(1);
        expect(JSON.parse(pieces.map(({ arguments_delta }) => arguments_delta).join(""))).toEqual({ city: "Oslo" });
      });

      it("records the error of a tool, and the run goes on", async () => {
        const log = new MemoryLog();
        const run = await start(log, { turns: [WEATHER, COLD], toolError: "no such city" });
        await expect(run.ended).resolves.toMatchObject({ status: "completed" });
        expect(find(await readEvents(log), "tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: true }]);
      });

      it("gives the conversation back, calls included", async () => {
        const log = new MemoryLog();
        await (
          await start(log, { turns: [WEATHER, COLD] })
        ).ended;
        const { messages } = await conversation(log, SESSION);
        expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
      });
    });

    describe.skipIf(lacks.includes("approvals"))("approvals", () => {
      const script = { turns: [WEATHER, COLD], needsApproval: true };

      it.each(["approved", "rejected"] as const)(
        "an approval that is %s goes back to the framework",
        async (decision) => {
          const log = new MemoryLog();
          const ran: JsonObject[] = [];
          const agent = serve({ ...script, onTool: (input) => void ran.push(input) });
          await using session = await agent.openSession(log, SESSION);
          const run = await agent.answer(session, QUESTION, { runId: "run-1" });
          await waitFor(log, "tool_approval");
          expect(ran).toEqual([]);
          await sendCommand(log, {
            commandId: "answer",
            sessionId: SESSION,
            kind: "approve",
            body: { run_id: "run-1", call_id: "call-Oslo", decision },
          });
          await expect(run.ended).resolves.toMatchObject({ status: "completed" });
          expect(ran).toEqual(decision === "approved" ? [{ city: "Oslo" }] : []);
          const events = await readEvents(log);
          expect(find(events, "tool_end")).toMatchObject([{ call_id: "call-Oslo", is_error: decision === "rejected" }]);
          expect(find(events, "reply")).toMatchObject([{ reply: "It is cold." }]);
        },
      );
    });

    it("fails the run when the model fails, without the text of the error", async () => {
      const log = new MemoryLog();
      const run = await start(log, { turns: [{ text: ["Hm"], error: "key sk-123 is wrong" }] });
      await expect(run.ended).resolves.toMatchObject({ status: "error" });
      expect(JSON.stringify(await readEvents(log))).not.toContain("sk-123");
    });

    it("stops the model when the run is cancelled from another process", async () => {
      const log = new MemoryLog();
      let signal: AbortSignal | undefined;
      const agent = foreignAgent((_message, context) => {
        ({ signal } = context);
        return create({ turns: [{ text: ["Hm"], hangs: true }] }, context);
      });
      await using session = await agent.openSession(log, SESSION);
      const run = await agent.answer(session, QUESTION, { runId: "run-1" });
      await waitFor(log, "message_chunk");
      await sendCommand(log, { commandId: "stop", sessionId: SESSION, kind: "cancel", body: { run_id: "run-1" } });
      await expect(run.ended).resolves.toMatchObject({ status: "cancelled" });
      expect(signal?.aborted).toBe(true);
      expect(textOf(await readEvents(log))).toBe("Hm");
    });

    it.skipIf(lacks.includes("backPressure"))(
      "reads no further while the log is behind",
      async () => {
        const pieces = 4000;
        let sent = 0;
        const appended = Promise.withResolvers<void>();
        const slow = overrideLog(new MemoryLog(), (log) => ({
          async append(batch) {
            const result = await log.append(batch);
            if (result.lastId > 1) await appended.promise;
            return result;
          },
        }));
        const text = Array.from({ length: pieces }, () => "x".repeat(1000));
        const run = await start(slow, { turns: [{ text }], onPiece: () => void sent++ });
        await setTimeout(200);
        // The backlog of the session has 1 MiB; frameworks buffer some pieces too.
        expect(sent).toBeLessThan(pieces / 2);
        appended.resolve();
        await run.ended;
        expect(sent).toBe(pieces);
      },
      60_000,
    );

    it("answers again when the process dies in the middle of the answer", async () => {
      const log = new MemoryLog();
      const dying = serve({ turns: [{ text: ["It is "], hangs: true }] });
      const first = await dying.openSession(log, SESSION);
      const dead = await dying.answer(first, QUESTION, { runId: "run-1" });
      dead.ended.catch(() => undefined);
      await waitFor(log, "message_chunk");
      await log.release(await log.acquire(SESSION, { holder: "other", ttlMs: 1, takeover: true }));
      const second = serve({ turns: [COLD] });
      await using session = await second.openSession(log, SESSION);
      await session.idle();
      const events = await readEvents(log);
      expect(find(events, "error")).toMatchObject([{ code: "interrupted", attempt: 2 }]);
      expect(find(events, "reply")).toMatchObject([{ reply: "It is cold." }]);
    });

    it("ends a recorded run as interrupted when its process dies", async () => {
      const log = new MemoryLog();
      const run = await start(log, { turns: [{ text: ["It is "], hangs: true }] });
      run.ended.catch(() => undefined);
      await waitFor(log, "message_chunk");
      await log.release(await log.acquire(SESSION, { holder: "other", ttlMs: 1, takeover: true }));
      await (await openSession(log, SESSION)).close();
      const [info] = await log.listRuns(SESSION);
      expect(info).toMatchObject({ status: "error", code: "interrupted" });
    });
  });
}

/** Reads all events of the session, and checks that they follow the rules of the protocol. */
export async function readEvents(log: Log): Promise<readonly AnyEvent[]> {
  const verifier = new Verifier();
  const events: AnyEvent[] = [];
  for (let after = 0; ;) {
    const page = await log.read(SESSION, { after });
    if (page.isEmpty) break;
    after = page.lastId;
    for (const record of page.records) {
      events.push(record.event);
      expect(verifier.check(record)).toEqual([]);
    }
  }
  return events;
}

export async function waitFor(log: Log, type: EventType): Promise<void> {
  for (;;) {
    const page = await log.read(SESSION, { after: 0 });
    if (page.records.some(({ event }) => event.type === type)) return;
    await setTimeout(5);
  }
}

function find<T extends EventType>(events: readonly AnyEvent[], type: T): readonly EventOf<T>[] {
  return events.filter((event) => isKnownEvent(event) && event.type === type) as unknown as readonly EventOf<T>[];
}

function textOf(events: readonly AnyEvent[]): string {
  return find(events, "message_chunk")
    .map(({ content }) => content)
    .join("");
}
