// Concurrent calls take turns, and none waits for itself.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectNothingLeft, failureOf, createFacadeFixture } from "../../test/agents/facade-fixture.ts";
import { openSession } from "../engine/index.ts";
import type { Script, ScriptedRequest } from "../models/scripted-model.ts";
import type { LoomError } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { AgentOptions } from "./agent.ts";
import type { AgentCallOptions } from "./agent-call.ts";
import { LONG } from "../../test/sampling.ts";

const SESSION = "chat-1";

describe("calls that wait for another call of their session", () => {
  /** Unanswered questions precede it in the same message. */
  const asked = ({ prompt }: ScriptedRequest): string => {
    const last = prompt.at(-1);
    const said = last?.role === "user" ? last.content.at(-1) : undefined;
    return said?.type === "text" ? said.text.slice(0, 20) : "";
  };

  /** The first call blocks the session until it is released; the prompts are recorded. */
  async function createQueueFixture(options: AgentOptions = {}) {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: here } = Promise.withResolvers<void>();
    const received: string[] = [];
    const script: Script = (request, turn) => {
      received.push(asked(request));
      here();
      return turn === 0 ? { text: "First.", until } : { text: "Later." };
    };
    const fixture = await createFacadeFixture(script, { tools: [], ...options });
    const first = fixture.agent.run("Go", { sessionId: SESSION }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await arrived;
    return { ...fixture, fixture, first, received, release };
  }

  it("wait in memory, in order, without any trace in the log", async () => {
    const { agent, log, received, release } = await createQueueFixture();
    const words = Array.from({ length: 150 }, (_, n) => `${n} `);
    const pending = words.map((word, n) => agent.run(word + "x".repeat(n === 7 ? 100_000 : 0), { sessionId: SESSION }));
    await new Promise(setImmediate);
    expect(await log.listPending(SESSION)).toEqual([]);
    expect(await log.listRuns(SESSION)).toHaveLength(1);
    release();
    await Promise.all(pending);
    expect(received.slice(1).map((text) => Number.parseInt(text, 10))).toEqual(words.map(Number));
    await expectNothingLeft(log);
  });

  it("are rejected or interrupt the first, as requested", async () => {
    const { agent, log, first, received } = await createQueueFixture();
    const ask = (word: string, whenBusy: AgentCallOptions["whenBusy"]) =>
      agent.run(word, { sessionId: SESSION, whenBusy });
    const waiting = ask("waits", "enqueue");
    expect(await failureOf(ask("no", "reject"))).toMatchObject({ code: "run_live", details: { session_id: SESSION } });
    const hurried = [failureOf(ask("hurries", "interrupt")), ask("hurries more", "interrupt")] as const;
    expect(await first).toMatchObject({ code: "cancelled", message: "Interrupted by a new message" });
    expect(await hurried[0]).toMatchObject({ code: "cancelled" });
    await Promise.all([hurried[1], waiting]);
    expect(received).toEqual(["Go", "hurries more", "waits"]);
    expect(await ask("again", "reject")).toMatchObject({ reply: "Later." });
    await expectNothingLeft(log);
  });

  it.runIf(LONG)("fail when another writer takes over the session", async () => {
    const { agent, log, fixture, first } = await createQueueFixture();
    const behind = [
      failureOf(agent.run("b", { sessionId: SESSION })),
      failureOf(agent.run("c", { sessionId: SESSION })),
    ];
    await new Promise(setImmediate);
    const other = await openSession(log, SESSION, { takeover: true });
    for (const error of [await first, ...(await Promise.all(behind))]) expect(error).toMatchObject({ code: "fenced" });
    await other.close();
    await using served = await fixture.agent.openSession(log, SESSION);
    await served.idle();
    expect(await log.listRuns(SESSION)).toHaveLength(1);
  });

  it("can be aborted, and the agent closed, after the log was closed", async () => {
    const { agent, log, first } = await createQueueFixture();
    const aborter = new AbortController();
    const left = failureOf(agent.run("b", { sessionId: SESSION, signal: aborter.signal }));
    const closed = failureOf(agent.run("c", { sessionId: SESSION }));
    await new Promise(setImmediate);
    await log.close();
    aborter.abort();
    expect(await left).toMatchObject({ code: "cancelled" });
    await agent.close();
    expect(await closed).toMatchObject({ code: "cancelled", message: "The agent was closed" });
    expect(await first).toMatchObject({ code: "store_closed" });
  });
});

describe("a call inside a run", () => {
  /** A tool that calls the agent again and returns the outcome. */
  async function callInside(sessionId: string, from: "tool" | "approve" = "tool") {
    const outcomes: unknown[] = [];
    const again = async (): Promise<boolean> => {
      const asking = actor.run("Inside", { sessionId });
      outcomes.push(
        await asking.then(
          ({ reply }) => reply,
          (error: unknown) => (error as LoomError).code,
        ),
      );
      return true;
    };
    const tool = defineTool({
      name: "again",
      description: "Calls the agent again.",
      input: z.object({}),
      ...(from === "approve" ? { approval: "always" as const } : {}),
      execute: async () => (from === "tool" ? `${await again()}` : "done"),
    });
    const script: Script = ({ prompt }) =>
      JSON.stringify(prompt.at(-1)).includes("Outside") ? { calls: [{ name: "again", input: {} }] } : { text: "Done." };
    const { agent: actor, log } = await createFacadeFixture(script, { tools: [tool], approve: again });
    const { reply } = await actor.run("Outside", { sessionId: SESSION });
    await expectNothingLeft(log);
    return [reply, ...outcomes];
  }

  it("is rejected if it would wait for itself", async () => {
    expect(await callInside(SESSION)).toEqual(["Done.", "run_live"]);
    expect(await callInside(SESSION, "approve")).toEqual(["Done.", "run_live"]);
  });

  it("is answered in another session", async () => {
    expect(await callInside("other")).toEqual(["Done.", "Done."]);
    expect(await callInside("other", "approve")).toEqual(["Done.", "Done."]);
  });

  it("is allowed after the run has ended, or if the run does not wait for it", async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const later: Promise<unknown>[] = [];
    const ask = (): Promise<unknown> => actor.run("Later", { sessionId: SESSION });
    const tool = defineTool({
      name: "later",
      description: "Calls the agent later.",
      input: z.object({}),
      execute: () => {
        later.push(over.then(ask));
        return "later";
      },
    });
    let isFirst = true;
    const onEvent = (type: string): void => {
      if (isFirst && type === "tool_result") later.push(ask());
      if (type === "tool_result") isFirst = false;
    };
    const script: Script = (_, turn) => (turn === 0 ? { calls: [{ name: "later", input: {} }] } : { text: "Done." });
    const { agent: actor } = await createFacadeFixture(script, { tools: [tool], callbacks: [{ onEvent }] });
    await actor.run("Go", { sessionId: SESSION });
    end();
    await actor.flush();
    expect(later).toHaveLength(2);
    expect(await Promise.all(later)).toMatchObject([{ reply: "Done." }, { reply: "Done." }]);
  });
});
