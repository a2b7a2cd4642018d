/** The three standard streams, as commands see them: back-pressure on the way out, colour only where it shows. */
import { styleText } from "node:util";

export type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** Resolves when there is room for more. */
  write(text: string): Promise<void>;
  /** A line on standard error. */
  warn(text: string): void;
  /** Shows progress on standard error, over the last one; nothing when that is not a terminal. */
  progress(text: string | undefined): void;
  /** Colours text bound for standard output. */
  readonly style: (style: Style, text: string) => string;
  /** Colours text bound for standard error. */
  readonly styleError: (style: Style, text: string) => string;
  readonly columns: number;
  readonly showsProgress: boolean;
  /** The reader of standard output went away; nothing more is to be written. */
  readonly closed: boolean;
}

export class OutputClosed extends Error {}

export function createTerminal(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  stderr: NodeJS.WriteStream,
): Terminal {
  let closed = false;
  let shown = false;
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    closed = true;
  };
  stdout.on("error", onError);
  stderr.on("error", onError);
  const clear = () => {
    if (shown) stderr.write("\r\u001B[K");
    shown = false;
  };
  return {
    stdin,
    async write(text) {
      if (closed) throw new OutputClosed();
      if (stdout.isTTY) clear();
      if (text === "" || stdout.write(text)) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          stdout.off("drain", done).off("close", done).off("error", done);
          resolve();
        };
        stdout.once("drain", done).once("close", done).once("error", done);
      });
    },
    warn(text) {
      clear();
      if (!closed) stderr.write(`${text}\n`);
    },
    progress(text) {
      if (!stderr.isTTY || closed) return;
      clear();
      if (text === undefined) return;
      shown = true;
      stderr.write(text);
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    styleError: (style, text) => styleText(style, text, { stream: stderr }),
    get columns() {
      return stdout.columns ?? 100;
    },
    get showsProgress() {
      return stderr.isTTY;
    },
    get closed() {
      return closed;
    },
  };
}
