/**
 * Removes from `node_modules` what nothing in this project loads: more than a third of it. Runs in `npm ci`
 * (`prepare` in `web/package.json`), before the build, so that a removed file that the build needs fails the installation.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Files and folders, as paths that start with the name of their package. */
const UNUSED: readonly RegExp[] = [
  /\.map$/,
  // Node does not load TypeScript of packages. Declarations are kept.
  /\/src\/(?!.*\.d\.).*\.[cm]?tsx?$/,
  /^(?!@types\/)(?:@[^/]+\/)?[^/]+\/(?:demo|docs|test|CHANGELOG\.md)$/,
  // For compiling native modules, which this project does not do.
  /^node-[^/]+\/include$/,
  // Other builds of the same package.
  /^(?:@langchain\/[^/]+|langsmith)\/.*\.(?:cjs|d\.cts)$/,
  /^@modelcontextprotocol\/sdk\/dist\/cjs$/,
  /^@openai\/agents[^/]*\/.*\.js$/,
  /^@openai\/agents-realtime\/dist\/bundle$/,
  /^@opentelemetry\/semantic-conventions\/dist\/experimental_/,
  /^(?:@vue\/[^/]+|vue)\/dist\/.*(?:browser|global)/,
  /^cytoscape\/dist\/.*(?:cjs|min|umd)/,
  /^es-toolkit\/.*\.(?:d\.m?ts|js)$/,
  /^gpt-tokenizer\/(?:cjs|data|src)$/,
  /^highlight\.js\/(?:lib\/languages|scss|styles)$/,
  /^js-tiktoken\/dist\/index\./,
  /^(?:@mermaid-js\/parser|mermaid)\/dist\/(?:chunks\/)?mermaid[^/]*\.(?:esm|js|min)/,
];

function removeUnused(folder: string, packagePath: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    const inPackage = entry.name === "node_modules" ? "" : `${packagePath}${entry.name}`;
    if (UNUSED.some((pattern) => pattern.test(inPackage))) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) removeUnused(path, inPackage === "" ? "" : `${inPackage}/`);
  }
}

removeUnused("node_modules", "");
