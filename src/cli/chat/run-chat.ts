/** `loom chat`: opens the sessions and the agents, and shows the chat on a terminal or as plain lines. */
import { join } from "node:path";
import { styleText } from "node:util";
import { CliError, type ParsedCommand, quoteGiven, quoteWord } from "../command.ts";
import { findDataFolder } from "../find-store.ts";
import { explainErrors } from "../explain-error.ts";
import { assertNoLocalOptions, describeToolOptions } from "../run/read-run-options.ts";
import { openRemoteService } from "../sessions/open-service.ts";
import { findLatest } from "../sessions/newest-sessions.ts";
import { findSession } from "../sessions/run-sessions.ts";
import { readServiceAddress, type ServiceAddress } from "../sessions/server-settings.ts";
import type { Terminal } from "../terminal.ts";
import { type ChatBackend, openLocalBackend, openServerBackend, type ReportNote } from "./chat-backend.ts";
import { InputHistory } from "./input-history.ts";
import type { PaintText } from "../screen/text-rows.ts";

export async function runChat(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const { options, argument } = parsed;
  if (argument !== undefined && options["continue"] === true)
    throw new CliError("`--continue` and SESSION cannot be used together");
  const address = readServiceAddress(parsed);
  return explainErrors(async () => {
    let report: ReportNote = (text) => terminal.warn(text);
    await using backend = await openBackend(parsed, address, terminal, (text) => report(text));
    const { service } = backend;
    const word = options["continue"] === true ? await findLatest(service, parsed) : argument;
    const sessionId = word === undefined ? undefined : (await findSession(service, word, parsed)).session_id;
    const onReady = (next: ReportNote): void => {
      report = next;
    };
    const describeChat = (id: string): string => describeCommand(parsed, id, backend.missingTools);
    if (isPlain(parsed, terminal)) {
      const { PlainChat } = await import("./plain-chat.ts");
      return await new PlainChat({ backend, terminal, describeChat, onReady }).run(sessionId);
    }
    const { ScreenChat } = await import("./screen-chat.ts");
    const paint: PaintText = (style, text) => styleText(style, text, { stream: process.stdout });
    const history = new InputHistory(options["no-history"] === true ? undefined : findHistory());
    const { stdin } = terminal;
    const { stdout } = process;
    const chat = new ScreenChat({ backend, stdin, stdout, paint, history, describeChat, onReady });
    return await chat.run(sessionId);
  });
}

function describeCommand(parsed: ParsedCommand, sessionId: string, missingTools: readonly string[]): string {
  const kept = Object.keys(parsed.options).filter((name) => name !== "continue");
  const added = describeToolOptions(missingTools, parsed.options);
  return ["loom chat", quoteWord(sessionId), ...quoteGiven(parsed, kept), ...added].join(" ");
}

async function openBackend(
  parsed: ParsedCommand,
  address: ServiceAddress,
  terminal: Terminal,
  onNote: ReportNote,
): Promise<ChatBackend> {
  if (address.kind === "store") return openLocalBackend(parsed, address.store, onNote);
  assertNoLocalOptions(parsed, "a chat with");
  const service = await openRemoteService(address, terminal);
  try {
    return await openServerBackend(parsed, service);
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}

function isPlain(parsed: ParsedCommand, { stdin, columns }: Terminal): boolean {
  return parsed.options["plain"] === true || columns === undefined || !stdin.isTTY || process.env["TERM"] === "dumb";
}

function findHistory(): string {
  return join(findDataFolder(process.env), "chat-history");
}
