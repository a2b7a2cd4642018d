import { expect, it } from "vitest";
import { KeyedQueue } from "./keyed-queue.ts";

it("runs the work of each key in order, independently of other keys", async () => {
  const queue = new KeyedQueue();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const turns = [
    queue.run("s", async () => {
      await gate.promise;
      order.push("s1");
      throw new Error("does not affect the next");
    }),
    queue.run("s", async () => order.push("s2")),
    queue.run("t", async () => order.push("t1")),
  ];
  await turns[2];
  gate.resolve();
  await queue.idle();
  await Promise.allSettled(turns);
  expect(order).toEqual(["t1", "s1", "s2"]);
});
