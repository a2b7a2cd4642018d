import { describe, expect, it } from "vitest";
import type { Terminal } from "../terminal.ts";
import { createLogger } from "./create-logger.ts";

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
