/** Builds the page from the current source as users get it. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { isBuilt } from "../../scripts/hash-sources.ts";
import { createPage } from "../../src/server/index.ts";
import { buildOnce } from "../build-once.ts";
import { packageRoot } from "../source-files.ts";

const SOURCES = ["src/protocol", "src/framing", "src/dialects", "src/client", "src/react", "web"];

/** Returns the folder of the built page. */
export function buildPage(): Promise<string> {
  return buildOnce({ name: "page", sources: SOURCES, build: buildAsForUsers });
}

let shared: Promise<ReturnType<typeof createPage>> | undefined;

/** Returns the handler of the built page. The files of a thread share it, because it compresses what it serves. */
export function shareBuiltPage(): Promise<ReturnType<typeof createPage>> {
  shared ??= buildPage().then((folder) => createPage({ folder }));
  shared.catch(() => (shared = undefined));
  return shared;
}

/** In test mode, libraries would be bundled as development builds. */
async function buildAsForUsers(outDir: string): Promise<void> {
  if (isBuilt()) return cpSync(join(packageRoot, "dist", "page"), outDir, { recursive: true });
  const { NODE_ENV } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    // Loaded on demand: most tests use the cached build.
    const { build } = await import("vite");
    await build({
      configFile: join(packageRoot, "web", "vite.config.ts"),
      logLevel: "error",
      build: { outDir, emptyOutDir: true },
    });
  } finally {
    if (NODE_ENV === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = NODE_ENV;
  }
}
