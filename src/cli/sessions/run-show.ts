/** `loom show`: prints the conversation or the events of a session or of a recorded stream, and follows a session. */
import { existsSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createStreamConverter, type Dialect, DIALECTS, type StreamConverter } from "../../dialects/index.ts";
import { encodeNdjson } from "../../framing/index.ts";
import { CliError, type ParsedCommand, quoteGiven, quoteOption, quoteWord, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { cutColumns, escapeJson } from "../fit-text.ts";
import { dialectOption, readInput } from "../input.ts";
import { readModes } from "../run/read-run-options.ts";
import { SessionScreen } from "../screen/session-screen.ts";
import type { Terminal } from "../terminal.ts";
import { openService } from "./open-service.ts";
import { describeUnfinished, lookUpSession, nameHost } from "./run-sessions.ts";
import { describeNextCommand } from "./server-settings.ts";
import { STOPPED, untilStopped } from "../stop-signals.ts";

/** Longest pause, in milliseconds of the playback. */
const MAX_PAUSE_MS = 3000;
const MIN_SPEED = 0.01;
const MAX_REPORTED = 20;
/** Exit code if the last run has not ended. */
const UNFINISHED = 3;
/** Time without frames after which the command checks whether a process executes the run, in milliseconds. */
const CHECK_MS = 1000;
const REMOTE_CHECK_MS = 5000;

interface ShowCall {
  readonly parsed: ParsedCommand;
  readonly terminal: Terminal;
  readonly player: FramePlayer;
}

export async function runShow(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const { argument: name = "", options } = parsed;
  // A session may have the name of a file or a folder. An option that only sessions have decides.
  const ofSession = ["follow", "after", "modes", "server", "token-file", "store"].find(
    (option) => options[option] !== undefined,
  );
  const exists = existsSync(name);
  const isFile = name === "-" || (ofSession === undefined && exists && !statSync(name).isDirectory());
  if (name === "-" && ofSession !== undefined)
    throw new CliError("`-` is a file", `\`--${ofSession}\` is for a session`);
  const ofFile = ["from", "framing"].find((option) => options[option] !== undefined);
  if (!isFile && ofFile !== undefined)
    throw new CliError(
      exists ? `\`${name}\` is not read as a file` : `there is no file \`${name}\``,
      `\`--${ofFile}\` is for a file`,
    );
  const speed = readSpeed(parsed);
  if (speed !== undefined && options["follow"] === true)
    throw new CliError("`--follow` and `--speed` cannot be used together");
  const output = readOutputDialect(parsed);
  if (options["modes"] !== undefined && output === undefined)
    throw new CliError("`--modes` needs `--events` or `--dialect D`");
  const call = { parsed, terminal, player: new FramePlayer({ output, speed, isFile, terminal }) };
  return explainErrors(async () => (isFile ? showFile(call) : showSession(call)));
}

/** Returns undefined for text. */
function readOutputDialect(parsed: ParsedCommand): Dialect | undefined {
  const dialect = dialectOption(parsed, "dialect");
  if (dialect === "auto") throw new CliError("`--dialect auto` is only for input");
  return parsed.options["events"] === true ? (dialect ?? DIALECTS.loom) : dialect;
}

/** Returns undefined for no pauses. */
function readSpeed(parsed: ParsedCommand): number | undefined {
  const given = textOption(parsed, "speed");
  if (given === undefined) return undefined;
  const speed = /^\d*\.?\d+$/.test(given) ? Number(given) : 0;
  if (speed >= MIN_SPEED) return speed;
  throw new CliError(`\`--speed ${given}\` is not a number of at least ${MIN_SPEED}`);
}

async function showFile({ parsed, terminal, player }: ShowCall): Promise<number> {
  let rejected = 0;
  const isStopped = await untilStopped(async (signal) => {
    for await (const { dialect, frames } of readInput(parsed, "from", terminal))
      for (const frame of frames) {
        if (signal.aborted) return;
        if (frame.ok) await player.play([frame.text], dialect, signal);
        else if (++rejected <= MAX_REPORTED) terminal.warn(`line ${frame.line}: ${cutColumns(frame.detail, 500)}`);
      }
  });
  await player.end();
  if (rejected > MAX_REPORTED) terminal.warn(`${rejected - MAX_REPORTED} more frames rejected`);
  if (isStopped) return STOPPED;
  if (player.isRunOpen) terminal.warn("the recording ends before its run has ended");
  if (rejected > 0) return 1;
  return player.isRunOpen ? UNFINISHED : 0;
}

async function showSession({ parsed, terminal, player }: ShowCall): Promise<number> {
  const { argument: name = "", options } = parsed;
  await using service = await openService(parsed, terminal);
  const session = await lookUpSession(service, name);
  // A typing error in the name of a file, for example.
  if (session === undefined)
    throw new CliError(
      `there is no file \`${name}\`, and no session \`${name}\` ${nameHost(service)}`,
      `list the sessions with \`${describeNextCommand(parsed, "sessions list")}\``,
    );
  const { session_id: sessionId } = session;
  const isFollowing = options["follow"] === true;
  let after = textOption(parsed, "after");
  const onInterruption = (message: string | undefined): void =>
    player.say(message === undefined ? "connected again" : `connection lost (${message}); connecting again`);
  const explain = async (): Promise<void> => player.say(await describeUnfinished(service, parsed, sessionId));
  // A process that ends writes nothing, so the end of a run may be missing.
  let timer: NodeJS.Timeout | undefined;
  using _timer = { [Symbol.dispose]: () => clearTimeout(timer) };
  const check = async (): Promise<void> => {
    const { is_busy = false, is_orphan = false } = (await service.getSession(sessionId)) ?? {};
    if (is_orphan) await explain();
    else if (is_busy) checkLater();
  };
  const checkLater = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void check().catch(() => undefined), service.isRemote ? REMOTE_CHECK_MS : CHECK_MS);
  };
  if (isFollowing) await check();
  const isStopped = await untilStopped(async (signal) => {
    const request = { modes: readModes(parsed), after, follow: isFollowing, signal, onInterruption };
    for await (const frames of service.openFrames(sessionId, { ...request, dialect: player.input.name })) {
      await player.play(
        frames.map(({ text }) => text),
        player.input,
        signal,
      );
      after = frames.at(-1)?.cursor ?? after;
      if (isFollowing) checkLater();
    }
  });
  await player.end();
  if (isFollowing) {
    const kept = quoteGiven(
      parsed,
      Object.keys(options).filter((option) => option !== "after"),
    );
    const position = after === undefined ? [] : [quoteOption("after", after)];
    terminal.warn(`to continue: ${["loom show", quoteWord(sessionId), ...position, ...kept].join(" ")}`);
  }
  if (isFollowing || isStopped) return STOPPED;
  const [latest] = (await service.getSession(sessionId))?.runs ?? [];
  if (latest?.status !== "live") return 0;
  await explain();
  return UNFINISHED;
}

