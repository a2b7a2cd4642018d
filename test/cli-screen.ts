/** A `RunScreen` on captured streams, for tests of the terminal output. */
import { Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { RunScreen } from "../src/cli/run/run-screen.ts";
import { createTerminal } from "../src/cli/terminal.ts";
import type { AnyEvent } from "../src/protocol/index.ts";

/** Captures both streams, together in order and separately. */
export function createScreen({ out, err }: { readonly out?: number; readonly err?: number }) {
  const written = { all: "", out: "", err: "" };
  const open = (name: "out" | "err", columns: number | undefined) => {
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        const text = chunk.toString();
        written[name] += text;
        written.all += text;
        done();
      },
    });
    return Object.assign(sink, { isTTY: columns !== undefined, columns }) as unknown as NodeJS.WriteStream;
  };
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream;
  return { written, screen: new RunScreen(createTerminal(stdin, open("out", out), open("err", err))) };
}

export async function show(
  screen: RunScreen,
  ...events: readonly (AnyEvent & { readonly at?: string })[]
): Promise<void> {
  for (const { at, ...event } of events) {
    const envelope = { session_id: "s", run_id: "r", event_id: 9, ts: 0, ...(at === undefined ? {} : { node_id: at }) };
    await screen.show({ envelope, event });
  }
}

/** Lines that stay visible, without progress lines that were erased. */
export function readVisibleLines(written: string): readonly string[] {
  return stripVTControlCharacters(written.replaceAll(/[^\n]*\r\p{Cc}\[K/gu, "")).split("\n");
}
