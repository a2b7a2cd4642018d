import { expect, it } from "vitest";
import { isLoomError } from "../../protocol/index.ts";
import { FairGate } from "./fair-gate.ts";

const NEVER = new AbortController().signal;

function createGate(maxWaiting = 2) {
  return new FairGate({ noun: "uploads", code: "too_many_uploads", slots: 3, slotsPerAccount: 2, maxWaiting });
}

it("leaves slots for other accounts, and refuses an account only when too much of it waits", async () => {
  const gate = createGate();
  const first = [await gate.enter("a", NEVER), await gate.enter("a", NEVER)];
  let entered = 0;
  const waiting = [1, 2].map(() => gate.enter("a", NEVER).finally(() => entered++));
  await expect(gate.enter("a", NEVER)).rejects.toSatisfy((error) => isLoomError(error, "too_many_uploads"));
  const other = await gate.enter("b", NEVER);
  expect(entered).toBe(0);
  for (const release of first) release();
  other();
  for (const release of await Promise.all(waiting)) release();
});

it("frees the slot of the account if the wait for the process is aborted", async () => {
  const gate = createGate();
  const others = [await gate.enter("a", NEVER), await gate.enter("a", NEVER), await gate.enter("b", NEVER)];
  const abort = new AbortController();
  const aborted = gate.enter("b", abort.signal);
  abort.abort(new Error("left"));
  await expect(aborted).rejects.toThrow("left");
  for (const release of others) release();
  for (const release of await Promise.all([gate.enter("b", NEVER), gate.enter("b", NEVER)])) release();
});

it("allows all slots without an account", async () => {
  const gate = createGate();
  const releases = await Promise.all([1, 2, 3].map(() => gate.enter(undefined, NEVER)));
  for (const release of releases) release();
});
