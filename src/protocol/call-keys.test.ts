import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallKeys } from "./call-keys.ts";

type Phase = Parameters<CallKeys["keyOf"]>[1];

/** Reference implementation: one list in call order, without concern for speed. */
class PlainKeys {
  readonly #open: { readonly key: string; readonly name: string; started: boolean }[] = [];
  #made = 0;

  keyOf(name: string, phase: Phase): string {
    const open = this.#open.filter((call) => call.name === name);
    const wanted = phase === "running" || phase === "end";
    let found = phase === "call" ? undefined : (open.find(({ started }) => started === wanted) ?? open[0]);
    if (found === undefined) {
      found = { key: `\u0000${name}#${++this.#made}`, name, started: false };
      this.#open.push(found);
    }
    if (phase === "start") found.started = true;
    if (phase === "end") this.#open.splice(this.#open.indexOf(found), 1);
    return found.key;
  }
}

describe("CallKeys for calls without an ID", () => {
  it("matches them by name, oldest first", () => {
    const phase = fc.constantFrom<Phase>("call", "before", "start", "running", "end");
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b"), phase), { minLength: 20, maxLength: 80 }), (frames) => {
        const keys = new CallKeys();
        const plain = new PlainKeys();
        for (const [name, phase] of frames) expect(keys.keyOf({ name }, phase)).toBe(plain.keyOf(name, phase));
      }),
    );
  });

  it("does not match them to a call with an ID", () => {
    const keys = new CallKeys();
    const key = keys.keyOf({ name: "a" }, "call");
    expect(keys.keyOf({ call_id: "x", name: "a" }, "end")).toBe("x");
    expect(keys.keyOf({ name: "a" }, "start")).toBe(key);
  });

  it("keeps the order of the others when the limit is exceeded", () => {
    const keys = new CallKeys();
    const made = Array.from({ length: 10_001 }, () => keys.keyOf({ name: "a" }, "call"));
    const started = made.slice(0, -1).map(() => keys.keyOf({ name: "a" }, "start"));
    expect(started).toEqual(made.slice(0, -1));
    expect(keys.keyOf({ name: "a" }, "start")).toBe(made[0]);
  });
});
