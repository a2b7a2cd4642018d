import { describe, expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

describe("BoundedMap", () => {
  test("evicts the entry set longest ago when full", () => {
    const map = new BoundedMap<number>(3);
    for (let i = 0; i < 100; i++) {
      map.set(`k${i}`, i);
      expect(map.size).toBeLessThanOrEqual(3);
    }
    expect([...map.keys()]).toEqual(["k97", "k98", "k99"]);
  });

  test("makes an entry the newest when it is set again", () => {
    const map = new BoundedMap<number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    expect([...map.keys()]).toEqual(["a", "c"]);
    expect([...map.values()]).toEqual([3, 4]);
  });

  test("creates a missing entry once", () => {
    const map = new BoundedMap<number[]>(2);
    expect(map.getOrCreate("a", () => [1])).toBe(map.getOrCreate("a", () => [2]));
    map.delete("a");
    expect(map.get("a")).toBeUndefined();
  });
});
