import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LONG, SAMPLES } from "../../test/sampling.ts";
import type { AnyEvent, EventOf, StampedRecord } from "../protocol/index.ts";
import { DIALECTS } from "./index.ts";
import { addPiece, addToThoughts, BLANK_LINE, flushThoughts, MAX_WAITING, ThoughtQueue } from "./thought-queue.ts";

function record(event: AnyEvent, node: string | undefined, event_id: number): StampedRecord {
  const envelope = { session_id: "s", run_id: "r", event_id, ts: 1_700_000_000_000 + event_id };
  return { envelope: node === undefined ? envelope : { ...envelope, node_id: node }, event };
}

const start: AnyEvent = { type: "run_start", run_id: "r", agent: "tot", contiguous: true };
const end: AnyEvent = { type: "run_end", status: "cancelled" };
const thought = (content: string, channel = "thought"): AnyEvent => ({
  type: "message_chunk",
  content,
  id: "n",
  channel,
});
const finished: AnyEvent = { type: "llm_end", llm_call_id: "c" };

/** A run of these events; `a: hello` is a piece of the thought of node run `a`. */
function write(events: readonly (readonly [node: string, event: AnyEvent])[]): StampedRecord[] {
  const all: (readonly [string | undefined, AnyEvent])[] = [[undefined, start], ...events, [undefined, end]];
  return all.map(([node, event], index) => record(event, node, index + 1));
}

/** The text of all thinking, as a client of each dialect joins it. */
const READERS = {
  engine: (frame: { data: { content: string } }, isThinking: boolean) => (isThinking ? frame.data.content : ""),
  lumine: (frame: { content: string }, isThinking: boolean) => (isThinking ? frame.content : ""),
  "openai-chat": (frame: { choices: { delta: { reasoning_content?: string } }[] }) =>
    frame.choices[0]?.delta.reasoning_content ?? "",
} as const;
const NAMES = Object.keys(READERS) as (keyof typeof READERS)[];

function readThinking(dialect: keyof typeof READERS, frames: readonly string[]): string {
  return frames
    .map((text) => {
      const frame = JSON.parse(text) as { readonly type?: string };
      const isThinking = frame.type === "thinking" || frame.type === "reasoning";
      return READERS[dialect](frame as never, isThinking);
    })
    .join("");
}

