/** The three standard streams, as commands see them: back-pressure on the way out, colour only where it shows. */
import { styleText } from "node:util";
import { CliError } from "./command.ts";

export type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** Resolves when there is room for more; throws when nothing more can be written. */
  write(text: string): Promise<void>;
  /** A line on standard error. */
  warn(text: string): void;
  /** Text on standard error, as it is. */
  writeError(text: string): void;
  /** Shows progress on standard error, over the last one; nothing when that is not a terminal. */
  progress(text: string | undefined): void;
  /** Colours text bound for standard output. */
  readonly style: (style: Style, text: string) => string;
  /** Colours text bound for standard error. */
  readonly styleError: (style: Style, text: string) => string;
  /** Columns of standard output, and of standard error; undefined where that is not a terminal. */
  readonly columns: number | undefined;
  readonly errorColumns: number | undefined;
}

/** The reader of standard output went away, as `head` does: nothing is wrong, and nothing more is to be written. */
export class OutputClosed extends Error {}

export function createTerminal(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  stderr: NodeJS.WriteStream,
): Terminal {
  let failure: Error | undefined;
  let shown = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    failure ??=
      error.code === "EPIPE"
        ? new OutputClosed()
        : new CliError(`standard output cannot be written (${error.code ?? error.message})`);
  });
  // Nobody is left to be told.
  stderr.on("error", () => undefined);
  const clear = () => {
    if (shown) stderr.write("\r\u001B[K");
    shown = false;
  };
  const throwFailure = () => {
    if (failure !== undefined) throw failure;
  };
  return {
    stdin,
    async write(text) {
      throwFailure();
      if (text === "") return;
      if (stdout.isTTY) clear();
      if (stdout.write(text)) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          stdout.off("drain", done).off("close", done).off("error", done);
          resolve();
        };
        stdout.once("drain", done).once("close", done).once("error", done);
      });
      throwFailure();
    },
    warn(text) {
      clear();
      stderr.write(`${text}\n`);
    },
    writeError(text) {
      clear();
      stderr.write(text);
    },
    progress(text) {
      if (!stderr.isTTY) return;
      clear();
      if (text === undefined) return;
      shown = true;
      stderr.write(text);
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    styleError: (style, text) => styleText(style, text, { stream: stderr }),
    get columns() {
      return stdout.isTTY ? stdout.columns : undefined;
    },
    get errorColumns() {
      return stderr.isTTY ? stderr.columns : undefined;
    },
  };
}
