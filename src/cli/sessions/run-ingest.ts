/** `loom ingest`: records the output of another agent as runs of a session. */
import { randomBytes } from "node:crypto";
import { detectFraming } from "../../framing/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { IngestResult } from "../../server/api/shapes.generated.ts";
import { type ParsedCommand, textOption } from "../command.ts";
import { dialectOption } from "../dialect-option.ts";
import { cleanText, plural } from "../fit-text.ts";
import { framingOption } from "../input.ts";
import { readChunks } from "../read-chunks.ts";
import type { Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { openService } from "./open-service.ts";
import { printJson } from "./run-sessions.ts";
import { STOPPED } from "./until-stopped.ts";

export async function runIngest(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const dialect = dialectOption(parsed, "dialect");
  const framing = framingOption(parsed);
  const sessionId = textOption(parsed, "session") ?? randomBytes(6).toString("hex");
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new LoomError("stream_cut", "The recording was stopped"));
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    return await explainErrors(async () => {
      await using service = await openService(parsed, terminal, { create: true });
      let failure: Error | undefined;
      const body = watchBody(readChunks(parsed.argument ?? "-", terminal), {
        // Known before the end, so that the session can be followed meanwhile.
        onStart: () => terminal.warn(terminal.styleError("dim", `session ${cleanText(sessionId)}`)),
        onError: (error) => (failure = error),
      });
      const named = dialect === "auto" ? undefined : dialect;
      try {
        const result = await service.ingest({ sessionId, body, dialect: named, framing, signal: stop.signal });
        await printResult(result, parsed, terminal);
        return 0;
      } catch (error) {
        // The services only report that the stream ended early.
        if (failure !== undefined) throw failure;
        if (!isLoomError(error, "ingest_invalid") || !(Number(error.details["accepted"] ?? 0) > 0)) throw error;
        terminal.warn(`${cleanText(error.message)}; what was before it is recorded`);
        return 1;
      }
    });
  } catch (error) {
    if (stop.signal.aborted) return STOPPED;
    throw error;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** Yields the chunks. Calls `onStart` when they look like a stream; other input creates no session. */
async function* watchBody(
  chunks: AsyncIterable<Uint8Array>,
  { onStart, onError }: { readonly onStart: () => void; readonly onError: (error: Error) => void },
): AsyncGenerator<Uint8Array> {
  let isStarted = false;
  try {
    for await (const chunk of chunks) {
      if (!isStarted && detectFraming(chunk) !== undefined) {
        isStarted = true;
        onStart();
      }
      yield chunk;
    }
  } catch (error) {
    if (error instanceof Error) onError(error);
    throw error;
  }
}

async function printResult(result: IngestResult, parsed: ParsedCommand, terminal: Terminal): Promise<void> {
  if (parsed.options["json"] === true) {
    await printJson(terminal, result);
    return;
  }
  const { session_id, dialect, frames, runs, warnings, warning_count } = result;
  await terminal.write(`${cleanText(session_id)}\n`);
  for (const { line, rule, message } of warnings) terminal.warn(cleanText(`line ${line}: warning ${rule}: ${message}`));
  if (warning_count > warnings.length) terminal.warn(`${warning_count - warnings.length} more warnings`);
  terminal.warn(`recorded ${plural(runs.length, "run")} from ${plural(frames, "frame")} (${dialect})`);
}
