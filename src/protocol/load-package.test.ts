import { describe, expect, it } from "vitest";
import { loadPackage } from "./load-package.ts";

describe("loadPackage", () => {
  it("returns the package", async () => {
    expect(await loadPackage("x", "to see", () => Promise.resolve(7))).toBe(7);
  });

  it("names the missing package, which may be a dependency", async () => {
    const missing = (name: string): Error =>
      Object.assign(new Error(`Cannot find package '${name}' imported from /x.js`), { code: "ERR_MODULE_NOT_FOUND" });
    for (const name of ["pino", "thread-stream"]) {
      const loading = loadPackage("pino", "to log runs", () => Promise.reject(missing(name)));
      await expect(loading).rejects.toMatchObject({
        code: "missing_package",
        message: `Install ${name} to log runs: npm install ${name}`,
        details: { package: name },
      });
    }
  });

  it("rethrows other import errors", async () => {
    const error = new Error("broken");
    await expect(loadPackage("x", "to see", () => Promise.reject(error))).rejects.toBe(error);
  });
});
