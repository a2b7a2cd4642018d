import { describe, expect, it } from "vitest";
import { loadPackage } from "./load-package.ts";

describe("a package that need not be there", () => {
  it("is given as it is", async () => {
    expect(await loadPackage("x", "to see", () => Promise.resolve(7))).toBe(7);
  });

  it("is named where it is missing, or one that it needs", async () => {
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

  it("that fails otherwise fails so", async () => {
    const error = new Error("broken");
    await expect(loadPackage("x", "to see", () => Promise.reject(error))).rejects.toBe(error);
  });
});
