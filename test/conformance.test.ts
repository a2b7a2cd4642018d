/** Checks docs/conformance.md: each row has a unique ID and a proof, and each proof exists. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "./source-files.ts";
import { VECTORS } from "./vectors.ts";

const DOCS = join(packageRoot, "docs");
const REJECTS = join(VECTORS, "rejects");
const rejected = new Set(
  readdirSync(REJECTS).flatMap((file) =>
    (JSON.parse(readFileSync(join(REJECTS, file), "utf8")) as readonly { readonly name: string }[]).map(
      ({ name }) => name,
    ),
  ),
);

/** Faults of a page, each with the ID of its row. */
function findFaults(page: string): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const line of page.split("\n").filter((each) => each.startsWith("| 0"))) {
    const cells = line.slice(2, -2).split(" | ");
    const [id = "", statement = "", proofs = ""] = cells;
    if (cells.length !== 3 || !/^00[0-4]-[\w.]+-\d\d$/.test(id) || statement === "") {
      faults.push(`${id}: not a row of ID, statement and proof`);
      continue;
    }
    if (seen.has(id)) faults.push(`${id}: used twice`);
    seen.add(id);
    faults.push(
      ...proofs
        .split("<br>")
        .map(findProofFault)
        .flatMap((fault) => (fault === undefined ? [] : [`${id}: ${fault}`])),
    );
  }
  return faults;
}

function findProofFault(proof: string): string | undefined {
  const links = [...proof.matchAll(/\]\(([^)#]+)/g)].map(([, link = ""]) => link);
  if (proof.startsWith("Deviation: "))
    return links.length > 0 && links.every((link) => existsSync(join(DOCS, link)))
      ? undefined
      : `no existing record is linked in "${proof}"`;
  const [, path = "", name] = /^`([^`]+)`(?: › (.+))?$/.exec(proof) ?? [];
  const reject = /^rejects\/(.+)$/.exec(path)?.[1];
  if (reject !== undefined) return rejected.has(reject) ? undefined : `no case ${reject} in the reject corpus`;
  if (/^(samples|runs)\//.test(path))
    return existsSync(join(VECTORS, `${path}.json`)) ? undefined : `no vector ${path}`;
  if (!/\.test\.tsx?$|^test\/contracts\//.test(path) || name === undefined) return `not a proof: "${proof}"`;
  if (!existsSync(join(packageRoot, path))) return `no file ${path}`;
  const text = readFileSync(join(packageRoot, path), "utf8");
  return hasTest(text, name) ? undefined : `no test "${name}" in ${path}`;
}

/** True if the name is the first argument of a call, as in `it("…",` and `it.each(…)("…",`. A test that may be skipped is not a proof. */
function hasTest(text: string, name: string): boolean {
  return ['"', "'", "`"].some((quote) =>
    text
      .split(`${quote}${name}${quote},`)
      .slice(0, -1)
      .some((before) => before.trimEnd().endsWith("(") && !/\.(?:skip|todo|(?:runIf|skipIf)\(.*\))\(\s*$/.test(before)),
  );
}

describe("docs/conformance.md", () => {
  const page = readFileSync(join(DOCS, "conformance.md"), "utf8");

  it("has a proof or a deviation in each row, and each exists", () => {
    expect(findFaults(page)).toEqual([]);
  });

  it("covers every document", () => {
    for (const document of ["001", "002", "003", "004"]) expect(page).toContain(`\n| ${document}-`);
  });

  it.each([
    ["| 001-1-01 | A | `samples/001-5-reply` |\n| 001-1-01 | A | `samples/001-5-reply` |", "used twice"],
    ["| 001-1 | A | `samples/001-5-reply` |", "not a row"],
    ["| 001-1-01 | A |", "not a row"],
    ["| 001-1-01 | A |  |", "not a proof"],
    ["| 001-1-01 | A | soon |", "not a proof"],
    ["| 001-1-01 | A | `src/log/cursor.ts` › anything |", "not a proof"],
    ["| 001-1-01 | A | `samples/none` |", "no vector"],
    ["| 001-1-01 | A | `rejects/none` |", "no case"],
    ["| 001-1-01 | A | `test/none.test.ts` › none |", "no file"],
    ["| 001-1-01 | A | `test/vectors.test.ts` › names are |", "no test"],
    ["| 001-1-01 | A | `test/chaos/chaos.test.ts` › random faults for some seconds violate nothing |", "no test"],
    ["| 001-1-01 | A | `samples/001-5-reply`<br>Deviation: none |", "no existing record"],
    ["| 001-1-01 | A | Deviation: [none](decisions/none.md) |", "no existing record"],
  ])("reports %s", (row, fault) => {
    expect(findFaults(row)).toEqual([expect.stringContaining(fault)]);
  });
});
