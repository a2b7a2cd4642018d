import { describe, expect, it, vi } from "vitest";
import { createPrometheusObserver } from "../../observe/index.ts";
import { createMetricsHandler } from "./metrics.ts";

const ADDRESS = "http://loom.test/metrics";

describe("createMetricsHandler", () => {
  it("serves metrics as text", async () => {
    const observer = await createPrometheusObserver();
    observer.closeSlowReader();
    const handler = createMetricsHandler(observer.register);
    const response = await handler(new Request(ADDRESS));
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await response.text()).toContain("loom_slow_readers_closed_total 1");
    const head = await handler(new Request(ADDRESS, { method: "HEAD" }));
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("rejects methods other than GET and HEAD", async () => {
    const handler = createMetricsHandler((await createPrometheusObserver()).register);
    const response = await handler(new Request(ADDRESS, { method: "POST" }));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await response.json()).toMatchObject({ code: "unsupported" });
  });

  it("hides errors of the register", async () => {
    const onError = vi.fn();
    const register = { contentType: "text/plain", metrics: () => Promise.reject(new Error("secret")) };
    const response = await createMetricsHandler(register, { onError })(new Request(ADDRESS));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(onError).toHaveBeenCalledOnce();
    const throwing = (): never => {
      throw new Error("failed");
    };
    expect((await createMetricsHandler(register, { onError: throwing })(new Request(ADDRESS))).status).toBe(500);
  });
});
