import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { InputKeys, type KeyAction } from "./input-keys.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Sends bytes to the reader, in pieces of the given size. */
async function read(bytes: string, size = bytes.length, typedAhead = ""): Promise<readonly KeyAction[]> {
  const actions: KeyAction[] = [];
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => undefined }) as unknown as NodeJS.ReadStream;
  stdin.push(typedAhead);
  using _keys = new InputKeys(stdin, (action) => actions.push(action));
  await turn();
  await turn();
  for (let at = 0; at < bytes.length; at += size) {
    stdin.push(bytes.slice(at, at + size));
    await turn();
  }
  return actions;
}

describe("InputKeys", () => {
  it.each([
    ["\r", "enter"],
    ["\n", "newline"],
    ["\u001B\r", "newline"],
    ["\u001B[13;2u", "newline"],
    ["\u001B[27;2;13~", "newline"],
    ["\u0003", "interrupt"],
    ["\u001B[99;5u", "interrupt"],
    ["\u001B[99;133u", "interrupt"],
    ["\u0004", "close"],
    ["\u007F", "backspace"],
    ["\u001B[A", "up"],
    ["\u001B[1;5D", "wordLeft"],
    ["\u001Bb", "wordLeft"],
    ["\u0017", "killWordLeft"],
    ["\t", "complete"],
    ["\u001B[27u", "escape"],
  ])("reads %j as %s", async (bytes, kind) => {
    expect(await read(bytes)).toEqual([{ kind }]);
  });

  it("reads a paste with line breaks as one action, in any pieces", async () => {
    const bytes = "\u001B[200~one\rtwo\u001B[31m\r\u001B[201~x";
    for (const size of [1, 7, bytes.length])
      expect(await read(bytes, size)).toEqual([
        { kind: "paste", text: "one\rtwo\r" },
        { kind: "insert", text: "x" },
      ]);
  });

  it("reads a line feed that was typed before raw mode as Enter", async () => {
    const kinds = (await read("\n", 1, "a\nb\n")).map(({ kind }) => kind);
    expect(kinds).toEqual(["insert", "enter", "insert", "enter", "newline"]);
  });

  it("reads characters of any plane", async () => {
    expect(await read("你👍")).toEqual([
      { kind: "insert", text: "你" },
      { kind: "insert", text: "👍" },
    ]);
  });
});
