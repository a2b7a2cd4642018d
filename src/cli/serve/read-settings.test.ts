// Settings: sources, precedence and errors.
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CliError, parseCommand, usageOf } from "../command.ts";
import { collectDatabaseOptions, findUnusedSettings, readDatabaseOptions } from "../database-settings.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { readSettings } from "./read-settings.ts";
import { settingsTable } from "../../../scripts/generate/emit-settings.ts";
import { describeSettings, SERVE } from "./serve-command.ts";
import type { Setting } from "./setting.ts";
import { variableOf } from "./setting.ts";
import { flagOf, SETTING_KEYS, SETTINGS } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function writeFile(content: unknown): string {
  const file = join(folder, `${++count}.json`);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  return file;
}

const read = (argv: readonly string[] = [], env: { readonly [name: string]: string } = {}) =>
  readSettings(parseCommand(SERVE, argv), env);

function rejection(argv: readonly string[], env: { readonly [name: string]: string } = {}): string {
  try {
    read(argv, env);
  } catch (error) {
    if (error instanceof CliError) return [error.message, error.hint].filter(Boolean).join(" | ");
    throw error;
  }
  throw new Error("the settings were accepted");
}

describe("readSettings", () => {
  it("returns defaults", () => {
    const { values, sources, file, warnings } = read();
    expect(values).toMatchObject({ host: "127.0.0.1", port: 10_338, "allow-public": false, model: "offline" });
    expect(values).toMatchObject({ compression: true, heartbeat: 15_000, "max-body": 256 * 1024, store: undefined });
    expect(new Set(Object.values(sources))).toEqual(new Set(["default"]));
    expect([file, warnings]).toEqual([undefined, []]);
  });

  it("prefers flags to the environment and the environment to the file", () => {
    const file = writeFile({
      port: 1,
      model: "ollama/x",
      host: "localhost",
      limits: { "max-body": "1MB" },
      origins: ["https://a.example"],
    });
    const { values, sources } = read(["--port", "3", "--config", file], { LOOM_PORT: "2", LOOM_MODEL: "openai/y" });
    expect(values).toMatchObject({ port: 3, model: "openai/y", host: "localhost", "max-body": 1024 ** 2 });
    expect(values.origins).toEqual(["https://a.example"]);
    expect(sources).toMatchObject({ port: "flag", model: "environment", host: "file", grace: "default" });
    expect(read([], { LOOM_CONFIG: file }).values.port).toBe(1);
    expect(read([], { LOOM_PORT: " " }).values.port).toBe(10_338);
  });

  it("reads limits from all sources, each from the first that has it", () => {
    const file = writeFile({ limits: { "max-body": "1MB", "max-frame": "2MB", "max-ingest": null, ping: 0 } });
    const { values } = read(["--limits", "max-body=3MB", "--limits", "max-sockets=5", "--config", file], {
      LOOM_LIMITS: "max-body=4MB,max-frame=5MB",
    });
    expect(values.limits).toEqual({ "max-body": 3 * 1024 ** 2, "max-frame": 5 * 1024 ** 2, "max-sockets": 5, ping: 0 });
    expect(values["max-ingest"]).toBe(64 * 1024 ** 2);
  });

  it("reads boolean settings from every source", () => {
    expect(read(["--allow-fetch", "--no-images"]).values).toMatchObject({ "allow-fetch": true, images: false });
    expect(read([], { LOOM_ALLOW_FETCH: "1", LOOM_IMAGES: "off" }).values).toMatchObject({
      "allow-fetch": true,
      images: false,
    });
    const file = writeFile({ "allow-fetch": true, images: false });
    expect(read(["--config", file], { LOOM_IMAGES: "true" }).values).toMatchObject({
      "allow-fetch": true,
      images: true,
    });
    const back = read(["--config", file, "--no-allow-fetch", "--images"]);
    expect(back.values).toMatchObject({ "allow-fetch": false, images: true });
    expect(describeSettings(back, 120)).toMatch(/allow-fetch +false {2}\(--no-allow-fetch\)/);
  });

  it("reads how to connect to a database, and does not print its password", () => {
    const url = "postgres://me:secret@db.example.com/loom?sslmode=require";
    const argv = ["--store", url, "--store-schema", "team_a", "--store-connections", "4", "--lease", "5s"];
    const settings = read(argv, { LOOM_STORE_LISTEN_URL: url, LOOM_STORE_TIMEOUT: "10s" });
    expect(collectDatabaseOptions(settings.values)).toEqual({
      schema: "team_a",
      listenUrl: url,
      maxConnections: 4,
      statementMs: 10_000,
      waitMs: 60_000,
    });
    const shown = describeSettings(settings, 120, {});
    expect(shown).toMatch(/store +postgres:\/\/db.example.com\/loom {2}\(--store\)/);
    expect(shown).not.toContain("secret");
    expect(findUnusedSettings(url, settings.values)).toEqual([]);
    expect(findUnusedSettings("loom.db", settings.values)).toEqual([
      "store-schema",
      "store-listen-url",
      "store-connections",
      "store-timeout",
    ]);
    expect(findUnusedSettings("loom.db", read().values)).toEqual([]);
    expect(readDatabaseOptions({ LOOM_STORE_SCHEMA: "team_a" })).toEqual({ schema: "team_a" });
    expect(() => readDatabaseOptions({ LOOM_STORE_CONNECTIONS: "no" })).toThrow(
      "LOOM_STORE_CONNECTIONS: no is not a number from 2 to 1000",
    );
  });

  it("resolves paths in the file relative to the file", () => {
    const file = writeFile({ store: "data/loom.db", kb: "none", workspace: "/srv", mcp: "none" });
    expect(read(["--config", file]).values).toMatchObject({
      mcp: join(folder, "none"),
      store: join(folder, "data/loom.db"),
      kb: "none",
      workspace: "/srv",
    });
    expect(read(["--store", "x.db"]).values.store).toBe("x.db");
  });

  it.each([
    ["64KB", 65_536],
    ["2mb", 2 * 1024 ** 2],
    ["1000", 1000],
  ])("reads the size %s", (given, expected) => {
    expect(read(["--limits", `max-body=${given}`]).values["max-body"]).toBe(expected);
  });

  it.each([
    ["500ms", 500],
    ["15s", 15_000],
    ["10 m", 600_000],
    ["0", 0],
  ])("reads the duration %s", (given, expected) => {
    expect(read(["--grace", given]).values.grace).toBe(expected);
  });

  it.each<[readonly string[], { readonly [name: string]: string }, string]>([
    [[], { LOOM_PORT: "70000" }, "LOOM_PORT: 70000 is not a port number from 0 to 65535"],
    [["--port", "http"], {}, "--port: http is not a port number from 0 to 65535"],
    [["--port", "1.5"], {}, "--port: 1.5 is not a port number from 0 to 65535"],
    [["--agent", "a b"], {}, "--agent: a b is not the name of an agent"],
    [
      ["--origins", "https://a.example/path"],
      {},
      "--origins: https://a.example/path is not a comma-separated list of origins",
    ],
    [["--hosts", "a b"], {}, "--hosts: a b is not a comma-separated list of hosts"],
    [["--grace", "soon"], {}, "--grace: soon is not a duration such as 500ms, 15s or 10m, or 0"],
    [["--limits", "max-body=-1"], {}, "--limits: `max-body`: -1 is not a size such as 64KB or 10MB"],
    [["--limits", "--port", "1"], {}, "`--limits` needs a value | run `loom serve --help` for usage"],
    [[], { LOOM_LIMITS: "max-body=0" }, "LOOM_LIMITS: `max-body`: 0 is not a size such as 64KB or 10MB"],
    [["--limits", "max-bdy=1"], {}, "--limits: unknown limit `max-bdy`; did you mean `max-body`?"],
    [["--limits", "max-body=1MB=5GB"], {}, "--limits: `max-body`: 1MB=5GB is not a size such as 64KB or 10MB"],
    [["--limits", "max-body=1MB,max-body=5GB"], {}, "--limits: `max-body` is given twice"],
    [
      ["--max-sockts", "5"],
      {},
      "unknown option `--max-sockts` | `max-sockets` is a limit: use `--limits max-sockets=…`",
    ],
    [
      [],
      { LOOM_TOKENS_PER_DAY: "5" },
      'unknown setting LOOM_TOKENS_PER_DAY | it is a limit: use `LOOM_LIMITS="tokens-per-day=…"`',
    ],
    [["--limits", "max-body"], {}, "--limits: `max-body` has no value; write `max-body=…`"],
    [["--max-body", "1MB"], {}, "unknown option `--max-body` | `max-body` is a limit: use `--limits max-body=…`"],
    [["--base-url", "ftp://x"], {}, "--base-url: ftp://x is not an http:// or https:// URL"],
    [[], { LOOM_ALLOW_FETCH: "maybe" }, "LOOM_ALLOW_FETCH: maybe is not true or false"],
    [[], { LOOM_DEBUG: "constructor" }, "LOOM_DEBUG: constructor is not true or false"],
    [["--images", "--no-images"], {}, "--images and --no-images cannot be used together"],
    [["--host", " "], {}, "--host:   is not a non-empty string"],
    [["--base-path", "a b"], {}, "--base-path: a b is not a path such as /agents"],
    [
      ["--trusted-proxies", "loopback,me"],
      {},
      "--trusted-proxies: loopback,me is not a comma-separated list of IP addresses, CIDR ranges or the word loopback",
    ],
    [["--lease", "500ms"], {}, "--lease: 500ms is not a duration from 1s to 24 days, such as 15s or 10m"],
    [["--store-connections", "1"], {}, "--store-connections: 1 is not a number from 2 to 1000"],
    [["--store-timeout", "0"], {}, "--store-timeout: 0 is not a duration from 1s to 24 days, such as 15s or 10m"],
    [[], { LOOM_STORE_WAIT: "long" }, "LOOM_STORE_WAIT: long is not a duration such as 500ms, 15s or 10m, or 0"],
    [
      ["--store-schema", "My Schema"],
      {},
      "--store-schema: My Schema is not a schema name of at most 63 lower-case letters, digits and underscores",
    ],
    [
      [],
      { LOOM_STORE_LISTEN_URL: "http://me:secret@db" },
      "LOOM_STORE_LISTEN_URL: the given value is not a postgres:// URL",
    ],
    [["--api-key", "sk-secret"], {}, "unknown option `--api-key` | run `loom serve --help` for usage"],
    [["--nonsense"], {}, "unknown option `--nonsense` | run `loom serve --help` for usage"],
  ])("rejects %j %j by name", (argv, env, message) => {
    expect(rejection(argv, env)).toBe(message);
  });

  it("rejects settings of a file with name, file and a suggestion", () => {
    const reject = (content: unknown): string => {
      const file = writeFile(content);
      return rejection(["--config", file]).replaceAll(file, "FILE");
    };
    expect(reject({ prot: 1 })).toBe('FILE: unknown setting "prot" | did you mean "port"?');
    expect(reject({ basePath: 1 })).toBe('FILE: unknown setting "basePath" | did you mean "base-path"?');
    expect(reject({ maxBody: 1 })).toBe('FILE: unknown setting "maxBody" | "max-body" belongs into "limits": {}');
    expect(reject({ limits: { "max-body": [] } })).toBe(
      '"limits" in FILE: `max-body`: an array is not a size such as 64KB or 10MB',
    );
    expect(reject({ limits: 5 })).toMatch(/^"limits" in FILE: 5 is not a list of limits/);
    expect(reject({ wholly_different_thing: 1 })).toContain("run `loom serve --help` for a list");
    expect(reject({ port: "x" })).toBe('"port" in FILE: x is not a port number from 0 to 65535');
    expect(reject({ port: [1] })).toMatch(/^"port" in FILE: .* is not a port/);
    expect(reject({ debug: ["on"] })).toMatch(/^"debug" in FILE: .* is not true or false/);
    expect(reject({ "api-key": 12_345_678 })).toBe('"api-key" in FILE: the given value is not a non-empty string');
    expect(reject('{"api-key": "sk-secret-value"')).not.toContain("secret");
    expect(reject([])).toContain("one JSON object");
    expect(rejection(["--config", join(folder, "missing.json")])).toContain("(ENOENT)");
    expect(reject({ __proto__: 1, constructor: 1 })).toContain('unknown setting "constructor"');
  });

  it("reads a list of models or none", () => {
    expect(read().values).toMatchObject({ models: undefined, "offline-delay": 20 });
    expect(read(["--models", "offline, openai/gpt-5"]).values.models).toEqual(["offline", "openai/gpt-5"]);
    expect(read([], { LOOM_MODELS: "none", LOOM_OFFLINE_DELAY: "0" }).values).toMatchObject({
      models: ["none"],
      "offline-delay": 0,
    });
    expect(read(["--config", writeFile({ models: [] })]).values.models).toEqual([]);
    expect(rejection(["--models", "a b"])).toBe("--models: a b is not a comma-separated list of models");
    expect(rejection(["--models", "/x"])).toContain("is not a comma-separated list of models");
    const env = { ANTHROPIC_API_KEY: "sk-secret" };
    const printed = describeSettings(read([], env), 120, env);
    expect(printed).toMatch(/^ {2}models +offline,anthropic\/claude-sonnet-4-5,anthropic\/\* {2}\(default\)$/m);
    expect(printed).not.toContain("secret");
  });

  it.each([
    ["set", "tot.bean=5", "Unknown setting `tot.bean`; did you mean `tot.beam`?"],
    ["set", "tott.beam=5", "no agent `tott` has strategy settings; did you mean `tot`?"],
    ["set", "beam=5", "`beam=5` must have the form AGENT.SETTING=VALUE"],
    ["set", "tot.beam=0", "`tot.beam` must be an integer from 1 to 2000, not 0"],
    ["set", "tot.beam=5,tot.search=dept", '`tot.search` must be breadth or depth, not "dept"; did you mean "depth"?'],
    [
      "caps",
      "tot.search=depth",
      "`tot.search` has no cap; the settings with a cap are samples, beam, candidates, depth, backtracks",
    ],
  ])("explains what is wrong with the strategy settings --%s %s", (flag, given, message) => {
    expect(rejection([`--${flag}`, given])).toBe(`--${flag}: ${message}`);
    const file = writeFile({ [flag]: given.split(",") });
    expect(rejection(["--config", file])).toBe(`"${flag}" in ${file}: ${message}`);
  });

  it("reads secrets from the environment or the file and never prints them", () => {
    const file = writeFile({ "api-key": "sk-secret" });
    const known = [read(["--config", file]), read([], { LOOM_API_KEY: "sk-secret" })];
    for (const one of known) {
      expect(one.values["api-key"]).toBe("sk-secret");
      expect(one.warnings).toEqual([]);
      expect(describeSettings(one, 100)).not.toContain("sk-secret");
    }
    const address = read([], { LOOM_BASE_URL: "https://me:sk-secret@models.example/v1" });
    expect(address.values["base-url"]).toContain("sk-secret");
    expect(describeSettings(address, 100)).toContain("https://hidden@models.example/v1");
    chmodSync(file, 0o644);
    const quoted = join(dirname(file), "it's.json");
    renameSync(file, quoted);
    const words = `chmod 600 '${quoted.replace("'", String.raw`'\''`)}'`;
    expect(read(["--config", quoted]).warnings).toEqual([expect.stringContaining(words)]);
  });

  it("warns about unknown variables with a suggestion", () => {
    const { warnings } = read([], {
      LOOM_POTR: "1",
      LOOM_WHOLLY_DIFFERENT: "1",
      LOOM_HOTS: " ",
      LOOM_MAX_BDY: "1MB",
      LOOM_LONG: "1",
      LOOM_PORT: "1",
      LOOM_KB: "none",
      PORT: "1",
    });
    expect(warnings).toEqual([
      "ignored the unknown setting LOOM_POTR: did you mean LOOM_PORT?",
      "ignored the unknown setting LOOM_WHOLLY_DIFFERENT: run `loom serve --help` for a list",
      'ignored the unknown setting LOOM_MAX_BDY: use LOOM_LIMITS="max-body=…"',
    ]);
  });

  it("prints defaults that depend on the environment", () => {
    const env = { XDG_DATA_HOME: "/data" };
    const printed = describeSettings(read([], env), 120, env);
    expect(printed).toMatch(/^ {2}store +\/data\/loom\/loom\.db {2}\(default\)$/m);
    expect(printed).toMatch(/^ {2}kb +\/data\/loom\/knowledge\.db {2}\(default\)$/m);
    expect(describeSettings(read(["--kb", "none"], env), 120, env)).toMatch(/^ {2}kb +none {2}\(--kb\)$/m);
    const table = settingsTable();
    expect(table).toMatch(/^\| `store` .*\| `~\/\.local\/share\/loom\/loom\.db` \|/m);
    expect(table).toMatch(
      /^\| `kb` .*\| the store if that is a database, otherwise `knowledge\.db` next to the default store \|/m,
    );
    expect(usageOf(SERVE, 400)).toContain("otherwise knowledge.db next to the default store; env: LOOM_KB)");
    const url = "postgres://me:secret@db.example.com/loom";
    const shared = describeSettings(read(["--store", url], env), 120, env);
    expect(shared).toMatch(/^ {2}kb +postgres:\/\/db\.example\.com\/loom {2}\(default\)$/m);
    expect(shared).not.toContain("secret");
  });

  it("prints settings with their source", () => {
    const file = writeFile({ host: "localhost" });
    const printed = describeSettings(read(["--no-images", "--config", file], { LOOM_PORT: "0" }), 120);
    expect(printed).toMatch(/^ {2}host +localhost {2}\(.*\.json\)$/m);
    expect(printed).toMatch(/^ {2}port +0 {2}\(LOOM_PORT\)$/m);
    expect(printed).toMatch(/^ {2}images +false {2}\(--no-images\)$/m);
    expect(printed).toMatch(/^ {2}grace +10s {2}\(default\)$/m);
    for (const key of SETTING_KEYS) expect(printed).toContain(`  ${key}`);
    const limited = describeSettings(read(["--limits", "max-body=1MB"]), 120);
    expect(limited).toMatch(/^ {2}limits +max-body=1MB {2}\(--limits\)$/m);
    expect(limited).toMatch(/^ {2}limits\.max-body +1MB {2}\(limits\)$/m);
    expect(limited).toMatch(/^ {2}limits\.max-runs-per-token +20 {2}\(default\)$/m);
  });

  it("lists every setting in the help and in the docs", () => {
    const usage = usageOf(SERVE, 100);
    const table = settingsTable();
    for (const key of SETTING_KEYS) {
      const flag = flagOf(key);
      if (flag !== undefined) expect(usage).toContain(`--${flag}`);
      expect(usage.replaceAll(/\s+/g, " ")).toContain(variableOf(key));
      expect(table).toContain(`\`${variableOf(key)}\``);
    }
  });

  it("parses every printed default", () => {
    for (const key of SETTING_KEYS) {
      const { kind, defaultValue } = SETTINGS[key] as Setting<unknown>;
      if (defaultValue !== undefined && !Array.isArray(defaultValue))
        expect(kind.read(kind.show(defaultValue)), key).toEqual(defaultValue);
    }
  });
});

describe("findNearest", () => {
  it("finds a similar name, or none", () => {
    expect(findNearest("hots", ["host", "port"])).toBe("host");
    expect(findNearest("LOG_LEVEL", ["log-level"])).toBe("log-level");
    expect(findNearest("x", ["host", "port"])).toBeUndefined();
  });
});
