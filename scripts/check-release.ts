// Checks that a tag can be published: it names the version of package.json, the changelog has a section for it, and the
// address of the repository is no longer the placeholder. Usage: node scripts/check-release.ts v1.2.3
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const { version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly repository: { readonly url: string };
};
const [tag = ""] = process.argv.slice(2);

const faults = [
  tag === `v${version}` ? "" : `the tag is "${tag}", but package.json has version ${version}; tag v${version}`,
  readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`\n## [${version}]`)
    ? ""
    : `CHANGELOG.md has no section [${version}]; rename [Unreleased]`,
  repository.url.includes("/OWNER/") ? "replace OWNER in repository.url of package.json" : "",
].filter((fault) => fault !== "");

for (const fault of faults) console.error(`check-release: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
