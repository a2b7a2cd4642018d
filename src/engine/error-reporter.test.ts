// Those who are told of errors may do anything, at once or later.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ErrorReporter } from "./error-reporter.ts";

const broken = new Error("nobody can be told");
const fail = (): never => {
  throw broken;
};

describe("whoever is told of an error", () => {
  it.each<[string, () => unknown]>([
    ["throws", fail],
    ["rejects", async () => fail()],
    ["gives something that cannot be looked at", () => new Proxy({}, { get: fail, has: fail })],
  ])("%s: it is a warning, and nothing else", async (_, onError) => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    expect(new ErrorReporter(onError).report(new Error("first"))).toMatch(/^[0-9a-f-]{36}$/);
    await new Promise(setImmediate);
    // What is rejected and not caught fails the test by itself.
    expect(warn.mock.calls).toEqual([[broken]]);
  });

  it("is told what listeners throw or reject with", async () => {
    const told: unknown[] = [];
    const reporter = new ErrorReporter((error) => told.push(error));
    const late = new Error("later");
    reporter.tell([fail, () => Promise.reject(late)] as ((news: string) => void)[], "news");
    await new Promise(setImmediate);
    expect(told).toEqual([broken, late]);
  });
});
