// A listening server with a page, blobs and metrics, and without authentication.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createPrometheusObserver } from "../../src/observe/index.ts";
import {
  createMemoryBlobStore,
  createPage,
  type LoomServer,
  type LoomServerOptions,
  SERVER_LIMITS,
  startLoomServer,
} from "../../src/server/index.ts";

export async function openServer(options: Partial<LoomServerOptions> = {}): Promise<LoomServer> {
  const { register } = await createPrometheusObserver();
  const server = await startLoomServer({
    log: new MemoryLog(),
    agents: { main: agent({ model: new ScriptedModel([]) }) },
    port: 0,
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    register,
    page: createPage({ folder: makePage() }),
    ...options,
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  await server.handler.ready;
  return server;
}

/** Writes a page of two files and returns its folder. */
function makePage(): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), '<!doctype html><script src="assets/a.js"></script>');
  writeFileSync(join(folder, "assets", "a.js"), "export {};");
  return folder;
}
