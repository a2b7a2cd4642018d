import { expect, it } from "vitest";
import type { Terminal } from "../terminal.ts";
import { openServerAudit } from "./open-server-audit.ts";

it("writes no character that could change a terminal to standard output", async () => {
  let written = "";
  const terminal = { write: async (text: string) => void (written += text) } as unknown as Terminal;
  const settings = { "audit-log": "stdout", "audit-log-bytes": 1, "audit-log-files": 1, "audit-required": false };
  const audit = await openServerAudit(settings, terminal, { hasAuth: true });
  written = "";
  await audit?.write({ time: "t", action: "token.create", outcome: "done", actor: "\u202E\u009B31m" });
  expect(written.trimEnd()).not.toMatch(/[\p{Cc}\u202E]/u);
  expect(JSON.parse(written)).toMatchObject({ actor: "\u202E\u009B31m" });
});
