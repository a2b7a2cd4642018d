import { describe, expect, it, vi } from "vitest";
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import { LoomError } from "../../protocol/index.ts";
import type { Notice } from "../../server/guard/notice.ts";
import type { Terminal } from "../terminal.ts";
import { createLogger, createNotifier, createReporter } from "./create-logger.ts";

async function log(
  env: { readonly [name: string]: string },
  message: string,
  format: "plain" | "json" = "plain",
): Promise<string> {
  const lines: string[] = [];
  const terminal = {
    warn: (text: string) => void lines.push(text),
    writeError: (text: string) => void lines.push(text),
    styleError: (_style: unknown, text: string) => text,
  } as unknown as Terminal;
  const logger = await createLogger({ "log-level": "info", "log-format": format }, terminal, env);
  logger.warn({}, message);
  return lines.join("\n");
}

describe("createLogger", () => {
  it("redacts secrets of the environment, but not the current folder", async () => {
    const env = { DB_PASSWORD: "a.b(c)+d/e", PWD: "/home/me", OLDPWD: "/home/me/before" };
    expect(await log(env, "a.b(c)+d/e in /home/me/before/loom.db")).toContain("[redacted] in /home/me/before/loom.db");
  });

  it.each(["plain", "json"] as const)("writes no character that could change a terminal as %s", async (format) => {
    const line = await log({}, "run \u009B31m\u202E\u001B[2J failed", format);
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\u202E]/u);
    if (format === "json") expect(JSON.parse(line)).toMatchObject({ msg: "run \u009B31m\u202E\u001B[2J failed" });
  });
});

it.each<[Notice, string]>([
  [
    { kind: "origin_refused", name: "https://app.example.com", option: "origins", allow: "https://app.example.com" },
    "rejected a request: origin https://app.example.com is not allowed; " +
      "to allow it, set LOOM_ORIGINS=https://old.example.com,https://app.example.com",
  ],
  [
    { kind: "host_refused", name: "loom.lan:10338", option: "hosts", allow: "loom.lan:10338" },
    "rejected a request: host loom.lan:10338 is not allowed; to allow it, set LOOM_HOSTS=loom.lan:10338",
  ],
  [{ kind: "origin_refused", name: "null", option: "origins" }, 'rejected a request: origin "null" is not allowed'],
  [{ kind: "host_refused", name: "a\nb", option: "hosts" }, String.raw`rejected a request: host "a\nb" is not allowed`],
])("suggests the setting that allows the request: %o", (notice, message) => {
  const warn = vi.fn();
  const logger = { warn } as unknown as LoggerLike;
  createNotifier(logger, { origins: ["https://old.example.com"], hosts: [] })(notice);
  expect(warn).toHaveBeenCalledExactlyOnceWith({}, message);
});

function report(error: unknown, isDebug = false): readonly unknown[] {
  const logged: unknown[] = [];
  const note = (...all: unknown[]): void => void logged.push(...all);
  const silent = (): void => undefined;
  createReporter({ error: note, warn: silent, info: silent, debug: silent }, isDebug)(error, "e1");
  return logged;
}

it("logs the stack of unexpected errors, and code and cause of Loom errors", () => {
  const stack = expect.stringContaining("create-logger.test.ts") as string;
  expect(report(new TypeError("x is not a function"))).toEqual([
    { error_id: "e1", error: "TypeError", stack },
    "x is not a function",
  ]);
  const full = new LoomError("store_full", "no room", { path: "/data/loom.db" }, { cause: new Error("disk full") });
  const about = { error_id: "e1", error: "LoomError", code: "store_full", details: full.details, cause: "disk full" };
  expect(report(full)).toEqual([about, "no room"]);
  expect(report(full, true)).toEqual([{ ...about, stack }, "no room"]);
  expect(report("a word")).toEqual([expect.objectContaining({ error: "Error" }), "a word"]);
});
