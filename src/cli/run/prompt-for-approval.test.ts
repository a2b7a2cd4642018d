import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { promptForApproval } from "./prompt-for-approval.ts";

const call = {
  runId: "r",
  callId: "c",
  name: "write_\u001B[2Jfile",
  arguments: { path: "a.txt", text: "\u202Eevil \u009B31m" },
  expiresAt: undefined,
};

/** Simulates a user who types one line at each prompt. */
function startPrompt(...lines: readonly string[]) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  const left = [...lines];
  output.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
    if (!/: $|\) $/.test(stripVTControlCharacters(chunk))) return;
    const line = left.shift();
    if (line !== undefined) setImmediate(() => input.write(line));
  });
  const withdrawn = new AbortController();
  const onInterrupt = vi.fn<() => void>();
  const prompt = { input, output } as unknown as Parameters<typeof promptForApproval>[0];
  const decision = promptForApproval(prompt, call, { signal: withdrawn.signal, onInterrupt });
  return { decision, shown: () => shown, withdraw: () => withdrawn.abort(), onInterrupt };
}

describe("promptForApproval", () => {
  test.each<[string, readonly string[], unknown]>([
    ["yes", ["y\r"], { decision: "approved" }],
    ["yes in Chinese", ["是\r"], { decision: "approved" }],
    ["no with a reason", ["n too dangerous\r"], { decision: "rejected", reason: "too dangerous" }],
    ["no with a reason when prompted", ["no\r", "not now\r"], { decision: "rejected", reason: "not now" }],
    ["no without a reason", ["n\r", "\r"], { decision: "rejected" }],
    ["unknown answers, then yes", ["\r", "what?\r", "s\r", "y\r"], { decision: "approved" }],
    ["a sentence, which decides nothing, then yes", ["y is it so?\r", "a file\r", "y\r"], { decision: "approved" }],
    ["a cancelled edit, then yes", ["e\r", "\u0015\r", "y\r"], { decision: "approved" }],
    [
      "an edit, valid at the third attempt",
      ["e\r", "\u0015{\r", "\u0015[1]\r", '\u0015{"path":"b"}\r'],
      { decision: "approved", arguments: { path: "b" } },
    ],
    ["unchanged arguments after an edit", ["e\r", "\r"], { decision: "approved", arguments: call.arguments }],
    ["no and Ctrl-D", ["n\r", "\u0004"], { decision: "rejected" }],
    ["Ctrl-D", ["\u0004"], undefined],
  ])("accepts %s", async (_name, lines, decision) => {
    expect(await startPrompt(...lines).decision).toEqual(decision);
  });

  test("ends when the call is withdrawn", async () => {
    const prompt = startPrompt();
    await vi.waitFor(() => expect(prompt.shown()).toContain("[s]how all"));
    prompt.withdraw();
    expect(await prompt.decision).toBeUndefined();
  });

  test("forwards Ctrl-C", async () => {
    const prompt = startPrompt("\u0003");
    await vi.waitFor(() => expect(prompt.onInterrupt).toHaveBeenCalledOnce());
    prompt.withdraw();
    await prompt.decision;
  });

  test("shows the complete arguments without control characters", async () => {
    const prompt = startPrompt("e\r", "\u0015\r", "y\r");
    await prompt.decision;
    expect(prompt.shown()).toContain(String.raw`"text": "\u202eevil \u009b31m"`);
    expect(prompt.shown()).not.toMatch(/[\u009B\u202E]/);
    expect(prompt.shown()).not.toContain("\u001B[2J");
  });
});
