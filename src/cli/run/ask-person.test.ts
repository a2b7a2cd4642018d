import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { askPerson } from "./ask-person.ts";

const question = {
  runId: "r",
  callId: "c",
  name: "write_\u001B[2Jfile",
  arguments: { path: "a.txt", text: "\u202Eevil \u009B31m" },
  expiresAt: undefined,
};

/** A person who types each line when the prompt before it is there. */
function sit(...lines: readonly string[]) {
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
  const person = { input, output } as unknown as Parameters<typeof askPerson>[0];
  const asked = askPerson(person, question, { signal: withdrawn.signal, onInterrupt });
  return { asked, shown: () => shown, withdraw: () => withdrawn.abort(), onInterrupt };
}

describe("askPerson", () => {
  test.each<[string, readonly string[], unknown]>([
    ["yes", ["y\r"], { decision: "approved" }],
    ["yes in Chinese", ["是\r"], { decision: "approved" }],
    ["no, and why", ["n too dangerous\r"], { decision: "rejected", reason: "too dangerous" }],
    ["no, and why when asked", ["no\r", "not now\r"], { decision: "rejected", reason: "not now" }],
    ["no, without a reason", ["n\r", "\r"], { decision: "rejected" }],
    ["something else, then yes", ["\r", "what?\r", "s\r", "y\r"], { decision: "approved" }],
    ["no edit after all", ["e\r", "\u0015\r", "y\r"], { decision: "approved" }],
    [
      "an edit, at the third try",
      ["e\r", "\u0015{\r", "\u0015[1]\r", '\u0015{"path":"b"}\r'],
      { decision: "approved", arguments: { path: "b" } },
    ],
    ["what was there, edited in place", ["e\r", "\r"], { decision: "approved", arguments: question.arguments }],
    ["nothing: Ctrl-D", ["\u0004"], undefined],
  ])("is told %s", async (_name, lines, decision) => {
    expect(await sit(...lines).asked).toEqual(decision);
  });

  test("is not answered by a person whose question is withdrawn", async () => {
    const person = sit();
    await vi.waitFor(() => expect(person.shown()).toContain("show all"));
    person.withdraw();
    expect(await person.asked).toBeUndefined();
  });

  test("passes on Ctrl-C, which is a key here", async () => {
    const person = sit("\u0003");
    await vi.waitFor(() => expect(person.onInterrupt).toHaveBeenCalledOnce());
    person.withdraw();
    await person.asked;
  });

  test("shows all that is consented to, and nothing that moves the cursor", async () => {
    const person = sit("e\r", "\u0015\r", "y\r");
    await person.asked;
    expect(person.shown()).toContain(String.raw`"text": "\u202eevil \u009b31m"`);
    expect(person.shown()).not.toMatch(/[\u009B\u202E]/);
    expect(person.shown()).not.toContain("\u001B[2J");
  });
});
