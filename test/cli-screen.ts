/** A `SessionScreen` on captured streams, for tests of the terminal output. */
import { Readable, Writable } from "node:stream";
import { SessionScreen, type SessionScreenOptions } from "../src/cli/screen/session-screen.ts";
import { createTerminal } from "../src/cli/terminal.ts";
import type { AnyEvent } from "../src/protocol/index.ts";
import { TestTerminal } from "./test-terminal.ts";

interface CapturedStreams extends SessionScreenOptions {
  /** Columns of standard output and standard error, if they are terminals. */
  readonly out?: number;
  readonly err?: number;
}

/** Captures both streams, together in order and separately. `shown` are the rows that a user sees in the end. */
export function createScreen({ out, err, ...options }: CapturedStreams) {
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
    return Object.assign(sink, { isTTY: columns !== undefined, columns, rows: 24 }) as unknown as NodeJS.WriteStream;
  };
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream;
  const terminal = createTerminal(stdin, open("out", out), open("err", err));
  const shown = (): readonly string[] => {
    const emulated = new TestTerminal(out ?? err ?? 80, 24);
    emulated.write(written.all);
    return emulated.shown;
  };
  return { written, shown, screen: new SessionScreen(terminal, options) };
}

export async function show(
  screen: SessionScreen,
  ...events: readonly (AnyEvent & { readonly at?: string })[]
): Promise<void> {
  for (const { at, ...event } of events) {
    const envelope = { session_id: "s", run_id: "r", event_id: 9, ts: 0, ...(at === undefined ? {} : { node_id: at }) };
    await screen.show({ envelope, event });
  }
}
