// What needs the user's consent under `run` and `stream`: a program answers, or nobody does; nothing waits for ever.
import { describe, expect, it, vi } from "vitest";
import { collect, expectNothingLeft, failureOf, setFacade } from "../../test/agents/facade-stage.ts";
import { openSession, sendCommand } from "../engine/index.ts";
import { createLog, waitUntil } from "../engine/sender.contract.ts";
import type { Log } from "../log/index.ts";
import type { Script } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { JsonObject } from "../protocol/index.ts";
import { agent as createAgent } from "./agent.ts";
import type { ApprovalQuestion, Approve } from "./answer-question.ts";

const SESSION = "chat-1";
const removes: Script = [{ calls: [{ name: "remove", input: { path: "/a" }, id: "c1" }] }, { text: "Done." }];

const yesTo = (edited: unknown) => ({ approved: true, arguments: edited as JsonObject });

function createRing(): unknown {
  const ring: { self?: unknown } = {};
  ring.self = ring;
  return ring;
}

async function findRecord(log: Log, type = "tool_approval"): Promise<{ readonly runId: string } | undefined> {
  const { records } = await log.read(SESSION, { after: 0 });
  const found = records.find(({ event }) => event.type === type);
  return found === undefined ? undefined : { runId: found.envelope.run_id ?? "" };
}

describe("consent", () => {
  it("is refused where the program says nothing, and the model is told why", async () => {
    const { agent, ran, model, log } = await setFacade(removes);
    expect(await agent.run("Remove /a")).toMatchObject({ reply: "Done." });
    expect(ran).toEqual([]);
    expect(JSON.stringify(model.prompts[1])).toContain("Nobody can be asked for consent here");
    await expectNothingLeft(log);
  });

  it.each<[string, Approve, readonly unknown[], string]>([
    ["a yes", () => true, [["remove", { path: "/a" }]], "removed /a"],
    ["a yes, later", async () => ({ approved: true }), [["remove", { path: "/a" }]], "removed /a"],
    [
      "a yes to something else",
      () => ({ approved: true, arguments: { path: "/b" } }),
      [["remove", { path: "/b" }]],
      "removed /b",
    ],
    ["a no", () => false, [], "refused this call"],
    ["a no with a reason", () => ({ approved: false, reason: "it is needed" }), [], "it is needed"],
    ["something that is neither", () => "yes" as unknown as boolean, [], "refused this call"],
    [
      "a yes, with the question changed under way",
      (question) => {
        (question.arguments as { path: string }).path = "/b";
        return true;
      },
      [["remove", { path: "/a" }]],
      "removed /a",
    ],
    // What cannot be written, or is no object, is no yes to anything.
    ["a yes to a list", () => yesTo([{ path: "/b" }]), [], "could not be asked for"],
    ["a yes to a text", () => yesTo("/b"), [], "could not be asked for"],
    ["a yes to nothing", () => yesTo(null), [], "could not be asked for"],
    ["a yes to what JSON has no word for", () => yesTo({ path: "/b", count: 1n }), [], "could not be asked for"],
    ["a yes to a function", () => yesTo({ path: () => "/b" }), [], "could not be asked for"],
    ["a yes to a ring", () => yesTo(createRing()), [], "could not be asked for"],
    ["a yes to too much", () => yesTo({ path: "x".repeat(2_000_000) }), [], "could not be asked for"],
    ["a no with too many words", () => ({ approved: false, reason: "x".repeat(2_000_000) }), [], "could not be asked"],
  ])("is given by the program: %s", async (_, approve, expected, told) => {
    const { agent, ran, model } = await setFacade(removes, { approve });
    const { events } = await collect(agent.stream("Remove /a"));
    expect(events.at(-1)).toMatchObject({ type: "agent_finish", content: "Done." });
    expect(ran).toEqual(expected);
    expect(JSON.stringify(model.prompts[1])).toContain(told);
  });

  it("is asked for with what is to be done, and a call's own word comes before the agent's", async () => {
    const asked: ApprovalQuestion[] = [];
    const { agent } = await setFacade(removes, { approve: () => false });
    const approve: Approve = (question) => {
      asked.push(question);
      return true;
    };
    const { runId } = await agent.run("Remove /a", { sessionId: SESSION, requestId: "r1", approve });
    expect(asked).toMatchObject([
      { sessionId: SESSION, runId, requestId: "r1", callId: "c1", name: "remove", arguments: { path: "/a" } },
    ]);
  });

  it("that cannot be asked for is a no, and somebody is told", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const broken = new Error("the program broke");
    const approve = (): never => {
      throw broken;
    };
    const { agent, ran } = await setFacade(removes, { approve, onError });
    expect(await agent.run("Remove /a")).toMatchObject({ reply: "Done." });
    expect([ran, onError.mock.calls.map(([error]) => error)]).toEqual([[], [broken]]);
  });

  it("can be left to others, who answer through the log", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const { agent, ran } = await setFacade(removes, { log, approve: "wait" });
    const going = agent.run("Remove /a", { sessionId: SESSION });
    await waitUntil(log, async () => (await findRecord(log)) !== undefined, SESSION);
    const body = { run_id: (await findRecord(log))?.runId ?? "", call_id: "c1", decision: "approved" };
    await sendCommand(log, { commandId: "k1", sessionId: SESSION, kind: "approve", body });
    expect(await going).toMatchObject({ reply: "Done." });
    expect(ran).toEqual([["remove", { path: "/a" }]]);
  });

  it("cannot be left to others where nobody else can read the log", async () => {
    await using actor = createAgent({ model: new ScriptedModel(removes), approve: "wait" });
    expect(await failureOf(actor.run("Remove /a"))).toMatchObject({ code: "invalid_command" });
    expect(await failureOf(actor.run("Remove /a", { approve: "wait" }))).toMatchObject({ code: "invalid_command" });
  });

  it("is not waited for behind a run that somebody left, and that run is left alone", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const other = await setFacade(removes);
    const session = await other.agent.openSession(log, SESSION);
    await other.agent.answer(session, "Remove /a");
    await waitUntil(log, async () => (await findRecord(log)) !== undefined, SESSION);
    await session.close();
    const { agent } = await setFacade([{ text: "Hello." }], { log });
    const refused = await failureOf(agent.run("Hello", { sessionId: SESSION }));
    expect(refused).toMatchObject({ code: "run_live" });
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["live"]);
    expect(await log.listPending(SESSION)).toEqual([]);
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    // Whoever wants it otherwise says so.
    expect(await agent.run("Hello", { sessionId: SESSION, whenBusy: "interrupt" })).toMatchObject({ reply: "Hello." });
    await expectNothingLeft(log);
  });

  it("asked for by a run that goes on here does not hold up those behind it", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const { promise: never } = Promise.withResolvers<void>();
    const other = await setFacade([{ text: "…", until: never }]);
    const session = await openSession(log, SESSION, {});
    void other.agent.answer(session, "Remove /a");
    await waitUntil(log, async () => (await findRecord(log, "llm_start")) !== undefined, SESSION);
    await session.close({ run: "leave" });
    const { agent } = await setFacade(removes, { log });
    expect(await failureOf(agent.run("Hello", { sessionId: SESSION }))).toMatchObject({ code: "run_live" });
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    expect(await log.listPending(SESSION)).toEqual([]);
  });
});
