import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ErrorReporter } from "./error-reporter.ts";

const broken = new Error("broken");
const fail = (): never => {
  throw broken;
};

describe("ErrorReporter", () => {
  it.each<[string, () => unknown]>([
    ["throws", fail],
    ["rejects", async () => fail()],
    ["returns a proxy that throws on access", () => new Proxy({}, { get: fail, has: fail })],
  ])("warns if onError %s", async (_, onError) => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    expect(new ErrorReporter(onError).report(new Error("first"))).toMatch(/^[0-9a-f-]{36}$/);
    await new Promise(setImmediate);
    // An unhandled rejection would fail the test.
    expect(warn.mock.calls).toEqual([[broken]]);
  });

  it("reports what listeners throw or reject with", async () => {
    const reported: unknown[] = [];
    const reporter = new ErrorReporter((error) => reported.push(error));
    const late = new Error("later");
    reporter.notify([fail, () => Promise.reject(late)] as ((news: string) => void)[], "news");
    await new Promise(setImmediate);
    expect(reported).toEqual([broken, late]);
  });
});