interface PlayerOptions {
  /** Undefined for text. */
  readonly output: Dialect | undefined;
  /** Undefined for no pauses. */
  readonly speed: number | undefined;
  readonly isFile: boolean;
  readonly terminal: Terminal;
}

/** Turns frames into text or into frames of another dialect, with their pauses if there is a speed. */
class FramePlayer {
  /** Dialect in which a session is read: that of the output, unless the times of its events are needed. */
  readonly input: Dialect;
  readonly #options: PlayerOptions;
  readonly #screen: SessionScreen;
  readonly #wait: WaitForFrame;
  #decoder: ReturnType<Dialect["createDecoder"]> | undefined;
  #converter: StreamConverter | undefined;
  #isRunOpen = false;

  constructor(options: PlayerOptions) {
    const { output = DIALECTS.loom, speed, terminal } = options;
    this.input = speed === undefined ? output : DIALECTS.loom;
    this.#options = options;
    this.#screen = new SessionScreen(terminal);
    this.#wait = createPacer(speed ?? Number.POSITIVE_INFINITY);
  }

  /** The last run of a file has not ended. */
  get isRunOpen(): boolean {
    return this.#isRunOpen;
  }

  /** Shows each frame when it is time, until the signal is aborted. */
  async play(texts: readonly string[], from: Dialect, signal: AbortSignal): Promise<void> {
    const { output, speed, isFile, terminal } = this.#options;
    let encoded = "";
    for (const text of texts) {
      const records = output === undefined || speed !== undefined || isFile ? this.#decode(text, from) : [];
      if (!(await this.#wait(records[0]?.envelope.ts, signal))) break;
      if (output === undefined) for (const record of records) await this.#screen.show(record);
      else encoded += this.#encode(text, from, output);
      if (speed === undefined) continue;
      await terminal.write(encoded);
      encoded = "";
    }
    await terminal.write(encoded);
  }

  /** Prints a note. */
  say(text: string): void {
    const { output, terminal } = this.#options;
    if (output === undefined) this.#screen.line(text);
    else terminal.warn(text);
  }

  async end(): Promise<void> {
    if (this.#options.output === undefined) await this.#screen.end();
  }

  #decode(text: string, from: Dialect): ReturnType<ReturnType<Dialect["createDecoder"]>["decode"]>["records"] {
    this.#decoder ??= from.createDecoder();
    const { records } = this.#decoder.decode(text);
    for (const { event } of records)
      if (event.type === "run_start" || event.type === "run_end") this.#isRunOpen = event.type === "run_start";
    return records;
  }

  /** On a terminal, unsafe characters are escaped. */
  #encode(text: string, from: Dialect, output: Dialect): string {
    const { isFile, terminal } = this.#options;
    if (isFile || from !== output) this.#converter ??= createStreamConverter(from, output, { debug: true });
    const frames = this.#converter?.convert(text).frames ?? [text];
    return frames.map((frame) => encodeNdjson(terminal.columns === undefined ? frame : escapeJson(frame))).join("");
  }
}

/** Resolves when the next frame may be shown; false if the signal is aborted. */
type WaitForFrame = (time: number | undefined, signal: AbortSignal) => Promise<boolean>;

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
