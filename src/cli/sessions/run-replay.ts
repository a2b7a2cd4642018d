/** `loom replay`: shows a session or a recorded stream again, with its pauses or step by step. */
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createStreamConverter, type Dialect, DIALECTS, type StreamConverter } from "../../dialects/index.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { cutColumns } from "../fit-text.ts";
import { readInput } from "../input.ts";
import type { Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { openService } from "./open-service.ts";
import { encodeFrame, readOutputDialect } from "./run-tail.ts";
import { describeNextCommand, describeUnfinished } from "./run-sessions.ts";
import { SessionScreen } from "../screen/session-screen.ts";
import { STOPPED, untilStopped } from "./until-stopped.ts";

/** Longest pause, in milliseconds of the replay. */
const MAX_PAUSE_MS = 3000;
const MIN_SPEED = 0.01;
const MAX_REPORTED = 20;

/** Exit code of a replay that ends before its run. */
const UNFINISHED = 3;

/** A frame to show, or why it cannot be read; after the last frame, what to say if its run has not ended. */
type ReplayFrame =
  | { readonly text: string; readonly dialect: Dialect; readonly line?: number }
  | { readonly text?: never; readonly line: number; readonly reason: string }
  | { readonly text?: never; readonly line?: never; readonly describeUnfinished: () => Promise<string> };

/** Resolves when the next frame may be shown; false if the user ended the replay. */
type WaitForFrame = (time: number | undefined, signal: AbortSignal) => Promise<boolean>;

export async function runReplay(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const output = readOutputDialect(parsed);
  const isStepped = parsed.options["step"] === true;
  const speed = readSpeed(parsed);
  if (isStepped && speed !== undefined) throw new CliError("`--step` and `--speed` cannot be used together");
  if (isStepped && (!terminal.stdin.isTTY || parsed.argument === "-"))
    throw new CliError("`--step` needs a terminal on standard input");
  using keys = isStepped ? new KeyReader(terminal.stdin) : undefined;
  if (isStepped) terminal.warn(terminal.styleError("dim", "press any key for the next event; press q to end"));
  const wait: WaitForFrame = keys === undefined ? createPacer(speed ?? 1) : (_, signal) => keys.next(signal);
  let rejected = 0;
  let isEnded = false;
  let isUnfinished = false;
  const isStopped = await explainErrors(async () =>
    untilStopped(async (signal) => {
      const player = new FramePlayer(output, terminal);
      for await (const frame of readFrames(parsed, terminal, signal)) {
        if (signal.aborted) break;
        if ("describeUnfinished" in frame) {
          isUnfinished = player.isRunOpen;
          await player.end();
          if (isUnfinished) terminal.warn(await frame.describeUnfinished());
          continue;
        }
        if (frame.text === undefined) {
          rejected++;
          if (rejected <= MAX_REPORTED) terminal.warn(`line ${frame.line}: ${cutColumns(frame.reason, 500)}`);
          continue;
        }
        const { time, show } = player.prepare(frame.text, frame.dialect);
        if (!(await wait(time, signal))) {
          isEnded = true;
          break;
        }
        await show();
      }
      await player.end();
    }),
  );
  if (rejected > MAX_REPORTED) terminal.warn(`${rejected - MAX_REPORTED} more frames rejected`);
  if (isStopped || isEnded) return STOPPED;
  if (rejected > 0) return 1;
  return isUnfinished ? UNFINISHED : 0;
}

/** Returns undefined if it is not given, and Infinity for `max`. */
function readSpeed(parsed: ParsedCommand): number | undefined {
  const given = textOption(parsed, "speed");
  if (given === undefined) return undefined;
  if (given === "max") return Number.POSITIVE_INFINITY;
  const speed = /^\d*\.?\d+$/.test(given) ? Number(given) : 0;
  if (speed >= MIN_SPEED) return speed;
  throw new CliError(`\`--speed ${given}\` is not a number from ${MIN_SPEED}, or max`);
}

async function* readFrames(
  parsed: ParsedCommand,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<ReplayFrame> {
  const name = parsed.argument ?? "";
  if (name === "-" || existsSync(name)) {
    yield* readRecorded(parsed, terminal);
    return;
  }
  for (const option of ["from", "framing"])
    if (parsed.options[option] !== undefined)
      throw new CliError(`there is no file \`${name}\``, `\`--${option}\` is for files`);
  await using service = await openService(parsed, terminal);
  const session = await service.getSession(name);
  // A typing error in the name of a file, for example.
  if (session === undefined)
    throw new CliError(
      `there is no file or session \`${name}\``,
      `list the sessions with \`${describeNextCommand(parsed, "sessions list")}\``,
    );
  for await (const frames of service.openFrames(name, { dialect: "loom", follow: false, signal }))
    for (const { text } of frames) yield { text, dialect: DIALECTS.loom };
  yield { describeUnfinished: () => describeUnfinished(service, parsed, name) };
}

async function* readRecorded(parsed: ParsedCommand, terminal: Terminal): AsyncGenerator<ReplayFrame> {
  for await (const { dialect, frames } of readInput(parsed, "from", terminal))
    for (const frame of frames)
      yield frame.ok ? { text: frame.text, dialect, line: frame.line } : { line: frame.line, reason: frame.detail };
  yield { describeUnfinished: async () => "the recording ends before its run has ended" };
}

/** Turns frames into text or into frames of another dialect. */
class FramePlayer {
  readonly #output: Dialect | undefined;
  readonly #terminal: Terminal;
  readonly #screen: SessionScreen;
  #decoder: ReturnType<Dialect["createDecoder"]> | undefined;
  #converter: StreamConverter | undefined;
  #isRunOpen = false;

  constructor(output: Dialect | undefined, terminal: Terminal) {
    this.#output = output;
    this.#terminal = terminal;
    this.#screen = new SessionScreen(terminal);
  }

  /** The last run has not ended. */
  get isRunOpen(): boolean {
    return this.#isRunOpen;
  }

  /** Returns when the frame happened, and a function that shows it. */
  prepare(text: string, from: Dialect): { readonly time: number | undefined; readonly show: () => Promise<void> } {
    this.#decoder ??= from.createDecoder();
    const { records } = this.#decoder.decode(text);
    for (const { event } of records)
      if (event.type === "run_start" || event.type === "run_end") this.#isRunOpen = event.type === "run_start";
    const time = records[0]?.envelope.ts;
    const output = this.#output;
    return {
      time,
      show: async () => {
        if (output === undefined) for (const record of records) await this.#screen.show(record);
        else {
          this.#converter ??= createStreamConverter(from, output, { debug: true });
          const { frames } = this.#converter.convert(text);
          await this.#terminal.write(frames.map((frame) => encodeFrame(frame, this.#terminal)).join(""));
        }
      },
    };
  }

  async end(): Promise<void> {
    if (this.#output === undefined) await this.#screen.end();
  }
}

/** Waits as long as it took, divided by the speed. */
export function createPacer(
  speed: number,
  wait = (ms: number, signal: AbortSignal): Promise<unknown> => pause(ms, undefined, { signal }).catch(() => undefined),
): WaitForFrame {
  let last: number | undefined;
  return async (time, signal) => {
    const ms = Math.min(MAX_PAUSE_MS, Math.max(0, ((time ?? 0) - (last ?? time ?? 0)) / speed));
    last = time ?? last;
    if (ms >= 1) await wait(ms, signal);
    return !signal.aborted;
  };
}

/** Reads single keys of a terminal. Keys that are typed ahead count. */
class KeyReader implements Disposable {
  readonly #stdin: NodeJS.ReadStream;
  readonly #keys: string[] = [];
  #pressed = Promise.withResolvers<void>();
  readonly #onData = (data: Buffer): void => {
    const text = data.toString();
    // A special key arrives as one sequence.
    this.#keys.push(...(text.startsWith("\u001B") ? [text] : Array.from(text)));
    this.#pressed.resolve();
  };

  constructor(stdin: NodeJS.ReadStream) {
    this.#stdin = stdin;
    stdin.setRawMode(true);
    stdin.on("data", this.#onData).resume();
  }

  /** Resolves to false for `q`, Ctrl-C and Ctrl-D. */
  async next(signal: AbortSignal): Promise<boolean> {
    const stop = (): void => this.#pressed.resolve();
    signal.addEventListener("abort", stop, { once: true });
    if (this.#keys.length === 0 && !signal.aborted) await this.#pressed.promise;
    signal.removeEventListener("abort", stop);
    this.#pressed = Promise.withResolvers();
    const key = this.#keys.shift();
    return !signal.aborted && key !== undefined && !ENDING_KEYS.includes(key);
  }

  [Symbol.dispose](): void {
    this.#stdin.off("data", this.#onData).pause();
    this.#stdin.setRawMode(false);
  }
}

const ENDING_KEYS: readonly string[] = ["q", "\u0003", "\u0004"];
