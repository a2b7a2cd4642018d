// Strategy settings of a message: stored in its run, used by the process that takes the run over, refused above a cap.
import { describe, expect, it, onTestFinished } from "vitest";
import { playTree, readPrompt, type ScriptedTree } from "../../../test/contracts/tree-script.ts";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { agent } from "../../agents/index.ts";
import { startLoomServer } from "../index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { OfflineModel } from "../../models/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import {
  createStore,
  runIdOf,
  startProcess,
  until,
  untilEnded,
} from "../../../test/contracts/run-dispatcher-fixture.ts";

const world: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0.3 } } },
  b: { score: 0.8, next: { b1: { score: 0.5, next: { done: { score: 1, solved: true } } } } },
  c: { score: 0.7, next: { c1: { score: 0.4 } } },
};
const TOT = { kind: "tot", tools: [] } as const;

function proposals(requests: ScriptedModel["requests"]): readonly string[] {
  return requests
    .map((request) => readPrompt(request))
    .flatMap(({ kind, steps }) => (kind === "propose" ? [steps.join()] : []));
}

describe("the strategy settings of a message", () => {
  it("apply to its run only, and are stored in it", async () => {
    const { say, model, log } = startProcess(new MemoryLog(), { agent: TOT, play: (asked) => playTree(world, asked) });
    const strategy = { beam: 1, depth: 2 };
    await untilEnded(log, "s", runIdOf(await say("s", "Which way?", { strategy })));
    expect(proposals(model.requests)).toEqual(["", "a"]);
    const { records } = await log.read("s", { after: 0, limit: 1 });
    expect(records[0]?.event).toMatchObject({ type: "run_start", strategy });
    await untilEnded(log, "s", runIdOf(await say("s", "Which way?")));
    expect(proposals(model.requests).slice(2)).toEqual(["", "a", "b", "c", "b,b1", "c,c1", "a,a1"]);
  });

  it("apply in the process that takes the run over", async () => {
    const open = createStore("memory");
    const held = Promise.withResolvers<never>();
    let isHeld = false;
    const one = startProcess(await open(), {
      agent: TOT,
      beginMs: 0,
      play: (asked) => {
        if (readPrompt(asked).steps.length === 0 || readPrompt(asked).kind === "value") return playTree(world, asked);
        isHeld = true;
        return held.promise;
      },
    });
    const runId = runIdOf(await one.say("s", "Which way?", { strategy: { beam: 2, depth: 2 } }));
    await until(() => isHeld);
    one.kill();
    const two = startProcess(await open(() => 60_000), { agent: TOT, play: (asked) => playTree(world, asked) });
    await two.dispatcher.dispatch("s");
    expect((await untilEnded(two.log, "s", runId)).status).toBe("completed");
    expect(proposals(two.model.requests)).toEqual(["a", "b"]);
  });
});

describe("the socket of 004", () => {
  it("passes the settings of a message, and reports a misspelled field while the message runs", async () => {
    const model = new ScriptedModel((asked) => playTree(world, asked));
    const server = await startLoomServer({
      port: 0,
      log: new MemoryLog(),
      agents: { deep: agent({ ...TOT, model }) },
      onError: () => undefined,
    });
    onTestFinished(() => server.close());
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/agentOS/v1/ws_stream`);
    const talk = async (message: object): Promise<readonly JsonObject[]> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const frames: JsonObject[] = [];
      const show = ({ data }: MessageEvent): void => {
        const frame = JSON.parse(String(data)) as JsonObject;
        frames.push(frame);
        if (frame["content"] === "[DONE]") resolve();
      };
      socket.addEventListener("message", show);
      socket.send(JSON.stringify(message));
      await promise;
      socket.removeEventListener("message", show);
      return frames;
    };
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const told = await talk({ content: "Which way?", strategy: { beam: 1, depth: 2 }, sesion_id: "s" });
    expect(proposals(model.requests)).toEqual(["", "a"]);
    expect(
      told.flatMap(({ type, code, error, detail }) => (type === "error" ? [[code, detail ?? error]] : [])),
    ).toEqual([["UNKNOWN_FIELD", "Ignored the unknown field `sesion_id`; did you mean `session_id`?"]]);
    const refused = await talk({ content: "Which way?", strategy: { beam: 99 } });
    expect(refused).toContainEqual(
      expect.objectContaining({ type: "error", status: "refused", code: "INVALID_COMMAND" }),
    );
    socket.close();
  });
});

describe("the endpoints", () => {
  it("list what a message may choose, and refuse other values with the reason", async () => {
    const model = new OfflineModel();
    const { ask } = await createServerFixture({
      agents: {
        quick: agent({ model }),
        deep: { agent: agent({ kind: "tot", model, beam: 3 }), strategyCaps: { beam: 4 } },
      },
    });
    const { agents } = (await ask("GET", "/v1/agents")) as unknown as { agents: { settings?: object[] }[] };
    expect(agents[0]?.settings).toBeUndefined();
    expect(agents[1]?.settings).toContainEqual(expect.objectContaining({ name: "beam", value: 3, least: 1, most: 4 }));
    const refuse = (strategy: object, name = "deep") =>
      ask("POST", "/v1/runs", { message: "Hi", agent: name, strategy }, { status: 400 });
    expect(await refuse({ beam: 5 })).toMatchObject({
      code: "invalid_command",
      detail: "`strategy.beam` is 5; this server allows at most 4 (its cap `tot.beam`)",
    });
    expect(await refuse({ beam: 1 }, "quick")).toMatchObject({
      detail: 'The agent "quick" has no strategy settings; send no `strategy`',
    });
    expect(await refuse({ layers: 1 })).toMatchObject({ code: "invalid_command" });
    expect(await refuse({ beam: "wide" })).toMatchObject({
      code: "invalid_request",
      details: { path: "strategy.beam" },
    });
  });
});
