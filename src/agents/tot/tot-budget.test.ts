// Budgets, concurrency and cost of a search.
import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture, type AgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { forkSession, listCheckpoints, MemoryLog } from "../../log/index.ts";
import type { AgentOptions } from "../index.ts";
import { readPrompt, rebuildTree } from "../../../test/contracts/tree-script.ts";
import { LONG } from "../../../test/sampling.ts";
import { isAnswerChannel } from "../../protocol/record.ts";

const SIZES = LONG ? { small: 2000, large: 15_000 } : { small: 500, large: 2000 };

/** Endless steps of equal value. */
function playEndless(request: ScriptedRequest): ScriptedTurn {
  const { kind } = readPrompt(request);
  if (kind === "propose") return { text: "left\nmiddle\nright" };
  if (kind === "value") return { text: '{"score": 0.5, "solved": false}' };
  return { text: kind === "answer" ? "That is all." : "step" };
}

type Options = Omit<Extract<AgentOptions, { readonly kind: "tot" }>, "kind">;

function setTot(play: (request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>, options: Options) {
  return createAgentFixture(play, { kind: "tot", tools: [], ...options });
}

async function finish(fixture: AgentFixture) {
  const end = await (await fixture.ask("Which way?")).ended;
  const records = await fixture.read();
  return { end, records, errors: eventsOf(records, "error") };
}

describe("the budget of a search", () => {
  it("of thoughts ends it with the best so far", async () => {
    const { end, records, errors } = await finish(await setTot(playEndless, { maxThoughts: 20, maxDepth: 50 }));
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "budget_spent", stage: "iteration_limit", recoverable: true }]);
    expect(errors[0]?.message).toContain("20 thoughts");
    expect(rebuildTree(records).thoughts.size).toBe(20);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("That is all.");
  });

  it("of thoughts may be smaller than the frontier", async () => {
    const { records, errors } = await finish(await setTot(playEndless, { maxThoughts: 5, maxDepth: 50 }));
    expect(rebuildTree(records).thoughts.size).toBe(5);
    expect(errors).toHaveLength(1);
  });

  it("of tokens ends it, and no further call is started", async () => {
    const usage = { totalTokens: 100 };
    const fixture = await setTot((request) => ({ ...playEndless(request), usage }), {
      maxTokens: 250,
      maxDepth: 50,
      concurrency: 1,
    });
    const { end, records, errors } = await finish(fixture);
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "budget_spent" }]);
    expect(errors[0]?.message).toContain("250 tokens");
    expect(eventsOf(records, "tot_evaluate")).toMatchObject([
      { ids: ["1", "2", "3"], scores: [0.5, 0.5, 0.5], kept: ["1", "2"], unrated: ["3"] },
    ]);
    expect(rebuildTree(records).thoughts.get("3")).toMatchObject({ score: undefined, status: "open" });
    // Three calls, and the answer.
    expect(fixture.model.requests).toHaveLength(4);
  });

  it("of time ends it", async () => {
    let now = 1_700_000_000_000;
    const fixture = await createAgentFixture(
      (request) => {
        now += 1000;
        return playEndless(request);
      },
      { kind: "tot", tools: [], maxMs: 6000, maxDepth: 50, session: { now: () => now } },
    );
    const { end, errors } = await finish(fixture);
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "budget_spent" }]);
    expect(errors[0]?.message).toContain("6000 ms");
    expect(fixture.model.requests.length).toBeLessThan(20);
  });

  it("of time counts from a fork", async () => {
    let now = 1_700_000_000_000;
    const log = new MemoryLog();
    const options = {
      kind: "tot",
      tools: [],
      maxMs: 60_000,
      maxThoughts: 6,
      log,
      session: { now: () => now },
    } as const;
    const first = await createAgentFixture(playEndless, options);
    await finish(first);
    const { sessionId } = first.session;
    const checkpointId = (await listCheckpoints(log, sessionId)).at(-1)?.checkpointId ?? "";
    await first.session.close();
    await forkSession(log, { from: sessionId, checkpointId, to: "fork" });
    // The fixture opens a session with the ID of the first one.
    await log.deleteSession(sessionId);
    await forkSession(log, { from: "fork", checkpointId, to: sessionId });
    now += 3_600_000;
    const second = await createAgentFixture(playEndless, options);
    await second.session.idle();
    const errors = eventsOf(await second.read(), "error");
    expect(errors.map(({ message }) => message).join()).not.toContain("60000 ms");
    expect(second.model.requests.map((request) => readPrompt(request).kind)).toContain("propose");
  });

  it("of backtracks ends it", async () => {
    const play = (request: ScriptedRequest): ScriptedTurn => {
      const { kind, steps } = readPrompt(request);
      if (kind === "value") return { text: JSON.stringify({ score: steps.length === 1 ? 0.5 : 0 }) };
      return playEndless(request);
    };
    for (const strategy of ["breadth", "depth"] as const) {
      const { end, records, errors } = await finish(await setTot(play, { strategy, beam: 1, maxBacktracks: 1 }));
      expect(end.status).toBe("completed");
      expect(eventsOf(records, "tot_backtrack").filter(({ code }) => code !== "best_so_far")).toHaveLength(1);
      expect(errors).toMatchObject([{ code: "budget_spent" }]);
      expect(errors[0]?.message).toContain("1 backtracks");
    }
  });
});

