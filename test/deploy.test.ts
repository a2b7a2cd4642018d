// The examples of `deploy`: they can be parsed, and their settings, limits and addresses agree with the server.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { LIMIT_KEYS } from "../src/cli/serve/limits.ts";
import { variableOf } from "../src/cli/serve/setting.ts";
import { SETTING_KEYS, SETTINGS } from "../src/cli/serve/settings.ts";
import { SERVER_LIMITS } from "../src/server/index.ts";
import { packageRoot } from "./source-files.ts";

const folder = join(packageRoot, "deploy");
const readText = (name: string): string => readFileSync(join(folder, name), "utf8");
const files = readdirSync(folder);
const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string };
  readonly peerDependencies: { readonly [name: string]: string };
};

/** Time that a server may take to stop, in seconds. */
const STOP_S = (SETTINGS.drain.defaultValue + SETTINGS.grace.defaultValue + SERVER_LIMITS.closeMs) / 1000;
const PORT = String(SETTINGS.port.defaultValue);

interface Compose {
  readonly services: {
    readonly [name: string]: {
      readonly image: string;
      readonly command?: readonly string[];
      readonly environment?: { readonly [name: string]: string };
      readonly depends_on?: object;
      readonly stop_grace_period?: string;
      readonly volumes?: readonly string[];
    };
  };
  readonly volumes: object;
}

const compose = parse(readText("compose.yaml"), { merge: true }) as Compose;

/** The first number after a name. */
function readNumber(text: string, name: RegExp): number {
  return Number(new RegExp(`${name.source}\\D*(?<number>\\d+)`, "m").exec(text)?.groups?.["number"]);
}

function findUnknownVariables(text: string): string[] {
  const known = new Set(SETTING_KEYS.map(variableOf));
  return (text.match(/\bLOOM_[A-Z_]+/g) ?? []).filter((name) => !known.has(name));
}

it("names only settings that exist", () => {
  expect(findUnknownVariables("LOOM_STORE LOOM_STORES=1")).toEqual(["LOOM_STORES"]);
  for (const name of files) expect([name, findUnknownVariables(readText(name))]).toEqual([name, []]);
  for (const name of files)
    for (const [, key = ""] of readText(name).matchAll(/(?:settings?|limits?|and) `([a-z-]+)`/g))
      expect([...SETTING_KEYS, ...LIMIT_KEYS]).toContain(key);
  // Every value can be read.
  const given = { ...compose.services["server-1"]?.environment, ...readVariables(readText("loom.env")) };
  for (const [name, value] of Object.entries(given)) {
    const key = SETTING_KEYS.find((one) => variableOf(one) === name);
    const text = value.replaceAll(
      /\$\{[A-Z_]+(?::-(?<fallback>[^}]*)|:\?)?\}/g,
      (_, fallback?: string) => fallback ?? "x",
    );
    if (key !== undefined) expect([name, SETTINGS[key].kind.read(text)]).not.toEqual([name, undefined]);
  }
});

function readVariables(text: string): { readonly [name: string]: string } {
  return Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.includes("=") && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

it("has a compose file whose services and files exist", () => {
  const { services, volumes } = compose;
  expect(Object.keys(services)).toEqual(["database", "migrate", "app-user", "server-1", "server-2", "proxy"]);
  for (const { depends_on: needed = {}, volumes: mounts = [] } of Object.values(services)) {
    for (const name of Array.isArray(needed) ? (needed as string[]) : Object.keys(needed))
      expect(services).toHaveProperty(name);
    for (const mount of mounts) {
      const [from = ""] = mount.split(":");
      expect([...Object.keys(volumes), ...files.map((name) => `./${name}`)]).toContain(from);
    }
  }
  expect(services["server-2"]).toEqual(services["server-1"]);
  expect(readNumber(readText("compose.yaml"), /stop_grace_period:/)).toBeGreaterThan(STOP_S);
  // The last step of the database is what the servers wait for.
  expect(services["server-1"]?.depends_on).toEqual({ "app-user": { condition: "service_completed_successfully" } });
});

it("gives a server enough time to stop", () => {
  expect(readNumber(readText("loom@.service"), /^TimeoutStopSec=/)).toBeGreaterThan(STOP_S);
  // A proxy sees the 503 of /readyz before the server closes its connections.
  expect(2 * readNumber(readText("Caddyfile"), /health_interval/)).toBeLessThan(SETTINGS.drain.defaultValue / 1000);
});

it("lets the proxies pass on everything that servers accept", () => {
  const { maxIngestBytes, maxBlobBytes, maxInlineBytes, heartbeatMs, pingMs } = SERVER_LIMITS;
  const largest = Math.max(maxIngestBytes, maxBlobBytes, maxInlineBytes) / 2 ** 20;
  expect(readNumber(readText("Caddyfile"), /max_size/)).toBeGreaterThanOrEqual(largest);
  const nginx = readText("nginx.conf");
  expect(readNumber(nginx, /client_max_body_size/)).toBeGreaterThanOrEqual(largest);
  expect(readNumber(nginx, /proxy_read_timeout/) * 1000).toBeGreaterThan(2 * Math.max(heartbeatMs, pingMs));
});

it("uses the default port, and versions that the package supports", () => {
  const docker = readText("Dockerfile");
  for (const name of ["Caddyfile", "nginx.conf"])
    for (const server of ["server-1", "server-2"]) expect(readText(name)).toContain(`${server}:${PORT}`);
  for (const text of [`LOOM_PORT=${PORT}`, `EXPOSE ${PORT}`, `127.0.0.1:${PORT}/healthz`])
    expect(docker).toContain(text);
  const oldest = Number(/\d+/.exec(manifest.engines.node)?.[0]);
  for (const [, major] of docker.matchAll(/^FROM node:(\d+)/gm)) expect(Number(major)).toBeGreaterThanOrEqual(oldest);
  const packages = [...docker.matchAll(/\b(?<name>pg|pino|prom-client)@(?<major>\d+)/g)];
  expect(packages).toHaveLength(3);
  for (const { groups = {} } of packages) expect(manifest.peerDependencies[groups["name"] ?? ""]).toMatch(/^>=\d+$/);
});

it("gives the user of the servers the permissions of the guide", () => {
  const guide = readFileSync(join(packageRoot, "docs", "guides", "operate-postgresql.md"), "utf8");
  const grants = /```sql\n(?<sql>GRANT[^`]+)```/.exec(guide)?.groups?.["sql"]?.trim().split("\n") ?? [];
  expect(grants.length).toBeGreaterThan(3);
  expect(readText("app-user.sql").split("\n")).toEqual(expect.arrayContaining(grants));
});
