import { expect, it, vi } from "vitest";
import { untilAborted } from "./until-aborted.ts";

const never = new Promise<string>(() => undefined);

it("settles like the promise and leaves no listener behind", async () => {
  const { signal } = new AbortController();
  const remove = vi.spyOn(signal, "removeEventListener");
  expect(await untilAborted(Promise.resolve("a"), signal)).toBe("a");
  await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  expect(remove).toHaveBeenCalledTimes(2);
});

it("rejects with the reason, or resolves with another value", async () => {
  const controller = new AbortController();
  const waiting = [untilAborted(never, controller.signal), untilAborted(never, controller.signal, () => "b")];
  controller.abort(new Error("stop"));
  const [rejected, resolved] = await Promise.allSettled(waiting);
  expect(rejected).toMatchObject({ reason: { message: "stop" } });
  expect(resolved).toMatchObject({ value: "b" });
  await expect(untilAborted(Promise.resolve("a"), controller.signal)).rejects.toThrow("stop");
});

it("ignores a rejection after the abort", async () => {
  const work = Promise.withResolvers<string>();
  const waiting = untilAborted(work.promise, AbortSignal.abort(), () => "b");
  work.reject(new Error("late"));
  expect(await waiting).toBe("b");
});