describe("a spent budget", () => {
  const tell = (fixture: AgentFixture): string => readPrompt(fixture.model.requests.at(-1)!).text;

  it("is not reported if the search was over anyway, or if backtracking is off", async () => {
    const flat = (request: ScriptedRequest): ScriptedTurn =>
      readPrompt(request).steps.length > 0 && readPrompt(request).kind === "propose"
        ? { text: "none" }
        : playEndless(request);
    for (const [play, options] of [
      [playEndless, { maxThoughts: 3, candidates: 3, maxDepth: 1 }],
      [playEndless, { maxThoughts: 12, candidates: 3, maxDepth: 2 }],
      [flat, { beam: 1, maxBacktracks: 0 }],
    ] as const) {
      const { end, errors } = await finish(await setTot(play, options));
      expect([end.status, errors]).toEqual(["completed", []]);
    }
  });

  it("does not turn unrated thoughts into dead ends", async () => {
    const usage = { totalTokens: 100 };
    const fixture = await setTot((request) => ({ ...playEndless(request), usage }), { maxTokens: 50 });
    const { errors } = await finish(fixture);
    expect(errors).toMatchObject([{ code: "budget_spent" }]);
    expect(tell(fixture)).toContain("without a complete answer");
    expect(tell(fixture)).not.toContain("dead end");
  });

  it("starts no tool, except for a thought that solves the question", async () => {
    for (const isSolved of [false, true]) {
      const fixture = await createAgentFixture(
        (request) => {
          const { kind } = readPrompt(request);
          const usage = { totalTokens: 100 };
          if (kind === "sample") return { text: "sum", calls: [{ name: "add", input: { a: 1, b: 2 } }], usage };
          return { text: kind === "value" ? `{"score": 1, "solved": ${isSolved}}` : "Done.", usage };
        },
        { kind: "tot", generate: "sample", candidates: 1, maxTokens: 150 },
      );
      expect((await finish(fixture)).end.status).toBe("completed");
      expect(fixture.ran).toHaveLength(isSolved ? 1 : 0);
    }
  });

  it("counts ratings from before a crash", async () => {
    let now = 1_700_000_000_000;
    const log = new MemoryLog();
    const open = (isStalled: boolean) =>
      createAgentFixture(
        (request) => {
          const { kind, steps } = readPrompt(request);
          const turn = playEndless(request);
          if (kind !== "value") return turn;
          if (steps[0] === "right" && isStalled) return { fault: { kind: "stall" } };
          return { text: `{"score": 0.5, "solved": ${steps[0] === "middle"}}` };
        },
        { kind: "tot", tools: [], maxMs: 60_000, concurrency: 1, log, session: { now: () => now } },
      );
    const first = await open(true);
    const judged = first.wait("updates", ({ state }) => JSON.stringify(state).includes('"isSolved":true'));
    await first.ask("Which way?");
    await judged;
    await first.session.close({ run: "leave" });
    now += 3_600_000;
    const second = await open(false);
    await second.session.idle();
    const records = await second.read();
    expect(eventsOf(records, "run_end")).toMatchObject([{ status: "completed" }]);
    expect(eventsOf(records, "error")).toMatchObject([{ code: "interrupted", attempt: 2 }]);
    expect(rebuildTree(records).path).toEqual(["2"]);
    // Only the answer.
    expect(second.model.requests.map((request) => readPrompt(request).kind)).toEqual(["answer"]);
  });
});