/** Interleaved thoughts of several node runs. Each piece names its node run and the number of its thought. */
const interleavedArbitrary = fc
  .record({
    thoughts: fc.array(
      fc.record({
        node: fc.constantFrom("a", "b", "c", "d"),
        sizes: fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 9 },
    ),
    picks: fc.array(fc.nat(7), { minLength: 40, maxLength: 40 }),
    padding: fc.constantFrom("", "", "\n", "x".repeat(9000), `${"x".repeat(9000)}\n`),
    isCut: fc.boolean(),
  })
  .map(({ thoughts, picks, padding, isCut }) => {
    // Thoughts of one node run follow each other.
    const lanes = [...Map.groupBy(thoughts.entries(), ([, { node }]) => node)].map(([node, own]) => ({
      node,
      events: [...own].flatMap(([number, { sizes }]) => [
        ...sizes.map((size, at) => thought(`<${number}.${at}${"-".repeat(size)}${padding}>`)),
        finished,
      ]),
    }));
    const events: (readonly [string, AnyEvent])[] = [];
    for (let step = 0; lanes.some((lane) => lane.events.length > 0); step++) {
      const left = lanes.filter((lane) => lane.events.length > 0);
      const lane = left[(picks[step % picks.length] ?? 0) % left.length];
      const event = lane?.events.shift();
      if (lane !== undefined && event !== undefined) events.push([lane.node, event]);
    }
    return write(isCut ? events.slice(0, -3) : events);
  });

interface Seen {
  readonly order: number[];
  readonly texts: Map<number, string>;
}

/** The texts of the thoughts, and the order of their starts. */
function listThoughts(records: readonly StampedRecord[]): Seen {
  const seen: Seen = { order: [], texts: new Map() };
  for (const { event } of records) {
    if (event.type !== "message_chunk") continue;
    const { content } = event as EventOf<"message_chunk">;
    const number = Number(/^<(\d+)/.exec(content)?.[1]);
    if (!seen.texts.has(number)) seen.order.push(number);
    seen.texts.set(number, (seen.texts.get(number) ?? "") + content);
  }
  return seen;
}

describe("thoughts in parallel", () => {
  test("are sent whole, one after the other in the order of their start, with a blank line between them", () => {
    fc.assert(
      fc.property(interleavedArbitrary, (records) => {
        const { order, texts } = listThoughts(records);
        const size = [...texts.values()].reduce((sum, text) => sum + text.length + 200, 0);
        for (const name of NAMES) {
          const encoder = DIALECTS[name].createEncoder();
          const text = readThinking(
            name,
            records.flatMap((each) => encoder.encode(each)),
          );
          if (size <= MAX_WAITING) expect(text).toBe(order.map((number) => texts.get(number)).join(BLANK_LINE));
          // Past the limit, thoughts give way to each other, but none loses a piece.
          expect(text.replaceAll("\n", "").length).toBe([...texts.values()].join("").replaceAll("\n", "").length);
        }
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("continue with the same bytes from every record", () => {
    fc.assert(
      fc.property(interleavedArbitrary, (records) => {
        for (const name of NAMES) {
          const uncut = DIALECTS[name].createEncoder();
          let continued = DIALECTS[name].createEncoder();
          for (const each of records) {
            continued = DIALECTS[name].createEncoder({}, structuredClone(continued.save?.()));
            expect(continued.encode(each)).toEqual(uncut.encode(each));
          }
        }
      }),
      { numRuns: LONG ? SAMPLES.sessions : 10 },
    );
  });

  test("are live: the first is sent with each piece, and the next as soon as it ends", () => {
    const encoder = DIALECTS.engine.createEncoder();
    const sent = write([
      ["a", thought("one ")],
      ["b", thought("two ")],
      ["a", thought("and more")],
      ["b", thought("again")],
      ["a", finished],
      ["b", thought("!")],
    ]).map((each) => readThinking("engine", encoder.encode(each)));
    expect(sent).toEqual(["", "one ", "", "and more", "", "\n\ntwo again", "!", ""]);
  });

  test("of reasoning and text of one model call are one thought with a blank line in it", () => {
    for (const name of NAMES) {
      const encoder = DIALECTS[name].createEncoder();
      const records = write([
        ["a", { type: "reasoning_chunk", content: "Hm." }],
        ["b", { type: "reasoning_chunk", content: "Well." }],
        ["b", { type: "reasoning_end" }],
        ["a", { type: "reasoning_end" }],
        ["b", thought("Right.")],
        ["a", thought("Left.")],
      ]);
      const text = readThinking(
        name,
        records.flatMap((each) => encoder.encode(each)),
      );
      expect(text).toBe("Hm.\n\nLeft.\n\nWell.\n\nRight.");
    }
  });

  test("do not contain judgements", () => {
    for (const name of NAMES) {
      const encoder = DIALECTS[name].createEncoder();
      const records = write([
        ["a", { type: "reasoning_chunk", content: "How good is it?", channel: "judgement" }],
        ["a", thought('{"score":1}', "judgement")],
        ["a", thought("Good.")],
      ]);
      expect(
        readThinking(
          name,
          records.flatMap((each) => encoder.encode(each)),
        ),
      ).toBe("Good.");
    }
  });
});

describe("the limit of what waits", () => {
  const long = "x".repeat(1000);
  const add = (queue: ThoughtQueue, node: string, event: AnyEvent): string =>
    addToThoughts(queue, record(event, node, 1))
      .map(({ content, isFirst }) => (isFirst ? "|" : "") + content)
      .join("");
  const fill = (queue: ThoughtQueue, node: string): string => {
    let sent = "";
    for (let at = 0; at < MAX_WAITING / 1000; at++) sent += add(queue, node, thought(long));
    return sent;
  };

  test("lets the oldest thought that has ended go first at the next line end of the live one", () => {
    const queue = new ThoughtQueue();
    add(queue, "a", thought("live"));
    add(queue, "b", thought("b"));
    add(queue, "c", thought("c"));
    add(queue, "c", finished);
    add(queue, "d", thought("d"));
    add(queue, "d", finished);
    expect(fill(queue, "b")).toBe("");
    expect(add(queue, "a", thought("no line end"))).toBe("no line end");
    expect(add(queue, "a", thought("end\nof line"))).toBe("end\n|c|d|of line");
    expect(add(queue, "a", thought("!\n"))).toBe("!\n");
  });

  test("pauses the live thought if no other has ended", () => {
    const queue = new ThoughtQueue();
    add(queue, "a", thought("live"));
    const sent = fill(queue, "b") + add(queue, "b", thought("more"));
    expect(sent.startsWith("|xxx")).toBe(true);
    expect(queue.live).toBe("b");
    expect(add(queue, "a", thought("what else"))).toBe("");
    expect(add(queue, "b", finished)).toBe("|what else");
  });

  test("a piece that waits is not joined to one that has a frame", () => {
    const queue = new ThoughtQueue();
    const piece = { content: "x", node: undefined, stage: undefined };
    addPiece(queue, "a", piece);
    addPiece(queue, "b", { ...piece, frame: "{}" });
    addPiece(queue, "b", { ...piece, content: "y" });
    expect(flushThoughts(queue).map(({ content, frame }) => [content, frame])).toEqual([
      ["x", "{}"],
      ["y", undefined],
    ]);
  });

  test("bounds the memory, whatever thoughts do, and nothing is lost", () => {
    const pick = fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.nat(20_000), fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(fc.array(pick, { maxLength: 60 }), (steps) => {
        const queue = new ThoughtQueue();
        let [given, sent] = [0, 0];
        const count = (pieces: readonly { readonly content: string }[]): void => {
          for (const { content } of pieces) sent += content.length;
        };
        for (const [node, length, hasLineEnd, isLast] of steps) {
          const content = `${"x".repeat(length)}${hasLineEnd ? "\n" : ""}`;
          given += content.length;
          count(addToThoughts(queue, record(thought(content), node, 1)));
          if (isLast) count(addToThoughts(queue, record(finished, node, 1)));
          expect(queue.size).toBeLessThanOrEqual(2 * MAX_WAITING);
        }
        count(flushThoughts(queue));
        expect([sent, queue.size, queue.ended, queue.waiting.size, queue.open.size]).toEqual([given, 0, 0, 0, 0]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("costs the same for each piece, however many thoughts wait", () => {
    const count = (thoughts: number): number => {
      let reads = 0;
      const queue = new ThoughtQueue();
      const waiting = new Proxy(queue.waiting, {
        get(target, name) {
          reads++;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
      Object.assign(queue, { waiting });
      for (let round = 0; round < 4; round++)
        for (let node = 0; node < thoughts; node++) add(queue, String(node), thought("word "));
      for (let node = 0; node < thoughts; node++) add(queue, String(node), finished);
      expect(queue.waiting.size).toBe(0);
      return reads;
    };
    expect(count(400)).toBeLessThan(count(100) * 4.5);
  });
});
