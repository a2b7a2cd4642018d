// Parts of a node's work: what is written of them, and what they refuse. That they are done once, whatever happens, is held
// by resume-property.test.ts.
import { describe, expect, it } from "vitest";
import type { EventOf } from "../protocol/index.ts";
import { replace } from "./channels.ts";
import { defineGraph } from "./define-graph.ts";
import type { NodeContext } from "./graph.ts";
import { ofType, perform, tick } from "./graph-stage.contract.ts";
import { invokeGraph } from "./run-graph.ts";

const channels = { out: replace<unknown>(null) };

function graphOf(work: (node: NodeContext) => unknown, retry?: { readonly attempts: number }) {
  const run = async (_: unknown, node: NodeContext) => ({ out: await work(node) });
  return defineGraph({
    name: "parts",
    channels,
    nodes: { work: { run, ...(retry === undefined ? {} : { retry: { ...retry, delayMs: 0 } }) } },
    start: "work",
  });
}

describe("parts", () => {
  it("are node runs inside of the node where they have a name, and belong to it otherwise", async () => {
    const { state, records } = await perform(
      graphOf(async ({ once }) => [
        await once("plain", ({ conclude }) => {
          conclude({ type: "custom", value: "concluded" });
          return 1;
        }),
        await once("named", (part) => part.once("inner", () => part.span.name), { name: "thought" }),
      ]),
    );
    expect(state).toEqual({ out: [1, "thought"] });
    const told = records.flatMap(({ envelope, event }) =>
      event.type === "node_enter" || event.type === "updates" || event.type === "custom" || event.type === "node_exit"
        ? [[event.type, envelope.node_id, (event as { checkpoint_ns?: string }).checkpoint_ns]]
        : [],
    );
    expect(told).toEqual([
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

  it("go on side by side, and one key is worked on once", async () => {
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

  it("end as failed and give what they recover to, with what was concluded", async () => {
    const { state, records } = await perform(
      graphOf(({ once }) =>
        once(
          "risky",
          () => {
            throw new Error("secret");
          },
          {
            name: "thought",
            recover: (_, { conclude }) => {
              conclude({ type: "custom", value: "given up" });
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

  it("are kept when the node is tried again, unless they had failed", async () => {
    const worked: string[] = [];
    const { state, records } = await perform(
      graphOf(
        async ({ once }) => {
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
    expect(ofType(records, "node_enter").map((event) => (event as EventOf<"node_enter">).id)).toEqual([
      "work",
      "thought",
      "work",
      "thought",
    ]);
  });

  it("are not tried again once they have said something", async () => {
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

  it("have a key that can be part of a path", async () => {
    for (const key of ["", "a|b"]) {
      const { error } = await perform(graphOf(({ once }) => once(key, () => 1)));
      expect(error).toMatchObject({ code: "graph_invalid" });
    }
  });

  it("leave nothing where their result cannot be stored", async () => {
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
