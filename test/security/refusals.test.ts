// Internal errors in every endpoint result in a problem with a code and an ID, and reveal no stack, path, file name or
// secret.
import { describe, expect } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import type { BlobStore } from "../../src/server/index.ts";
import { testThreat } from "./test-threat.ts";
import { openServer } from "./open-server.ts";

const PATH = "/home/zebra/.local/share/loom/store.db";
const SECRET = "sk-canary-0123456789abcdef";

const FAULTS: readonly (readonly [name: string, make: () => unknown])[] = [
  ["a system error", () => Object.assign(new Error(`ENOENT: no such file, open '${PATH}'`), { code: "ENOENT" })],
  ["an error of a package", () => new TypeError(`node_modules/left-pad: ${SECRET}`, { cause: new Error(PATH) })],
  ["a store that fails", () => new LoomError("store_failed", `The store cannot be opened: ${PATH}`, { path: PATH })],
  ["a damaged store", () => new LoomError("store_corrupt", `damaged: ${PATH}`, { path: PATH })],
  ["a busy store", () => new LoomError("store_busy", `locked: ${PATH}`, { path: PATH })],
  ["a failing MCP server", () => new LoomError("mcp_failed", `spawn ${PATH} ${SECRET}`, { command: PATH })],
  ["a thrown object", () => ({ stack: PATH, message: SECRET })],
];

/** Rejects with any value, also with one that is not an error. */
// oxlint-disable-next-line prefer-promise-reject-errors
const fail = (make: () => unknown): Promise<never> => Promise.reject(make());

/** Wraps an object so that all of its methods fail while `isBroken` returns true. */
function breakAll<T extends object>(whole: T, isBroken: () => boolean, make: () => unknown): T {
  return new Proxy(whole, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!isBroken() || name === "close") return value.bind(target) as unknown;
      return () => fail(make);
    },
  });
}

const NO_BLOBS = { put: 1, get: 1, read: 1, list: 1, copy: 1, deleteSession: 1, close: 1 };

describe("an internal error", () => {
  for (const [name, make] of FAULTS)
    testThreat("leaks-in-errors", `${name} leaks no details`, async ({ attempt }) => {
      let isBroken = false;
      const reported: string[] = [];
      const blobs = Object.fromEntries(Object.keys(NO_BLOBS).map((key) => [key, () => Promise.resolve()]));
      const { port } = await openServer({
        log: breakAll(new MemoryLog(), () => isBroken, make),
        blobs: breakAll(blobs as unknown as BlobStore, () => isBroken, make),
        register: { contentType: "text/plain", metrics: () => fail(make) },
        onError: (_error, id) => void reported.push(id),
      });
      isBroken = true;
      for (const { method, path, body } of OPERATIONS) {
        const to = path.replaceAll(/\{(\w+)\}/g, "x");
        await attempt(`${method} ${path}`, async () => {
          const sent = body === undefined ? {} : { body: JSON.stringify(BODIES[path] ?? {}) };
          const headers = { accept: "application/problem+json, */*", "content-type": "application/json" };
          const response = await fetch(`http://127.0.0.1:${port}${to}`, { method, headers, ...sent });
          const text = await response.text();
          const all = text + JSON.stringify([...response.headers]);
          expect(all).not.toMatch(/zebra|store\.db|canary|node_modules|left-pad|ENOENT|\bat .*\.ts/);
          if (response.status < 500 || path === "/readyz") return;
          expect(response.headers.get("content-type")).toBe("application/problem+json");
          const { id, code, status } = JSON.parse(text) as { readonly [name: string]: unknown };
          expect([typeof code, status]).toEqual(["string", response.status]);
          expect(reported).toContain(id);
        });
      }
      await attempt("errors did occur", () => expect(reported.length).toBeGreaterThan(10));
    });
});

/** Valid bodies, by path. */
const BODIES: { readonly [path: string]: object } = {
  "/v1/sessions": { session_id: "x" },
  "/v1/sessions/{id}": { title: "x" },
  "/v1/runs": { message: "x" },
  "/v1/sessions/{id}/runs": { message: "x" },
  "/v1/sessions/{id}/commands": { type: "cancel", id: "c", session: "x" },
  "/api/chat": { content: "x", session_id: "x" },
  "/ag-ui": { threadId: "x", runId: "x", messages: [{ role: "user", content: "x" }] },
  "/ag-ui/{agent}": { threadId: "x", runId: "x", messages: [{ role: "user", content: "x" }] },
};
