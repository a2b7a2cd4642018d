// The credential store of SQLite in memory, and in a file with two handles.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { testCredentials } from "../../../../test/contracts/credentials.ts";
import { openCredentials } from "./open-credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-credentials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

describe("credentials in memory", () => {
  testCredentials(async (options) => {
    const one = openCredentials(":memory:", options);
    return [one, one];
  });
});

describe("credentials in a file with two handles", () => {
  testCredentials(async (options) => {
    const path = join(folder, `${++files}-auth`);
    return [openCredentials(path, options), openCredentials(path, options)];
  });
});
