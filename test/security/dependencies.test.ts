// Checks the installed packages, and proves with planted packages that each check can fail.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import {
  type DependencyFault,
  type DependencyFiles,
  findDependencyFaults,
  type LockedPackage,
} from "../../scripts/find-dependency-faults.ts";
import { packageRoot } from "../source-files.ts";
import { testThreat } from "./test-threat.ts";

const read = <T>(name: string): T => JSON.parse(readFileSync(join(packageRoot, name), "utf8")) as T;

const GOOD: LockedPackage = { version: "1.0.0", integrity: `sha512-${"A".repeat(86)}==`, license: "MIT" };

describe("dependencies", () => {
  testThreat(
    "dependencies",
    "come from the registry with a checksum, a permitted licence and no unknown install script",
    ({ count }) => {
      for (const folder of ["", "bench/"]) {
        const lock = read<DependencyFiles["lock"]>(`${folder}package-lock.json`);
        expect(findDependencyFaults({ manifest: read(`${folder}package.json`), lock })).toEqual([]);
        count(Object.keys(lock.packages).length);
      }
    },
  );

  testThreat("dependencies", "that break a rule are reported", async ({ attempt }) => {
    const planted: readonly (readonly [DependencyFault["rule"], string, LockedPackage])[] = [
      ["source", "git", { ...GOOD, resolved: "git+ssh://git@example.com/x.git#0" }],
      ["source", "archive", { ...GOOD, resolved: "http://registry.npmjs.org/x.tgz" }],
      ["source", "lookalike", { ...GOOD, resolved: "https://registry.npmjs.org.evil.example/x.tgz" }],
      ["source", "folder", { ...GOOD, resolved: "../x", link: true }],
      ["integrity", "bare", { version: "1.0.0", license: "MIT" }],
      ["integrity", "weak", { ...GOOD, integrity: "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=" }],
      ["install-script", "installer", { ...GOOD, hasInstallScript: true }],
      ["install-script", "lmdb", { ...GOOD, hasInstallScript: true }],
      ["install-script", "constructor", { ...GOOD, hasInstallScript: true }],
      ["deprecated", "old", { ...GOOD, deprecated: "use another" }],
      ["licence", "viral", { ...GOOD, license: "AGPL-3.0" }],
      ["licence", "none", { version: "1.0.0", integrity: GOOD.integrity ?? "" }],
    ];
    for (const [rule, name, entry] of planted)
      for (const path of [`node_modules/${name}`, `node_modules/a/node_modules/${name}`])
        await attempt(`${rule} ${path}`, () => {
          const files: DependencyFiles = {
            manifest: { workspaces: ["web"], allowScripts: { lmdb: true } },
            lock: { packages: { "": {}, web: {}, "node_modules/web": { link: true, resolved: "web" }, [path]: entry } },
          };
          expect(findDependencyFaults(files)).toEqual([{ rule, name, detail: expect.any(String) as string }]);
        });
    await attempt("an unknown runtime dependency", () => {
      const files = { manifest: { dependencies: { "left-pad": "1.0.0" } }, lock: { packages: {} } };
      expect(findDependencyFaults(files).map(({ rule }) => rule)).toEqual(["runtime"]);
    });
  });
});
