import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Numbered, Sequence, type InsertResult } from "./sequence.ts";

interface Item extends Numbered {
  readonly name: string;
}

function item(number: number, more: Partial<Item> = {}): Item {
  return {
    number,
    previous: undefined,
    fingerprint: number,
    contiguous: undefined,
    size: 1,
    name: `#${number}`,
    ...more,
  };
}

function start(number: number, contiguous = true): Item {
  return item(number, { contiguous });
}

function createTrial({
  first,
  maxHeld = 100,
  maxHeldCharacters = 1000,
}: { first?: number; maxHeld?: number; maxHeldCharacters?: number } = {}) {
  let taken: string[] = [];
  let sure: boolean[] = [];
  let resets = 0;
  const sequence = new Sequence<Item>({
    maxHeld,
    maxHeldCharacters,
    ...(first === undefined ? {} : { first }),
    take(each, isSure) {
      taken.push(each.name);
      sure.push(isSure);
    },
    reset() {
      taken = [];
      sure = [];
      resets++;
      return true;
    },
  });
  return {
    sequence,
    push: (...items: Item[]): InsertResult[] => items.map((each) => sequence.insert(each)),
    get taken() {
      return taken;
    },
    get sure() {
      return sure;
    },
    get resets() {
      return resets;
    },
  };
}

describe("Sequence", () => {
  it("takes items in order and is sure", () => {
    const trial = createTrial();
    expect(trial.push(start(1), item(2), item(3))).toEqual(["taken", "taken", "taken"]);
    expect(trial.taken).toEqual(["#1", "#2", "#3"]);
    expect(trial.sure).toEqual([true, true, true]);
  });

  it("holds early items and takes them in order", () => {
    const trial = createTrial();
    expect(trial.push(start(1), item(3), item(4))).toEqual(["taken", "held", "held"]);
    expect(trial.taken).toEqual(["#1"]);
    expect(trial.sequence.missing).toBe(1);
    expect(trial.push(item(2))).toEqual(["taken"]);
    expect(trial.taken).toEqual(["#1", "#2", "#3", "#4"]);
    expect(trial.sure).toEqual([true, true, true, true]);
    expect(trial.sequence.missing).toBeUndefined();
  });

  it("distinguishes a duplicate from another frame with the same number", () => {
    const trial = createTrial();
    expect(trial.push(start(1), item(2), item(2), item(2, { fingerprint: 99 }))).toEqual([
      "taken",
      "taken",
      "duplicate",
      "conflict",
    ]);
    expect(trial.push(item(4), item(4), item(4, { fingerprint: 99 }))).toEqual(["held", "duplicate", "conflict"]);
    expect(trial.taken).toEqual(["#1", "#2"]);
  });

  it("allows jumps if the sender promised nothing, and is not sure", () => {
    const trial = createTrial();
    expect(trial.push(start(0, false), item(1), item(5), item(8))).toEqual(["taken", "taken", "taken", "taken"]);
    expect(trial.sure).toEqual([false, false, false, false]);
  });

  it("reorders such a stream when a skipped number arrives", () => {
    const trial = createTrial();
    trial.push(start(0, false), item(5), item(3));
    expect(trial.taken).toEqual(["#0", "#3", "#5"]);
    expect(trial.resets).toBe(1);
    expect(trial.push(item(3), item(5))).toEqual(["duplicate", "duplicate"]);
  });

  it("reorders when the start arrives second", () => {
    const trial = createTrial();
    trial.push(item(2), start(1), item(3));
    expect(trial.taken).toEqual(["#1", "#2", "#3"]);
    expect(trial.sure).toEqual([true, true, true]);
  });

  it("follows the predecessors in a filtered stream", () => {
    const trial = createTrial();
    trial.push(start(1), item(5, { previous: 1 }), item(9, { previous: 6 }));
    expect(trial.taken).toEqual(["#1", "#5"]);
    trial.push(item(6));
    expect(trial.taken).toEqual(["#1", "#5", "#6", "#9"]);
    expect(trial.sure).toEqual([true, true, true, true]);
  });

  it("takes a frame whose stated predecessor was passed", () => {
    const trial = createTrial();
    expect(trial.push(start(1), item(2), item(5, { previous: 1 }))).toEqual(["taken", "taken", "taken"]);
    expect(trial.sure).toEqual([true, true, false]);
  });

  it("expects the first number if it is known", () => {
    const trial = createTrial({ first: 0 });
    expect(trial.push(item(1), item(0), item(2))).toEqual(["held", "taken", "taken"]);
    expect(trial.taken).toEqual(["#0", "#1", "#2"]);
  });

  it("gives up missing numbers on request, and reports later arrivals as late", () => {
    const trial = createTrial();
    trial.push(start(1), item(4), item(6), item(5));
    expect(trial.sequence.skip()).toBe(2);
    expect(trial.taken).toEqual(["#1", "#4", "#5", "#6"]);
    expect(trial.sure).toEqual([true, false, true, true]);
    expect(trial.push(item(2), item(4), item(7))).toEqual(["late", "duplicate", "taken"]);
  });

  it.each([
    ["frames", { maxHeld: 2 }],
    ["characters", { maxHeldCharacters: 2 }],
  ])("holds at most this many %s", (_what, limits) => {
    const trial = createTrial(limits);
    expect(trial.push(start(1), item(3), item(4), item(5))).toEqual(["taken", "held", "held", "full"]);
    trial.sequence.skip();
    expect(trial.push(item(5))).toEqual(["taken"]);
    expect(trial.taken).toEqual(["#1", "#3", "#4", "#5"]);
  });

  it("stops reordering after the limit", () => {
    const trial = createTrial({ maxHeld: 1000 });
    trial.push(start(0, false), item(200));
    const verdicts = trial.push(...Array.from({ length: 100 }, (_, i) => item(100 - i)));
    expect(verdicts.filter((verdict) => verdict === "late").length).toBe(36);
    expect(trial.resets).toBe(64);
  });

  it("advances only if nothing is held or kept", () => {
    const { sequence, push } = createTrial();
    expect(sequence.advance(1, 1)).toBe(false);
    push(start(1));
    expect(sequence.advance(3, 3)).toBe(false);
    expect(sequence.advance(2, 2)).toBe(true);
    push(item(4));
    expect(sequence.advance(3, 3)).toBe(false);
  });

  it("takes every number once and in order, for any order with duplicates", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 60 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (count, swaps, doubles) => {
          const items = [start(1), ...Array.from({ length: count }, (_, i) => item(i + 2))];
          const sent = [...items, ...doubles.map((at) => items[at % items.length] as Item)];
          for (const [a, b] of swaps) {
            const [i, j] = [a % sent.length, b % sent.length];
            [sent[i], sent[j]] = [sent[j] as Item, sent[i] as Item];
          }
          const trial = createTrial();
          const verdicts = trial.push(...sent);
          if (verdicts.includes("late")) return;
          expect(trial.taken).toEqual(items.map(({ name }) => name));
          expect(trial.sure.every(Boolean)).toBe(true);
        },
      ),
    );
  });
});
