/** The standard streams as commands use them, with back-pressure and colours only on a terminal. */
import { styleText } from "node:util";
import { CliError } from "./command.ts";
import { LiveRows } from "./live-rows.ts";

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
  /**
   * Replaces the rows below everything else, on standard error or else on standard output, until something is written.
   * Does nothing if neither is a terminal that can move the cursor. Rows must fit its columns.
   */
  live(rows: readonly string[]): void;
  /** Styles text for standard output. */
  readonly style: (style: Style, text: string) => string;
  /** Styles text for standard error. */
  readonly styleError: (style: Style, text: string) => string;
  /** Columns of standard output and standard error; undefined if that is not a terminal. */
  readonly columns: number | undefined;
  readonly errorColumns: number | undefined;
  /** Most rows that `live` can replace. */
  readonly liveHeight: number;
}

/** Some programs, such as `script`, open terminals of size 0. */
const UNKNOWN_COLUMNS = 80;
const UNKNOWN_ROWS = 24;

export type OutputStyle = Pick<Terminal, "columns" | "style">;

/** Standard output was closed by its reader, for example `head`. This is not a failure. */
export class OutputClosed extends Error {}

/** Exit code of a command whose standard output was closed, as for SIGPIPE. */
export const OUTPUT_CLOSED = 141;

export function createTerminal(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  stderr: NodeJS.WriteStream,
): Terminal {
  let failure: Error | undefined;
  const shown = new LiveRows();
  const screen = [stderr, stdout].find(({ isTTY }) => isTTY);
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    failure ??=
      error.code === "EPIPE"
        ? new OutputClosed()
        : new CliError(`cannot write to standard output (${error.code ?? error.message})`);
  });
  // There is nowhere left to report it.
  stderr.on("error", () => undefined);
  const draw = (rows: readonly string[]) => {
    if (screen === undefined || (rows.length === 0 && shown.isEmpty)) return;
    const text = shown.replace(rows, screen.columns || UNKNOWN_COLUMNS);
    // The shell continues where the cursor is.
    process.off("exit", clear);
    if (!shown.isEmpty) process.on("exit", clear);
    if (text !== "") screen.write(text);
  };
  const clear = () => draw([]);
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
      if (stderr.isTTY) draw(text === undefined ? [] : [text]);
    },
    live(rows) {
      if (process.env["TERM"] !== "dumb") draw(rows);
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    styleError: (style, text) => styleText(style, text, { stream: stderr }),
    get columns() {
      return stdout.isTTY ? stdout.columns || UNKNOWN_COLUMNS : undefined;
    },
    get errorColumns() {
      return stderr.isTTY ? stderr.columns || UNKNOWN_COLUMNS : undefined;
    },
    get liveHeight() {
      return Math.max(2, ((screen?.rows ?? 0) || UNKNOWN_ROWS) - 1);
    },
  };
}
