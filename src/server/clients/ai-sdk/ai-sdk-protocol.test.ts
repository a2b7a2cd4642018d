import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { createServerFixture } from "../../../../test/server/server-fixture.ts";
import type { JsonObject } from "../../../protocol/index.ts";

const text = (message: string): JsonObject => ({ type: "text", text: message });

it("cancels only the run that waits if two messages come instead of its answer", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { fetch, core, log } = await createServerFixture({
    script: ({ prompt }) => {
      const asked = JSON.stringify(prompt.findLast(({ role }) => role === "user"));
      if (asked.includes("Remove")) return { calls: [{ name: "remove", input: { path: "x" } }] };
      return asked.includes("Quick") ? { text: "Yes.", until: gate } : { text: "Yes." };
    },
  });
  const send = async (id: string, ...parts: JsonObject[]): Promise<string> => {
    const body = JSON.stringify({ id: "c", messages: [{ id, role: "user", parts }] });
    const response = await fetch("/api/chat", { method: "POST", body });
    return response.text();
  };
  await send("u1", text("Remove"));
  // The file of the first message is stored slowly, so the second one overtakes it.
  const blobs = core.blobs as NonNullable<typeof core.blobs>;
  const put = blobs.put.bind(blobs);
  vi.spyOn(blobs, "put").mockImplementationOnce(async (...given) => {
    await sleep(300);
    return put(...given);
  });
  const slow = send("u2", text("Slow"), { type: "file", mediaType: "text/plain", url: "data:text/plain,file" });
  await sleep(50);
  const quick = send("u3", text("Quick"));
  await sleep(500);
  open();
  await Promise.all([slow, quick]);
  const runs = await log.listRuns("c");
  expect(Object.fromEntries(runs.map(({ requestId, status }) => [requestId, status]))).toEqual({
    u1: "cancelled",
    u2: "completed",
    u3: "completed",
  });
});
