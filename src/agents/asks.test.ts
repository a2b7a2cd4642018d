// Calls that come together: they take turns, and none waits for itself.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectNothingLeft, failureOf, setFacade } from "../../test/agents/facade-stage.ts";
import { openSession } from "../engine/index.ts";
import type { Script, ScriptedRequest } from "../models/scripted-model.ts";
import type { LoomError } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { AgentOptions } from "./agent.ts";
import type { AskOptions } from "./ask.ts";

const SESSION = "chat-1";

describe("calls behind another of their session", () => {
  /** Questions that nobody answered stand before it in the same message. */
  const asked = ({ prompt }: ScriptedRequest): string => {
    const last = prompt.at(-1);
    const said = last?.role === "user" ? last.content.at(-1) : undefined;
    return said?.type === "text" ? said.text.slice(0, 20) : "";
  };

  /** The first holds the session until it is let go; what was asked is kept. */
  async function setLine(options: Partial<AgentOptions> = {}) {
    const { promise: until, resolve: letGo } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: here } = Promise.withResolvers<void>();
    const heard: string[] = [];
    const script: Script = (request, turn) => {
      heard.push(asked(request));
      here();
      return turn === 0 ? { text: "First.", until } : { text: "Later." };
    };
    const stage = await setFacade(script, { tools: [], ...options });
    const first = stage.agent.run("Go", { sessionId: SESSION }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await arrived;
    return { ...stage, stage, first, heard, letGo };
  }

  it("wait in memory: in order, however many and however long, and nothing of them is in the log", async () => {
    const { agent, log, heard, letGo } = await setLine();
    const words = Array.from({ length: 150 }, (_, n) => `${n} `);
    const going = words.map((word, n) => agent.run(word + "x".repeat(n === 7 ? 100_000 : 0), { sessionId: SESSION }));
    await new Promise(setImmediate);
    expect(await log.listPending(SESSION)).toEqual([]);
    expect(await log.listRuns(SESSION)).toHaveLength(1);
    letGo();
    await Promise.all(going);
    expect(heard.slice(1).map((text) => Number.parseInt(text, 10))).toEqual(words.map(Number));
    await expectNothingLeft(log);
  });

  it("are refused, or go first, as they say", async () => {
    const { agent, log, first, heard } = await setLine();
    const ask = (word: string, whenBusy: AskOptions["whenBusy"]) => agent.run(word, { sessionId: SESSION, whenBusy });
    const waiting = ask("waits", "enqueue");
    expect(await failureOf(ask("no", "reject"))).toMatchObject({ code: "run_live", details: { session_id: SESSION } });
    const hurried = [failureOf(ask("hurries", "interrupt")), ask("hurries more", "interrupt")] as const;
    expect(await first).toMatchObject({ code: "cancelled", message: "interrupted by a new message" });
    expect(await hurried[0]).toMatchObject({ code: "cancelled" });
    await Promise.all([hurried[1], waiting]);
    expect(heard).toEqual(["Go", "hurries more", "waits"]);
    expect(await ask("again", "reject")).toMatchObject({ reply: "Later." });
    await expectNothingLeft(log);
  });

  it("are told when the session passes to another writer, and are answered by nobody", async () => {
    const { agent, log, stage, first } = await setLine();
    const behind = [
      failureOf(agent.run("b", { sessionId: SESSION })),
      failureOf(agent.run("c", { sessionId: SESSION })),
    ];
    await new Promise(setImmediate);
    const other = await openSession(log, SESSION, { takeover: true });
    for (const error of [await first, ...(await Promise.all(behind))]) expect(error).toMatchObject({ code: "fenced" });
    await other.close();
    await using served = await stage.agent.openSession(log, SESSION);
    await served.idle();
    expect(await log.listRuns(SESSION)).toHaveLength(1);
  });

  it("can leave, and the agent can be closed, after the log was", async () => {
    const { agent, log, first } = await setLine();
    const aborter = new AbortController();
    const left = failureOf(agent.run("b", { sessionId: SESSION, signal: aborter.signal }));
    const closed = failureOf(agent.run("c", { sessionId: SESSION }));
    await new Promise(setImmediate);
    await log.close();
    aborter.abort();
    expect(await left).toMatchObject({ code: "cancelled" });
    await agent.close();
    expect(await closed).toMatchObject({ code: "cancelled", message: "the agent was closed" });
    expect(await first).toMatchObject({ code: "store_closed" });
  });
});

describe("a call from inside a run", () => {
  /** A tool that calls the agent again; what came of it is the tool's result. */
  async function callInside(sessionId: string, from: "tool" | "approve" = "tool") {
    const told: unknown[] = [];
    const again = async (): Promise<boolean> => {
      const asking = actor.run("Inside", { sessionId });
      told.push(
        await asking.then(
          ({ reply }) => reply,
          (error: unknown) => (error as LoomError).code,
        ),
      );
      return true;
    };
    const tool = defineTool({
      name: "again",
      description: "Asks again.",
      input: z.object({}),
      ...(from === "approve" ? { approval: "always" as const } : {}),
      execute: async () => (from === "tool" ? `${await again()}` : "done"),
    });
    const script: Script = ({ prompt }) =>
      JSON.stringify(prompt.at(-1)).includes("Outside") ? { calls: [{ name: "again", input: {} }] } : { text: "Done." };
    const { agent: actor, log } = await setFacade(script, { tools: [tool], approve: again });
    const { reply } = await actor.run("Outside", { sessionId: SESSION });
    await expectNothingLeft(log);
    return [reply, ...told];
  }

  it("is refused where it would wait for itself", async () => {
    expect(await callInside(SESSION)).toEqual(["Done.", "run_live"]);
    expect(await callInside(SESSION, "approve")).toEqual(["Done.", "run_live"]);
  });

  it("is answered in another session", async () => {
    expect(await callInside("other")).toEqual(["Done.", "Done."]);
    expect(await callInside("other", "approve")).toEqual(["Done.", "Done."]);
  });

  it("is none once the run is over, or where the run does not wait for it", async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const later: Promise<unknown>[] = [];
    const ask = (): Promise<unknown> => actor.run("Later", { sessionId: SESSION });
    const tool = defineTool({
      name: "later",
      description: "Asks later.",
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
    const { agent: actor } = await setFacade(script, { tools: [tool], callbacks: [{ onEvent }] });
    await actor.run("Go", { sessionId: SESSION });
    end();
    await actor.flush();
    expect(later).toHaveLength(2);
    expect(await Promise.all(later)).toMatchObject([{ reply: "Done." }, { reply: "Done." }]);
  });
});
