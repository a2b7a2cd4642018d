// Approval requests under `run` and `stream`: `approve` answers them or they are rejected; none stays open forever.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { collect, expectNothingLeft, failureOf, createFacadeFixture } from "../../test/agents/facade-fixture.ts";
import { openSession, sendCommand } from "../engine/index.ts";
import { createLog, waitUntil } from "../../test/contracts/sender.ts";
import type { Log } from "../log/index.ts";
import type { Script } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { JsonObject } from "../protocol/index.ts";
import { agent as createAgent } from "./agent.ts";
import type { ApprovalQuestion, Approve } from "./answer-approval.ts";

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

describe("approval", () => {
  it("is rejected without approve, and the model and the caller learn why", async () => {
    const { agent, ran, model, log } = await createFacadeFixture(removes);
    const { reply, errors } = await agent.run("Remove /a");
    expect(reply).toBe("Done.");
    expect(errors).toEqual([
      {
        code: "approval_unavailable",
        stage: "tool_execute",
        message: expect.stringMatching(
          /^The tool remove needs approval and was not run\. Set the option `approve`/,
        ) as string,
      },
    ]);
    expect(ran).toEqual([]);
    const seen = JSON.stringify(model.prompts[1]);
    expect(seen).toContain("needs approval, which is not available here");
    expect(seen).not.toContain("The user rejected");
    await expectNothingLeft(log);
  });

  it.each<[string, Approve, readonly unknown[], string]>([
    ["a yes", () => true, [["remove", { path: "/a" }]], "removed /a"],
    ["approved later", async () => ({ approved: true }), [["remove", { path: "/a" }]], "removed /a"],
    [
      "approved with other arguments",
      () => ({ approved: true, arguments: { path: "/b" } }),
      [["remove", { path: "/b" }]],
      "removed /b",
    ],
    ["a no", () => false, [], "rejected this call"],
    ["rejected with a reason", () => ({ approved: false, reason: "it is needed" }), [], "it is needed"],
    ["neither approved nor rejected", () => "yes" as unknown as boolean, [], "rejected this call"],
    [
      "approved, with the arguments of the request changed meanwhile",
      (question) => {
        (question.arguments as { path: string }).path = "/b";
        return true;
      },
      [["remove", { path: "/a" }]],
      "removed /a",
    ],
    // Values that are not an object, or that cannot be written, are not an approval.
    ["approved with an array", () => yesTo([{ path: "/b" }]), [], "The request for approval failed"],
    ["approved with a string", () => yesTo("/b"), [], "The request for approval failed"],
    ["approved with null", () => yesTo(null), [], "The request for approval failed"],
    [
      "approved with a value that JSON cannot express",
      () => yesTo({ path: "/b", count: 1n }),
      [],
      "The request for approval failed",
    ],
    ["approved with a function", () => yesTo({ path: () => "/b" }), [], "The request for approval failed"],
    ["approved with a circular object", () => yesTo(createRing()), [], "The request for approval failed"],
    [
      "approved with arguments that are too large",
      () => yesTo({ path: "x".repeat(2_000_000) }),
      [],
      "The request for approval failed",
    ],
    [
      "rejected with a reason that is too long",
      () => ({ approved: false, reason: "x".repeat(2_000_000) }),
      [],
      "The request for approval failed",
    ],
  ])("is decided by approve: %s", async (_, approve, expected, told) => {
    const { agent, ran, model } = await createFacadeFixture(removes, { approve, onError: () => undefined });
    const { events } = await collect(agent.stream("Remove /a"));
    expect(events.at(-1)).toMatchObject({ type: "agent_finish", content: "Done." });
    expect(ran).toEqual(expected);
    expect(JSON.stringify(model.prompts[1])).toContain(told);
  });

  it("is requested with the arguments, and the option of the call comes before that of the agent", async () => {
    const asked: ApprovalQuestion[] = [];
    const { agent } = await createFacadeFixture(removes, { approve: () => false });
    const approve: Approve = (question) => {
      asked.push(question);
      return true;
    };
    const { runId } = await agent.run("Remove /a", { sessionId: SESSION, requestId: "r1", approve });
    expect(asked).toMatchObject([
      { sessionId: SESSION, runId, requestId: "r1", callId: "c1", name: "remove", arguments: { path: "/a" } },
    ]);
  });

  it("fails if approve throws: reported, in `errors`, and not as a decision of the user", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const broken = new Error("the program broke");
    const approve = (): never => {
      throw broken;
    };
    const { agent, ran, model, log } = await createFacadeFixture(removes, { approve, onError });
    expect(await agent.run("Remove /a", { sessionId: SESSION })).toMatchObject({
      reply: "Done.",
      errors: [
        { code: "approval_failed", stage: "tool_execute", message: expect.stringContaining("remove") as string },
      ],
    });
    expect([ran, onError.mock.calls.map(([error]) => error)]).toEqual([[], [broken]]);
    const seen = JSON.stringify(model.prompts[1]);
    expect(seen).toContain("The request for approval failed because of an error");
    expect(seen).not.toContain("The user rejected");
    const { records } = await log.read(SESSION, { after: 0 });
    expect(records.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: "tool_end", call_id: "c1", error_code: "approval_failed" }),
    );
    await expectNothingLeft(log);
  });

  it("that fails is shown as a process warning if there is no onError", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const broken = new Error("the program broke");
    const { agent } = await createFacadeFixture(removes, { approve: () => Promise.reject(broken) });
    await agent.run("Remove /a");
    expect(warn).toHaveBeenCalledWith(broken);
  });

  it("can be left to other processes, which answer through the log", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const { agent, ran } = await createFacadeFixture(removes, { log, approve: "wait" });
    const pending = agent.run("Remove /a", { sessionId: SESSION });
    await waitUntil(log, async () => (await findRecord(log)) !== undefined, SESSION);
    const body = { run_id: (await findRecord(log))?.runId ?? "", call_id: "c1", decision: "approved" };
    await sendCommand(log, { commandId: "k1", sessionId: SESSION, kind: "approve", body });
    expect(await pending).toMatchObject({ reply: "Done." });
    expect(ran).toEqual([["remove", { path: "/a" }]]);
  });

  it("cannot be left to other processes without a log", async () => {
    await using actor = createAgent({ model: new ScriptedModel(removes), approve: "wait" });
    expect(await failureOf(actor.run("Remove /a"))).toMatchObject({ code: "invalid_command" });
    expect(await failureOf(actor.run("Remove /a", { approve: "wait" }))).toMatchObject({ code: "invalid_command" });
  });

  it("of a run left by another process is not waited for, and the run stays", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const other = await createFacadeFixture(removes);
    const session = await other.agent.openSession(log, SESSION);
    await other.agent.answer(session, "Remove /a");
    await waitUntil(log, async () => (await findRecord(log)) !== undefined, SESSION);
    await session.close();
    const { agent } = await createFacadeFixture([{ text: "Hello." }], { log });
    const refused = await failureOf(agent.run("Hello", { sessionId: SESSION }));
    expect(refused).toMatchObject({ code: "run_live" });
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["live"]);
    expect(await log.listPending(SESSION)).toEqual([]);
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    // With `interrupt`, the call goes ahead.
    expect(await agent.run("Hello", { sessionId: SESSION, whenBusy: "interrupt" })).toMatchObject({ reply: "Hello." });
    await expectNothingLeft(log);
  });

  it("requested by a resumed run does not block later calls", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const { promise: never } = Promise.withResolvers<void>();
    const other = await createFacadeFixture([{ text: "…", until: never }]);
    const session = await openSession(log, SESSION, {});
    void other.agent.answer(session, "Remove /a");
    await waitUntil(log, async () => (await findRecord(log, "llm_start")) !== undefined, SESSION);
    await session.close({ run: "leave" });
    const { agent } = await createFacadeFixture(removes, { log });
    expect(await failureOf(agent.run("Hello", { sessionId: SESSION }))).toMatchObject({ code: "run_live" });
    expect((await log.getSession(SESSION))?.holder).toBeUndefined();
    expect(await log.listPending(SESSION)).toEqual([]);
  });
});
