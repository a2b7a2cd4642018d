// Tests what parts of a node write and reject. resume-property.test.ts tests that they are done once.
import { describe, expect, it } from "vitest";
import type { EventOf } from "../protocol/index.ts";
import { defineGraph } from "./define-graph.ts";
import { type NodeContext, replace } from "./graph.ts";
import { ofType, perform, tick } from "../../test/contracts/graph-fixture.ts";
import { invokeGraph } from "./run-graph.ts";

const channels = { out: replace<unknown>(null) };

function graphOf(
  work: (node: NodeContext) => unknown,
  { attempts = 1, timeoutMs }: { readonly attempts?: number; readonly timeoutMs?: number } = {},
) {
  const run = async (_: unknown, node: NodeContext) => ({ out: await work(node) });
  const limits = { retry: { attempts, delayMs: 0 }, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  return defineGraph({ name: "parts", channels, nodes: { work: { run, ...limits } }, start: "work", graceMs: 200 });
}

/** Waits until the signal aborts. */
const wait = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
  });

describe("parts", () => {
  it("open a node run if they have a name, and else belong to the node", async () => {
    const { state, records } = await perform(
      graphOf(async ({ once }) => [
        await once("plain", ({ emitWithResult }) => {
          emitWithResult({ type: "custom", value: "concluded" });
          return 1;
        }),
        await once("named", (part) => part.once("inner", () => part.span.name), { name: "thought" }),
      ]),
    );
    expect(state).toEqual({ out: [1, "thought"] });
    const written = records.flatMap(({ envelope, event }) =>
      event.type === "node_enter" || event.type === "updates" || event.type === "custom" || event.type === "node_exit"
        ? [[event.type, envelope.node_id, (event as { checkpoint_ns?: string }).checkpoint_ns]]
        : [],
    );
    expect(written).toEqual([
      ["node_enter", "run-work-1", undefined],
      ["custom", "run-work-1", undefined],
      ["updates", "run-work-1", "work:1.0|plain"],
      ["node_enter", "run-thought-2", undefined],
      ["updates", "run-thought-2", "work:1.0|named|inner"],
      ["updates", "run-thought-2", "work:1.0|named"],
      ["node_exit", "run-thought-2", undefined],
      ["updates", "run-work-1", undefined],
      ["node_exit", "run-work-1", undefined],
    ]);
    expect(ofType(records, "node_enter")[1]).toMatchObject({ parent: "run-work-1" });
  });

  it("run in parallel, each key once", async () => {
    let going = 0;
    let most = 0;
    let worked = 0;
    const work = async () => {
      worked++;
      most = Math.max(most, ++going);
      await tick();
      going--;
      return worked;
    };
    const { state } = await perform(graphOf(({ once }) => Promise.all(["a", "b", "a"].map((key) => once(key, work)))));
    expect(state).toEqual({ out: [2, 2, 2] });
    expect([worked, most]).toEqual([2, 2]);
  });

  it("fail and return the result of `recover`, with their events", async () => {
    const { state, records } = await perform(
      graphOf(({ once }) =>
        once(
          "risky",
          () => {
            throw new Error("secret");
          },
          {
            name: "thought",
            recover: (_, { emitWithResult }) => {
              emitWithResult({ type: "custom", value: "given up" });
              return "instead";
            },
          },
        ),
      ),
    );
    expect(state).toEqual({ out: "instead" });
    const [exit] = ofType(records, "node_exit") as readonly EventOf<"node_exit">[];
    expect(JSON.stringify(exit?.result)).toMatch(/Err.*unexpected/);
    expect(JSON.stringify(records)).not.toContain("secret");
    expect(ofType(records, "custom")).toHaveLength(1);
  });

  it("keep their results when the node is retried, unless they failed", async () => {
    const worked: string[] = [];
    const known: boolean[] = [];
    const { state, records } = await perform(
      graphOf(
        async ({ once, has }) => {
          known.push(has("first"), has("second"));
          const first = await once("first", () => worked.push("first"));
          const second = await once(
            "second",
            () => {
              if (worked.push("second") < 3) throw new Error("not yet");
              return "done";
            },
            { name: "thought" },
          );
          return [first, second];
        },
        { attempts: 3 },
      ),
    );
    expect(state).toEqual({ out: [1, "done"] });
    expect(worked).toEqual(["first", "second", "second"]);
    expect(known).toEqual([false, false, true, false]);
    expect(ofType(records, "node_enter").map((event) => (event as EventOf<"node_enter">).id)).toEqual([
      "work",
      "thought",
      "work",
      "thought",
    ]);
  });

  it("are not retried after they sent answer text", async () => {
    let tries = 0;
    const { error } = await perform(
      graphOf(
        ({ once }) =>
          once(
            "spoken",
            async ({ span }) => {
              tries++;
              await span.write("I begin");
              throw new Error("and break off");
            },
            { name: "answer" },
          ),
        { attempts: 3 },
      ),
    );
    expect(error).toBeDefined();
    expect(tries).toBe(1);
  });

  it("are stopped with the attempt that started them, and started again by the next", async () => {
    const worked: string[] = [];
    const late = graphOf(
      ({ once, signal }) =>
        once("a", async () => {
          if (worked.push("a") === 1) await wait(signal);
          return "in time";
        }),
      { attempts: 2, timeoutMs: 20 },
    );
    expect((await perform(late)).state).toEqual({ out: "in time" });
    const flaky = graphOf(
      ({ once, signal }) =>
        Promise.all([
          once("a", () => {
            if (worked.push("b") === 3) throw new Error("not yet");
            return 1;
          }),
          once("b", async () => {
            if (worked.length === 3) await wait(signal);
            return 2;
          }),
        ]),
      { attempts: 2 },
    );
    expect((await perform(flaky)).state).toEqual({ out: [1, 2] });
  });

  it("are not retried if a running part had sent answer text", async () => {
    let tries = 0;
    const { error, records } = await perform(
      graphOf(
        async ({ once, signal }) => {
          tries++;
          const spoken = once(
            "b",
            async ({ span }) => {
              await span.write("I begin.");
              await wait(signal);
              return 1;
            },
            { name: "answer" },
          );
          spoken.catch(() => undefined);
          await tick();
          return once("a", () => {
            throw new Error("first");
          });
        },
        { attempts: 3 },
      ),
    );
    expect(error).toBeDefined();
    expect(tries).toBe(1);
    expect(ofType(records, "message_chunk")).toHaveLength(1);
  });

  it("are awaited even if the node does not await them", async () => {
    const hasty = graphOf(({ once }) => {
      void once("slow", async ({ emitWithResult }) => {
        await tick();
        emitWithResult({ type: "custom", value: "done" });
        return 1;
      });
      return "left";
    });
    const { state, records } = await perform(hasty);
    expect(state).toEqual({ out: "left" });
    expect(ofType(records, "custom")).toHaveLength(1);
    const failing = graphOf(({ once }) => {
      void once("slow", async () => {
        await tick();
        throw new Error("not awaited");
      });
      return "left";
    });
    expect((await perform(failing)).error).toMatchObject({ message: "not awaited" });
  });

  it("that never end do not block a timeout, a cancel or a failing task", async () => {
    const forever = (node: NodeContext): string => {
      node.once("bg", () => new Promise<never>(() => undefined), { name: "thought" }).catch(() => undefined);
      return "left";
    };
    const { error } = await perform(graphOf(forever, { timeoutMs: 20 }));
    expect(error).toMatchObject({ code: "node_timeout" });
    const pair = defineGraph({
      name: "pair",
      channels,
      nodes: {
        work: (_, node) => ({ out: forever(node) }),
        other: async () => {
          await tick();
          throw new Error("the sibling");
        },
      },
      start: ["work", "other"],
      graceMs: 20,
    });
    expect((await perform(pair)).error).toMatchObject({ message: "the sibling" });
    const stop = new AbortController();
    const stopped = invokeGraph(graphOf(forever), undefined, { signal: stop.signal });
    await tick();
    stop.abort(new Error("enough"));
    await expect(stopped).rejects.toThrow("enough");
  });

  it("return the stored result even if the caller modifies it", async () => {
    const given: unknown[] = [];
    const { state } = await perform(
      graphOf(
        async ({ once }) => {
          const list = await once("list", () => [1]);
          given.push(JSON.stringify(list), await once("odd", () => Number.NaN));
          given.push(await once("nothing", (() => undefined) as unknown as () => null));
          list.push(2);
          if (given.length === 3) throw new Error("again");
          return list;
        },
        { attempts: 2 },
      ),
    );
    expect(given).toEqual(["[1]", null, null, "[1]", null, null]);
    expect(state).toEqual({ out: [1, 2] });
  });

  it("ask the user themselves; the node cannot ask meanwhile", async () => {
    const { error } = await perform(
      graphOf(({ once, interrupt }) => once("a", async () => (await interrupt({})).value)),
    );
    expect(error).toMatchObject({ code: "graph_invalid" });
    const asked: string[] = [];
    const graph = graphOf(async ({ once }) => [
      await once("read", async ({ interrupt }) => (await interrupt({ may: "read" })).decision),
      await once("delete", async ({ interrupt }) => (await interrupt({ may: "delete" })).decision),
    ]);
    const state = await invokeGraph(graph, undefined, {
      onInterrupt: async ({ callId, arguments: question }) => {
        asked.push(callId);
        return { decision: question["may"] === "read" ? "approved" : "rejected", arguments: {} };
      },
    });
    expect(state).toEqual({ out: ["approved", "rejected"] });
    expect(asked).toEqual(["ask-work:1.0|read-0", "ask-work:1.0|delete-0"]);
  });

  it("reject a key that cannot be part of a path", async () => {
    for (const [key, name] of [[""], ["a|b"], ["a", ""]] as const) {
      const { error } = await perform(graphOf(({ once }) => once(key, () => 1, { name })));
      expect(error).toMatchObject({ code: "graph_invalid" });
    }
  });

  it("write nothing if their result cannot be stored", async () => {
    const { error, records } = await perform(
      graphOf(({ once }) => once("large", () => "x".repeat(2 * 1024 * 1024), { name: "thought" })),
    );
    expect(error).toMatchObject({ code: "event_too_large" });
    expect(ofType(records, "updates")).toEqual([]);
  });

  it("work without a session", async () => {
    const graph = graphOf(({ once }) => once("a", ({ once: inside }) => inside("b", () => 7), { name: "thought" }));
    expect(await invokeGraph(graph)).toEqual({ out: 7 });
  });
});
