import { describe, expect, it, vi } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { MemoryLog } from "./memory-log.ts";
import { releaseLease } from "./release-lease.ts";

describe("releaseLease", () => {
  it("tries again until the log works", async () => {
    const log = new MemoryLog();
    const lease = await log.acquire("s", { holder: "first", ttlMs: 600_000 });
    const failing = vi.spyOn(log, "release").mockRejectedValue(new LoomError("store_full", "The disk is full"));
    await releaseLease(log, lease);
    await vi.waitFor(() => expect(failing.mock.calls.length).toBeGreaterThan(1), 20_000);
    await expect(log.acquire("s", { holder: "second", ttlMs: 1000 })).rejects.toMatchObject({ code: "lease_held" });
    failing.mockRestore();
    await vi.waitFor(() => log.acquire("s", { holder: "second", ttlMs: 1000 }), 20_000);
  });

  it.each(["fenced", "unknown_session", "store_closed"] as const)("stops after %s", async (code) => {
    const log = new MemoryLog();
    const lease = await log.acquire("s", { holder: "first", ttlMs: 600_000 });
    const failing = vi.spyOn(log, "release").mockRejectedValue(new LoomError(code, "It is over"));
    await releaseLease(log, lease);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(failing).toHaveBeenCalledOnce();
  });
});
