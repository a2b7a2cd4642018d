/** The standard streams as commands use them, with back-pressure and colours only on a terminal. */
import { styleText } from "node:util";
import { CliError } from "./command.ts";

export type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  readonly stdin: NodeJS.ReadStream & { readonly fd?: number };
  /** Resolves when more can be written. Throws `OutputClosed` if standard output was closed. */
  write(text: string): Promise<void>;
  /** Writes a line to standard error. */
  warn(text: string): void;
  /** Writes text to standard error without a line end. */
  writeError(text: string): void;
  /** Replaces the progress line on standard error; undefined removes it. Does nothing if that is not a terminal. */
  progress(text: string | undefined): void;
  /** Styles text for standard output. */
  readonly style: (style: Style, text: string) => string;
  /** Styles text for standard error. */
  readonly styleError: (style: Style, text: string) => string;
  /** Columns of standard output and standard error; undefined if that is not a terminal. */
  readonly columns: number | undefined;
  readonly errorColumns: number | undefined;
}

/** Some programs, such as `script`, open terminals of size 0. */
const UNKNOWN_COLUMNS = 80;

export type OutputStyle = Pick<Terminal, "columns" | "style">;

/** Standard output was closed by its reader, for example `head`. This is not a failure. */
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
        : new CliError(`cannot write to standard output (${error.code ?? error.message})`);
  });
  // There is nowhere left to report it.
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
      return stdout.isTTY ? stdout.columns || UNKNOWN_COLUMNS : undefined;
    },
    get errorColumns() {
      return stderr.isTTY ? stderr.columns || UNKNOWN_COLUMNS : undefined;
    },
  };
}
