import { describe, expect, it, vi } from "vitest";
import { ERROR_CODES, type ErrorCode, LoomError } from "../protocol/index.ts";
import { tellError } from "./tell-error.ts";

const report = vi.fn((_error: unknown): string => "id-1");

describe("what is told of an error", () => {
  it.each([
    ["an error", new Error("at /home/zebra/x.js: secret")],
    ["a text", "secret"],
    ["nothing", undefined],
    ["something like ours", Object.assign(new Error("secret"), { code: "not_found", details: { path: "/x" } })],
  ])("is an id where it is not ours: %s", (_, error) => {
    expect(tellError(report, error)).toEqual({
      code: "internal_error",
      message: "something went wrong on the server",
      details: {},
      errorId: "id-1",
    });
    expect(report).toHaveBeenLastCalledWith(error);
  });

  const about = (code: ErrorCode) => new LoomError(code, "at /home/zebra/loom.db", { path: "/home/zebra/loom.db" });
  const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code.startsWith("store_"));
  it.each([...codes, "mcp_failed", "missing_key", "listen_failed", "internal_error"] as const)(
    "is general where it is about this machine: %s",
    (code) => {
      const told = tellError(report, about(code));
      expect([told.code, told.details, told.errorId]).toEqual([code, {}, "id-1"]);
      expect(told.message).not.toMatch(/zebra|\//);
    },
  );

  it("is what it says where it is about what was asked", () => {
    report.mockClear();
    const error = new LoomError("unknown_session", "there is none", { session_id: "s" });
    expect(tellError(report, error)).toEqual({
      code: "unknown_session",
      message: error.message,
      details: error.details,
    });
    expect(report).not.toHaveBeenCalled();
  });

  it("is told once: what has an id keeps it", () => {
    report.mockClear();
    const error = new LoomError("store_closed", "the knowledge base is closed", { error_id: "id-0", more: 1 });
    expect(tellError(report, error)).toEqual({
      code: "store_closed",
      message: "the knowledge base is closed",
      details: { more: 1 },
      errorId: "id-0",
    });
    expect(report).not.toHaveBeenCalled();
  });
});
