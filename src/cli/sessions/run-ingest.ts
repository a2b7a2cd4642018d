/** `loom ingest`: records the output of another agent as runs of a session. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { IngestResult } from "../../server/api/shapes.generated.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import { dialectOption, framingOption, STREAM_HINT } from "../input.ts";
import { inputName, readChunks } from "../read-chunks.ts";
import type { Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { openService } from "./open-service.ts";
import type { IngestRequest, SessionService } from "./session-service.ts";
import { STOPPED, untilStopped } from "../stop-signals.ts";

/** Bytes up to this one are spaces and line ends. */
const SPACE = 0x20;
/** Time between two checks whether the session exists, in milliseconds. */
const POLL_MS = 1000;

export async function runIngest(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const dialect = dialectOption(parsed, "dialect");
  const framing = framingOption(parsed);
  const sessionId = textOption(parsed, "session") ?? randomBytes(6).toString("hex");
  let code = STOPPED;
  const record = async (signal: AbortSignal): Promise<void> => {
    await using service = await openService(parsed, terminal, { create: true });
    code = await ingest(
      service,
      { sessionId, dialect: dialect === "auto" ? undefined : dialect, framing, signal },
      parsed,
      terminal,
    );
  };
  await untilStopped(
    (signal) => explainErrors(() => record(signal)),
    new LoomError("stream_cut", "The recording was stopped"),
  );
  return code;
}

async function ingest(
  service: SessionService,
  request: Omit<IngestRequest, "body">,
  parsed: ParsedCommand,
  terminal: Terminal,
): Promise<number> {
  const { sessionId } = request;
  let failure: Error | undefined;
  let isEmpty = true;
  let isNamed = false;
  const nameSession = (): void => {
    if (!isNamed) terminal.warn(terminal.styleError("dim", `session ${cleanText(sessionId)}`));
    isNamed = true;
  };
  const ended = new AbortController();
  const file = parsed.argument ?? "-";
  const body = watchBody(readChunks(file, terminal), {
    onChunk: (chunk) => {
      if (!isEmpty || !chunk.some((byte) => byte > SPACE)) return;
      isEmpty = false;
      // Known before the end, so that the session can be followed meanwhile.
      void waitForSession(service, sessionId, ended.signal).then((exists) => exists && nameSession());
    },
    onError: (error) => (failure = error),
  });
  try {
    const result = await service.ingest({ ...request, body });
    nameSession();
    await printResult(result, parsed, terminal);
    return 0;
  } catch (error) {
    // The services only report that the stream ended early.
    if (failure !== undefined) throw failure;
    if (isEmpty && isLoomError(error, "ingest_invalid")) throw new CliError(`${inputName(file)} is empty`, STREAM_HINT);
    if (!isLoomError(error, "ingest_invalid") || !(Number(error.details["accepted"] ?? 0) > 0)) throw error;
    nameSession();
    terminal.warn(`${cleanText(error.message)}; what was before it is recorded`);
    return 1;
  } finally {
    ended.abort();
  }
}

/** Resolves to true when the session exists, or to false if it is unknown or the signal is aborted. */
async function waitForSession(service: SessionService, sessionId: string, signal: AbortSignal): Promise<boolean> {
  try {
    while (!signal.aborted && (await service.getSession(sessionId)) === undefined)
      await pause(POLL_MS, undefined, { signal });
    return !signal.aborted;
  } catch (error) {
    // A token for ingesting may not read; then the session is named early.
    return !signal.aborted && isLoomError(error, "forbidden");
  }
}

interface BodyListener {
  readonly onChunk: (chunk: Uint8Array) => void;
  readonly onError: (error: Error) => void;
}

async function* watchBody(
  chunks: AsyncIterable<Uint8Array>,
  { onChunk, onError }: BodyListener,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) {
      onChunk(chunk);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof Error) onError(error);
    throw error;
  }
}

async function printResult(result: IngestResult, parsed: ParsedCommand, terminal: Terminal): Promise<void> {
  if (parsed.options["json"] === true) {
    await terminal.write(formatJson(result));
    return;
  }
  const { session_id, dialect, frames, runs, warnings, warning_count } = result;
  await terminal.write(`${cleanText(session_id)}\n`);
  for (const { line, rule, message } of warnings) terminal.warn(cleanText(`line ${line}: warning ${rule}: ${message}`));
  if (warning_count > warnings.length) terminal.warn(`${warning_count - warnings.length} more warnings`);
  terminal.warn(`recorded ${plural(runs.length, "run")} from ${plural(frames, "frame")} (${dialect})`);
}