describe("calls of a search", () => {
  /** Holds every call until this many are running, or no more arrive. */
  function createGate() {
    let going = 0;
    let most = 0;
    return {
      get most() {
        return most;
      },
      async pass(turn: ScriptedTurn): Promise<ScriptedTurn> {
        most = Math.max(most, ++going);
        await new Promise((resolve) => setTimeout(resolve, 5));
        going--;
        return turn;
      },
    };
  }

  it.each([1, 2, 3, 8])("run in parallel, %i at a time", async (concurrency) => {
    for (const generate of ["propose", "sample"] as const) {
      const gate = createGate();
      const play = (request: ScriptedRequest): Promise<ScriptedTurn> => {
        const { kind } = readPrompt(request);
        return gate.pass(kind === "sample" ? { text: `step ${request.seed}` } : playEndless(request));
      };
      const { end } = await finish(await setTot(play, { concurrency, generate, candidates: 4, maxDepth: 2 }));
      expect(end.status).toBe("completed");
      expect(gate.most).toBe(concurrency);
    }
  });

  it("are all closed when the run is cancelled, at any point", async () => {
    for (const kind of ["propose", "value", "answer"] as const) {
      const fixture = await setTot(
        (request) => {
          const turn = playEndless(request);
          return readPrompt(request).kind === kind ? { ...turn, fault: { kind: "stall", after: 1 } } : turn;
        },
        { maxDepth: 2 },
      );
      const said = fixture.wait("message_chunk", ({ channel }) => kind !== "answer" || isAnswerChannel(channel));
      const run = await fixture.ask("Which way?");
      await said;
      await run.cancel("enough");
      const records = await fixture.read();
      expect(eventsOf(records, "run_end")).toMatchObject([{ status: "cancelled" }]);
      expect(eventsOf(records, "node_enter")).toHaveLength(eventsOf(records, "node_exit").length);
      expect(eventsOf(records, "llm_start")).toHaveLength(eventsOf(records, "llm_end").length);
      for (const { abortSignal } of fixture.model.requests.slice(-1)) expect(abortSignal?.aborted).toBe(true);
      expect(eventsOf(records, "message_chunk").some(({ content }) => content !== "")).toBe(true);
    }
  });
});

describe("a large tree", () => {
  it.runIf(LONG)("stores and prompts as much per thought as a small one", async () => {
    const lines = Array.from({ length: 25 }, (_, index) => `step ${index}`).join("\n");
    // Everything is a dead end at the third level, so the search backtracks again and again.
    const play = (request: ScriptedRequest): ScriptedTurn => {
      const { kind, steps } = readPrompt(request);
      if (kind === "propose") return { text: lines, chunk: 1000 };
      if (kind === "value") return { text: JSON.stringify({ score: steps.length < 3 ? 0.5 : 0 }), chunk: 1000 };
      return { text: "That is all." };
    };
    const measure = async (maxThoughts: number): Promise<number> => {
      const fixture = await setTot(play, { candidates: 25, maxThoughts, maxBacktracks: 10_000 });
      const { end, records } = await finish(fixture);
      expect(end.status).toBe("completed");
      const characters = JSON.stringify(records).length + JSON.stringify(fixture.model.prompts).length;
      return characters / maxThoughts;
    };
    expect(await measure(SIZES.large)).toBeLessThan((await measure(SIZES.small)) * 1.1);
  });
});
