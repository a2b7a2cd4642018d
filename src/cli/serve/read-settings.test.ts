// Settings: where each comes from, what wins, and how a bad one is refused.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CliError, parseCommand, usageOf } from "../command.ts";
import { findNearest } from "./find-nearest.ts";
import { readSettings } from "./read-settings.ts";
import { describeSettings, SERVE, settingsTable } from "./serve-command.ts";
import type { Setting } from "./setting.ts";
import { flagOf, SETTING_KEYS, SETTINGS, variableOf } from "./settings.ts";

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

function refusal(argv: readonly string[], env: { readonly [name: string]: string } = {}): string {
  try {
    read(argv, env);
  } catch (error) {
    if (error instanceof CliError) return [error.message, error.hint].filter(Boolean).join(" | ");
    throw error;
  }
  throw new Error("it was taken");
}

describe("settings", () => {
  it("have defaults", () => {
    const { values, sources, file, warnings } = read();
    expect(values).toMatchObject({ host: "127.0.0.1", port: 10_338, "allow-public": false, model: "offline" });
    expect(values).toMatchObject({ compression: true, heartbeat: 15_000, "max-body": 256 * 1024, store: undefined });
    expect(new Set(Object.values(sources))).toEqual(new Set(["default"]));
    expect([file, warnings]).toEqual([undefined, []]);
  });

  it("come from flags, then the environment, then the file", () => {
    const file = writeFile({
      port: 1,
      model: "ollama/x",
      host: "localhost",
      "max-body": "1MB",
      origins: ["https://a.example"],
    });
    const { values, sources } = read(["--port", "3", "--config", file], { LOOM_PORT: "2", LOOM_MODEL: "openai/y" });
    expect(values).toMatchObject({ port: 3, model: "openai/y", host: "localhost", "max-body": 1024 ** 2 });
    expect(values.origins).toEqual(["https://a.example"]);
    expect(sources).toMatchObject({ port: "flag", model: "environment", host: "file", ping: "default" });
    expect(read([], { LOOM_CONFIG: file }).values.port).toBe(1);
    expect(read([], { LOOM_PORT: " " }).values.port).toBe(10_338);
  });

  it("that are switches are turned on and off everywhere", () => {
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

  it("that are paths are taken from where the file lies", () => {
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
  ])("have sizes as %s", (given, expected) => {
    expect(read(["--max-body", given]).values["max-body"]).toBe(expected);
  });

  it.each([
    ["500ms", 500],
    ["15s", 15_000],
    ["10 m", 600_000],
    ["0", 0],
  ])("have times as %s", (given, expected) => {
    expect(read(["--grace", given]).values.grace).toBe(expected);
  });

  it.each<[readonly string[], { readonly [name: string]: string }, string]>([
    [[], { LOOM_PORT: "70000" }, "LOOM_PORT: 70000 is not a port, a number from 0 to 65535"],
    [["--port", "http"], {}, "--port: http is not a port, a number from 0 to 65535"],
    [["--port", "1.5"], {}, "--port: 1.5 is not a port, a number from 0 to 65535"],
    [["--agent", "x"], {}, "--agent: x is not one of react, tot, got, agot"],
    [
      ["--origins", "https://a.example/path"],
      {},
      "--origins: https://a.example/path is not a list of origins, with commas between",
    ],
    [["--hosts", "a b"], {}, "--hosts: a b is not a list of hosts, with commas between"],
    [["--grace", "soon"], {}, "--grace: soon is not a time as 500ms, 15s or 10m, or 0 for none"],
    [["--max-body", "-1"], {}, "--max-body: -1 is not a size as 64KB or 10MB"],
    [["--max-body", "--port", "1"], {}, "`--max-body` needs a value | `loom serve --help` lists what it takes"],
    [["--max-body", "0"], {}, "--max-body: 0 is not a size as 64KB or 10MB"],
    [["--base-url", "ftp://x"], {}, "--base-url: ftp://x is not an address that begins with http:// or https://"],
    [[], { LOOM_ALLOW_FETCH: "maybe" }, "LOOM_ALLOW_FETCH: maybe is not true or false"],
    [[], { LOOM_DEBUG: "constructor" }, "LOOM_DEBUG: constructor is not true or false"],
    [["--images", "--no-images"], {}, "--no-images and --images cannot both be"],
    [["--host", " "], {}, "--host:   is not a text"],
    [["--base-path", "a b"], {}, "--base-path: a b is not a path like /agents"],
    [
      ["--trusted-proxies", "loopback,me"],
      {},
      "--trusted-proxies: loopback,me is not a list of addresses, ranges like 10.0.0.0/8, or loopback, with commas between",
    ],
    [["--api-key", "sk-secret"], {}, "there is no option `--api-key` | `loom serve --help` lists what it takes"],
    [["--nonsense"], {}, "there is no option `--nonsense` | `loom serve --help` lists what it takes"],
  ])("are refused by name: %j %j", (argv, env, message) => {
    expect(refusal(argv, env)).toBe(message);
  });

  it("of a file are refused by name and file, with what was probably meant", () => {
    const refuse = (content: unknown): string => {
      const file = writeFile(content);
      return refusal(["--config", file]).replaceAll(file, "FILE");
    };
    expect(refuse({ prot: 1 })).toBe('FILE: there is no setting "prot" | did you mean "port"?');
    expect(refuse({ maxBody: 1 })).toBe('FILE: there is no setting "maxBody" | did you mean "max-body"?');
    expect(refuse({ wholly_different_thing: 1 })).toContain("`loom serve --help` lists all");
    expect(refuse({ port: "x" })).toBe('"port" in FILE: x is not a port, a number from 0 to 65535');
    expect(refuse({ port: [1] })).toMatch(/^"port" in FILE: .* is not a port/);
    expect(refuse({ debug: ["on"] })).toMatch(/^"debug" in FILE: .* is not true or false/);
    expect(refuse({ "api-key": 12_345_678 })).toBe('"api-key" in FILE: what is given is not a text');
    expect(refuse('{"api-key": "sk-secret-value"')).not.toContain("secret");
    expect(refuse([])).toContain("one JSON object");
    expect(refusal(["--config", join(folder, "missing.json")])).toContain("(ENOENT)");
    expect(refuse({ __proto__: 1, constructor: 1 })).toContain('there is no setting "constructor"');
  });

  it("that are models are names, or none", () => {
    expect(read().values).toMatchObject({ models: undefined, "offline-delay": 20 });
    expect(read(["--models", "offline, openai/gpt-5"]).values.models).toEqual(["offline", "openai/gpt-5"]);
    expect(read([], { LOOM_MODELS: "none", LOOM_OFFLINE_DELAY: "0" }).values).toMatchObject({
      models: ["none"],
      "offline-delay": 0,
    });
    expect(read(["--config", writeFile({ models: [] })]).values.models).toEqual([]);
    expect(refusal(["--models", "a b"])).toBe("--models: a b is not a list of models, with commas between");
    expect(refusal(["--models", "/x"])).toContain("is not a list of models");
    const env = { ANTHROPIC_API_KEY: "sk-secret" };
    const printed = describeSettings(read([], env), 120, env);
    expect(printed).toMatch(/^ {2}models +offline,anthropic\/claude-sonnet-4-5 {2}\(default\)$/m);
    expect(printed).not.toContain("secret");
  });

  it("that are secret come from the environment or the file, and are never shown", () => {
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
    expect(read(["--config", file]).warnings).toEqual([expect.stringContaining(`chmod 600 ${file}`)]);
  });

  it("that are misspelt in the environment are told of, with what was probably meant", () => {
    const { warnings } = read([], {
      LOOM_POTR: "1",
      LOOM_WHOLLY_DIFFERENT: "1",
      LOOM_HOTS: " ",
      LOOM_LONG: "1",
      LOOM_PORT: "1",
      LOOM_KB: "none",
      PORT: "1",
    });
    expect(warnings).toEqual([
      "LOOM_POTR is no setting and is ignored: did you mean LOOM_PORT?",
      "LOOM_WHOLLY_DIFFERENT is no setting and is ignored: `loom serve --help` lists all",
    ]);
  });

  it("are printed as they are in force where the environment decides", () => {
    const env = { XDG_DATA_HOME: "/data" };
    const printed = describeSettings(read([], env), 120, env);
    expect(printed).toMatch(/^ {2}store +\/data\/loom\/loom\.db {2}\(default\)$/m);
    expect(printed).toMatch(/^ {2}kb +\/data\/loom\/knowledge\.db {2}\(default\)$/m);
    expect(describeSettings(read(["--kb", "none"], env), 120, env)).toMatch(/^ {2}kb +none {2}\(--kb\)$/m);
    const table = settingsTable();
    expect(table).toMatch(/^\| `store` .*\| `~\/\.local\/share\/loom\/loom\.db` \|/m);
    expect(table).toMatch(/^\| `kb` .*\| `knowledge\.db` beside the default store \|/m);
    expect(usageOf(SERVE, 400)).toContain("(default knowledge.db beside the default store); LOOM_KB");
  });

  it("are printed with where they come from", () => {
    const file = writeFile({ host: "localhost" });
    const printed = describeSettings(read(["--no-images", "--config", file], { LOOM_PORT: "0" }), 120);
    expect(printed).toMatch(/^ {2}host +localhost {2}\(.*\.json\)$/m);
    expect(printed).toMatch(/^ {2}port +0 {2}\(LOOM_PORT\)$/m);
    expect(printed).toMatch(/^ {2}images +false {2}\(--no-images\)$/m);
    expect(printed).toMatch(/^ {2}grace +10s {2}\(default\)$/m);
    for (const key of SETTING_KEYS) expect(printed).toContain(`  ${key}`);
  });

  it("are all in the usage text and in the table of the docs", () => {
    const usage = usageOf(SERVE, 100);
    const table = settingsTable();
    for (const key of SETTING_KEYS) {
      const flag = flagOf(key);
      if (flag !== undefined) expect(usage).toContain(`--${flag}`);
      expect(usage.replaceAll(/\s+/g, " ")).toContain(variableOf(key));
      expect(table).toContain(`\`${variableOf(key)}\``);
    }
  });

  it("read back what they show", () => {
    for (const key of SETTING_KEYS) {
      const { kind, fallback } = SETTINGS[key] as Setting<unknown>;
      if (fallback !== undefined && !Array.isArray(fallback))
        expect(kind.read(kind.show(fallback)), key).toEqual(fallback);
    }
  });
});

describe("findNearest", () => {
  it("finds what is near, and nothing where all is far", () => {
    expect(findNearest("hots", ["host", "port"])).toBe("host");
    expect(findNearest("LOG_LEVEL", ["log-level"])).toBe("log-level");
    expect(findNearest("x", ["host", "port"])).toBeUndefined();
  });
});
