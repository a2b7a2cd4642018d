import { describe, expect, it, vi } from "vitest";
import { ERROR_CODES, type ErrorCode, LoomError } from "../../protocol/index.ts";
import { toPublicError } from "./to-public-error.ts";

const report = vi.fn((_error: unknown): string => "id-1");

describe("toPublicError", () => {
  it.each([
    ["an error", new Error("at /home/zebra/x.js: secret")],
    ["a text", "secret"],
    ["nothing", undefined],
    ["an object like a LoomError", Object.assign(new Error("secret"), { code: "not_found", details: { path: "/x" } })],
  ])("hides %s that is not a LoomError behind an id", (_, error) => {
    expect(toPublicError(report, error)).toEqual({
      code: "internal_error",
      message: "Internal server error",
      details: {},
      errorId: "id-1",
    });
    expect(report).toHaveBeenLastCalledWith(error);
  });

  const about = (code: ErrorCode) => new LoomError(code, "at /home/zebra/loom.db", { path: "/home/zebra/loom.db" });
  const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code.startsWith("store_"));
  it.each([...codes, "mcp_failed", "missing_key", "listen_failed", "internal_error"] as const)(
    "replaces the message of %s, which is about the machine",
    (code) => {
      const told = toPublicError(report, about(code));
      expect([told.code, told.details, told.errorId]).toEqual([code, {}, "id-1"]);
      expect(told.message).not.toMatch(/zebra|\//);
    },
  );

  it("keeps the message of an error about the request", () => {
    report.mockClear();
    const error = new LoomError("unknown_session", "no such session", { session_id: "s" });
    expect(toPublicError(report, error)).toEqual({
      code: "unknown_session",
      message: error.message,
      details: error.details,
    });
    expect(report).not.toHaveBeenCalled();
  });

  it("keeps the id of an error that was reported before", () => {
    report.mockClear();
    const error = new LoomError("store_closed", "The knowledge base is closed", { error_id: "id-0", more: 1 });
    expect(toPublicError(report, error)).toEqual({
      code: "store_closed",
      message: "The knowledge base is closed",
      details: { more: 1 },
      errorId: "id-0",
    });
    expect(report).not.toHaveBeenCalled();
  });
});
