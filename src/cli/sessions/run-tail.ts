/** `loom tail`: follows a session, as text or as frames. */
import { type Dialect, DIALECTS, LOOM_DECODING } from "../../dialects/index.ts";
import { encodeNdjson } from "../../framing/index.ts";
import { CliError, type ParsedCommand, quoteGiven, quoteOption, quoteWord, textOption } from "../command.ts";
import { dialectOption } from "../dialect-option.ts";
import { escapeJson } from "../fit-text.ts";
import { readModes } from "../run/read-run-options.ts";
import type { Terminal } from "../terminal.ts";
import { explainErrors } from "../explain-error.ts";
import { openService } from "./open-service.ts";
import { describeUnfinished, findSession } from "./run-sessions.ts";
import { SessionScreen } from "../screen/session-screen.ts";
import { STOPPED, untilStopped } from "./until-stopped.ts";

/** Time without frames after which the command checks whether a process executes the run, in milliseconds. */
const CHECK_MS = 1000;
const REMOTE_CHECK_MS = 5000;

export async function runTail(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const sessionId = parsed.argument ?? "";
  const dialect = readOutputDialect(parsed);
  const modes = readModes(parsed);
  if (modes !== undefined && dialect === undefined) throw new CliError("`--modes` needs `--json` or `--dialect D`");
  return explainErrors(async () => {
    await using service = await openService(parsed, terminal);
    const session = await findSession(service, sessionId, parsed);
    const [latest] = session.runs;
    const begin = latest?.status === "live" ? latest.first_event_id - 1 : session.last_event_id;
    let cursor = textOption(parsed, "after") ?? String(begin);
    const screen = dialect === undefined ? new SessionScreen(terminal) : undefined;
    const say = (text: string): void => (screen === undefined ? terminal.warn(text) : screen.line(text));
    const onInterruption = (message: string | undefined): void =>
      say(message === undefined ? "connected again" : `connection lost (${message}); connecting again`);
    // A process that ends writes nothing.
    let timer: NodeJS.Timeout | undefined;
    const checkLater = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void check().catch(() => undefined), service.isRemote ? REMOTE_CHECK_MS : CHECK_MS);
    };
    const check = async (): Promise<void> => {
      const { is_busy: isBusy = false, is_orphan: isOrphan = false } = (await service.getSession(sessionId)) ?? {};
      if (isOrphan) say(await describeUnfinished(service, parsed, sessionId));
      else if (isBusy) checkLater();
    };
    using _timer = { [Symbol.dispose]: () => clearTimeout(timer) };
    await check();
    await untilStopped(async (signal) => {
      const decoder = LOOM_DECODING.createDecoder();
      const request = { dialect: dialect?.name ?? "loom", modes, after: cursor, follow: true, signal, onInterruption };
      for await (const frames of service.openFrames(sessionId, request)) {
        if (screen === undefined) await terminal.write(frames.map(({ text }) => encodeFrame(text, terminal)).join(""));
        else
          for (const { text } of frames) for (const record of decoder.decode(text).records) await screen.show(record);
        cursor = frames.at(-1)?.cursor ?? cursor;
        checkLater();
      }
    });
    await screen?.end();
    terminal.warn(`to continue: ${describeTail(parsed, cursor)}`);
    return STOPPED;
  });
}

/** On a terminal, unsafe characters are escaped. */
export function encodeFrame(text: string, { columns }: Terminal): string {
  return encodeNdjson(columns === undefined ? text : escapeJson(text));
}

/** Returns undefined for text. */
export function readOutputDialect(parsed: ParsedCommand): Dialect | undefined {
  const dialect = dialectOption(parsed, "dialect");
  const isJson = parsed.options["json"] === true;
  if (dialect === "auto") throw new CliError("`--dialect auto` is only for input");
  if (dialect !== undefined && isJson) throw new CliError("`--dialect` and `--json` cannot be used together");
  return isJson ? DIALECTS.loom : dialect;
}

function describeTail(parsed: ParsedCommand, cursor: string): string {
  const { argument = "", options } = parsed;
  const kept = quoteGiven(
    parsed,
    Object.keys(options).filter((name) => name !== "after"),
  );
  return ["loom tail", quoteWord(argument), quoteOption("after", cursor), ...kept].join(" ");
}
