// The dashboard and the alert rules of docs/operations: they can be parsed, and every metric that they name is exported
// by a running server.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import { createPrometheusObserver } from "../../src/observe/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/index.ts";
import { packageRoot } from "../source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-operations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const readText = (name: string): string => readFileSync(join(packageRoot, "docs", name), "utf8");
const dashboard = readText("operations/grafana-dashboard.json");
const rules = readText("operations/prometheus-alerts.yml");

/** Names of metrics, without the suffixes of a histogram. */
function listMetrics(text: string): ReadonlySet<string> {
  const names = text.match(/\bloom_[a-z_]+/g) ?? [];
  return new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, "")));
}

/** Serves one message and several requests, and returns what `/metrics` then shows. */
async function scrape(): Promise<string> {
  const prometheus = await createPrometheusObserver();
  const log = await openSqliteLog(join(folder, "loom.db"), { meter: prometheus });
  const credentials = openCredentials(":memory:");
  const { secret } = await credentials.createToken({
    name: "test",
    scopes: ["admin", "read", "run", "write", "metrics"],
  });
  const server = await startLoomServer({
    log,
    agents: { main: agent({ provider: "offline" }) },
    port: 0,
    auth: { credentials },
    observers: [prometheus],
    meter: prometheus,
    register: prometheus.register,
  });
  try {
    const call = async (path: string, token: string, init: RequestInit = {}): Promise<string> => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const response = await fetch(`${server.url}${path}`, { ...init, headers });
      return response.text();
    };
    const body = JSON.stringify({ session_id: "demo", content: "What is 6*7?" });
    expect(await call("/api/chat", secret, { method: "POST", body })).toContain("session_end");
    await call("/v1/sessions", "loom_tok_wrong");
    await fetch(`${server.url}/v1/sessions`);
    return await call("/metrics", secret);
  } finally {
    await server.close();
    await log.close();
    await credentials.close();
  }
}

describe("docs/operations", () => {
  it("has a dashboard that is valid JSON, with panels that do not overlap", () => {
    interface Panel {
      readonly id: number;
      readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    }
    const { panels } = JSON.parse(dashboard) as { readonly panels: readonly Panel[] };
    expect(panels.length).toBeGreaterThan(20);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  it("has alert rules with the keys that Prometheus knows, each explained in the guide", () => {
    // A subset of YAML that needs no parser: one key per line, at a fixed depth.
    const line =
      /^(?:#.*|groups:| {2}- name: \w+| {4}rules:| {6}- alert: \w+| {8}(?:expr: [^#]+|for: \d+[smh]|labels:|annotations:)| {10}(?:severity: (?:critical|warning)|summary: "[^"]+"))$/;
    const lines = rules.trimEnd().split("\n");
    expect(lines.filter((text) => !line.test(text))).toEqual([]);
    const alerts = lines.flatMap((text) => /- alert: (?<name>\w+)/.exec(text)?.groups?.["name"] ?? []);
    expect(alerts.length).toBeGreaterThan(8);
    expect(lines.filter((text) => text.startsWith("        expr: "))).toHaveLength(alerts.length);
    const explained = [...readText("operations/README.md").matchAll(/^\| `(?<name>Loom\w+)`/gm)];
    expect(explained.map(({ groups }) => groups?.["name"])).toEqual(alerts);
  });

  it("names only metrics that a running server exports; the guide lists them all", async () => {
    const text = await scrape();
    const exported = new Set([...text.matchAll(/^# TYPE (?<name>\S+)/gm)].map(({ groups }) => groups?.["name"] ?? ""));
    const missing = [...listMetrics(dashboard), ...listMetrics(rules)].filter((name) => !exported.has(name));
    expect(missing).toEqual([]);
    const listed = listMetrics(readText("guides/use-metrics.md"));
    expect([...exported].filter((name) => !listed.has(name))).toEqual([]);
    expect(text).toMatch(/^loom_store_writable 1$/m);
    expect(text).toMatch(/^loom_store_duration_seconds_count\{operation="append"\} [1-9]/m);
    expect(text).toMatch(/^loom_store_duration_seconds_count\{operation="read"\} [1-9]/m);
    expect(text).toMatch(/^loom_store_wal_bytes [1-9]/m);
    expect(text).toMatch(/^loom_store_pending_commands 0$/m);
    expect(text).toMatch(/^loom_event_loop_delay_seconds\{quantile="0.99"\} \d/m);
    expect(text).toMatch(/^loom_held_bytes\{part="channels"\} \d/m);
    expect(text).toMatch(/^loom_held_bytes\{part="feeds"\} \d/m);
    expect(text).toContain('loom_authentications_total{kind="token",outcome="accepted"} 2');
    expect(text).toContain('loom_authentications_total{kind="token",outcome="rejected"} 1');
    expect(text).toContain('loom_authentications_total{kind="none",outcome="anonymous"} 1');
    if (process.platform === "linux") expect(text).toMatch(/^loom_open_files [1-9]/m);
  });
});
