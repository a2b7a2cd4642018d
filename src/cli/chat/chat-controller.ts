/**
 * What the chat does, apart from showing it: executes commands, sends messages, decides on tool calls and changes
 * sessions. The screen and the plain mode both use it.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { homedir } from "node:os";
import type { MessageView } from "../../client/view.ts";
import { isLoomError } from "../../protocol/index.ts";
import { CliError } from "../command.ts";
import { cutColumns, plural } from "../fit-text.ts";
import { formatAge, formatTable } from "../format-table.ts";
import { Approver } from "../run/approver.ts";
import type { ToolDecision } from "../run/prompt-for-approval.ts";
import type { WaitingCall } from "../run/pending-approvals.ts";
import { writeExport } from "../sessions/run-sessions.ts";
import type { ChatBackend } from "./chat-backend.ts";
import { type ChatFile, type ChatMessage, ChatConversation } from "./chat-conversation.ts";
import { describeSlashCommand, readSlashInput, SLASH_COMMANDS, type SlashName } from "./slash-commands.ts";
import { formatThoughts } from "../screen/thought-rows.ts";
import { type PaintText, paintRow, wrapRows } from "../screen/text-rows.ts";

/** A decision of the user about a tool call. */
export interface ChatDecision {
  readonly decision: ToolDecision;
  /** All calls of the tool are allowed in this session. */
  readonly isAllowed: boolean;
}

/** How the chat reaches the user. */
export interface ChatSurface {
  readonly width: number;
  readonly paint: PaintText;
  /** Keys for `/help`, with what they do. */
  readonly keys: readonly (readonly [keys: string, about: string])[];
  /** The view, or what waits, changed. */
  changed(): void;
  /** Prints rows that stay. */
  print(rows: readonly string[]): void;
  /** Another session is shown. */
  switched(): void;
  /** Returns undefined if the call no longer waits or the input ended. */
  decide(call: WaitingCall, signal: AbortSignal): Promise<ChatDecision | undefined>;
}

/** Sessions listed by `/sessions`. */
const LISTED = 15;
/** Columns for the age of a session and the gap before it. */
const AGE_COLUMNS = 10;
/** Largest file that is attached, in bytes. */
const MAX_FILE_BYTES = 25_000_000;
/** Longest time between two Ctrl-C that leave the chat while a run is live, in milliseconds. */
export const TWICE_MS = 2000;
/** Media types of files, by the end of their name. */
const MEDIA_TYPES: { readonly [extension: string]: string } = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".json": "application/json",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
};
/** Commands that do not wait for the inputs before them. `/retry` waits like a message. */
const AT_ONCE: readonly SlashName[] = ["help", "retry", "stop"];

/** A message that was entered, and waits for the inputs before it. */
export type UnsentMessage = Pick<ChatMessage, "text">;

interface SendingMessage {
  readonly conversation: ChatConversation;
  /** Files of the message, which are attached again if it is not accepted. */
  readonly taken: readonly ChatFile[];
  /** What to say if the message was not accepted. */
  readonly refusal: Promise<string | undefined>;
}

export class ChatController {
  readonly backend: ChatBackend;
  readonly #surface: ChatSurface;
  readonly #commands: { readonly [name in SlashName]: (argument: string) => Promise<void> | void } = {
    help: () => this.#help(),
    new: () => this.#startNew(),
    sessions: (words) => this.#listSessions(words),
    open: (id) => this.open(id),
    agent: (name) => this.#changeAgent(name),
    model: (name) => this.#changeModel(name),
    attach: (path) => this.#attach(path),
    detach: () => this.#detach(),
    export: (path) => this.#export(path),
    title: (title) => this.#rename(title),
    tree: () => this.#showThoughts(),
    retry: () => this.#send("/retry", () => this.#lastMessage ?? this.#findLastMessage()),
    stop: () => this.stop(),
    quit: () => undefined,
  };
  #files: readonly ChatFile[] = [];
  #conversation: ChatConversation;
  #approver: Approver;
  #lastMessage: ChatMessage | undefined;
  #isNew = true;
  #missingReported = "";
  #lastInput: Promise<void> = Promise.resolve();
  #unsent: readonly UnsentMessage[] = [];
  #isClosed = false;

  constructor(backend: ChatBackend, surface: ChatSurface) {
    this.backend = backend;
    this.#surface = surface;
    [this.#conversation, this.#approver] = this.#create(randomBytes(6).toString("hex"));
  }

  get conversation(): ChatConversation {
    return this.#conversation;
  }

  get files(): readonly ChatFile[] {
    return this.#files;
  }

  /** Messages that wait for the inputs before them. */
  get unsent(): readonly UnsentMessage[] {
    return this.#unsent;
  }

  /** Messages that have not started. */
  get waitingMessages(): readonly UnsentMessage[] {
    return [...this.#conversation.waitingMessages, ...this.#unsent];
  }

  /** A run is live, or a message was sent and waits. */
  get isRunning(): boolean {
    return this.#conversation.liveTurn !== undefined || this.#conversation.waitingMessages.length > 0;
  }

  /** A run is live, or a message waits. */
  get isBusy(): boolean {
    return this.isRunning || this.#unsent.length > 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True until the first message of a new session was accepted. */
  get isNewSession(): boolean {
    // The connection may be lost before a message is confirmed that was accepted.
    return this.#isNew && this.#conversation.lastTurn === undefined;
  }

  /** Executes a command or sends a message. Returns true if the user wants to leave. */
  async submit(text: string): Promise<boolean> {
    const input = readSlashInput(text);
    try {
      if (input?.kind === "error") this.#say(input.message);
      else if (input?.kind === "command") {
        const execute = async (): Promise<void> => this.#commands[input.name](input.argument);
        await (AT_ONCE.includes(input.name) ? execute() : this.#inOrder(execute));
        return input.name === "quit";
      } else {
        const message = text.startsWith("//") ? text.slice(1) : text;
        await this.#send(message, () => ({ text: message, files: this.#files }));
      }
    } catch (error) {
      this.#say(describeFailure(error));
    }
    return false;
  }

  /** Opens a session. Throws a LoomError or a CliError. */
  async open(sessionId: string): Promise<void> {
    if ((await this.backend.service.getSession(sessionId)) === undefined)
      throw new CliError(`there is no session \`${sessionId}\``, "/sessions lists them");
    // If this fails, the chat stays in its session.
    await this.backend.hold(sessionId);
    if (this.#isClosed) return;
    this.#switch(sessionId);
    this.#isNew = false;
    await this.#conversation.open();
    this.update();
  }

  /** Cancels the run and the messages that wait. */
  async stop(): Promise<void> {
    const { length } = this.#unsent;
    this.#unsent = [];
    if (length > 0) this.#say(`${plural(length, "message")} not sent`);
    const { liveTurn, waitingMessages } = this.#conversation;
    if (this.isBusy) await this.#cancel([...waitingMessages.map(({ runId }) => runId), liveTurn?.runId]);
    else if (length === 0) this.#say("no run to cancel");
  }

  /** Cancels the run, or the first message that waits. Later messages run next. */
  interrupt(): void {
    const { liveTurn, waitingMessages } = this.#conversation;
    const runId = liveTurn?.runId ?? waitingMessages[0]?.runId;
    if (runId === undefined) this.#unsent = this.#unsent.slice(1);
    void this.#cancel([runId]);
  }

  async #cancel(runIds: readonly (string | undefined)[]): Promise<void> {
    const cancelling = this.#conversation.cancel(runIds.filter((id) => id !== undefined));
    const { length } = this.waitingMessages;
    this.#say(length === 0 ? "cancelling" : `cancelling; ${plural(length, "message")} to run next, or /stop`);
    const failure = await cancelling;
    if (failure !== undefined) this.#say(`the run was not cancelled: ${failure}`);
  }

  /** Passes changes of the view on: calls that wait for a decision. */
  update(): void {
    const calls = this.#conversation.waitingCalls;
    const { missingTools: missing } = this.backend;
    // The call is shown before the question.
    this.#surface.changed();
    if (missing.length > 0) this.#reportMissing(missing);
    this.#approver.update(missing.length > 0 ? [] : calls);
  }

  close(): void {
    this.#isClosed = true;
    this.#closeSession();
  }

  #closeSession(): void {
    this.#approver.close();
    this.#conversation.close();
  }

  #create(sessionId: string): [ChatConversation, Approver] {
    const { service } = this.backend;
    const conversation = new ChatConversation({
      service,
      sessionId,
      onChange: () => {
        if (this.#conversation === conversation) this.update();
      },
      onNote: (text) => this.#say(text),
    });
    const approver = new Approver({
      service,
      sessionId,
      decide: async (call, signal) => this.#decide(call, signal),
      onInputClosed: () => undefined,
      onRefused: ({ name }, message) => this.#say(`the decision on ${name} was rejected: ${message}`),
      onFailed: (error) => this.#say(describeFailure(error)),
    });
    return [conversation, approver];
  }

  #switch(sessionId: string): void {
    this.#closeSession();
    this.#files = [];
    this.#lastMessage = undefined;
    this.#missingReported = "";
    [this.#conversation, this.#approver] = this.#create(sessionId);
    this.#surface.switched();
  }

  async #decide(call: WaitingCall, signal: AbortSignal): Promise<ToolDecision | undefined> {
    const decided = await this.#surface.decide(call, signal);
    if (decided?.isAllowed !== true) return decided?.decision;
    const { sessionId: session } = this.#conversation;
    const result = await this.backend.service.send({
      type: "permission",
      id: randomUUID(),
      session,
      name: call.name,
      rule: "allow",
    });
    if (result.kind !== "done" && result.kind !== "accepted")
      this.#say(`${call.name} is allowed only once: ${result.message}`);
    return decided.decision;
  }

  async #send(text: string, findMessage: () => ChatMessage | undefined): Promise<void> {
    const unsent: UnsentMessage = { text };
    this.#unsent = [...this.#unsent, unsent];
    const sending = await this.#inOrder(async () => this.#startSending(unsent, findMessage)).finally(() => {
      this.#unsent = this.#unsent.filter((each) => each !== unsent);
    });
    if (sending === undefined) return;
    const { conversation, taken } = sending;
    let isAccepted = false;
    try {
      const refusal = await sending.refusal;
      isAccepted = refusal === undefined;
      if (refusal !== undefined) this.#say(refusal);
    } finally {
      if (this.#conversation === conversation) {
        if (isAccepted) this.#isNew = false;
        else this.#files = [...taken, ...this.#files];
      }
    }
  }

  /** Returns before the message is accepted, in an object, so that the next input does not wait for the server. */
  async #startSending(
    unsent: UnsentMessage,
    findMessage: () => ChatMessage | undefined,
  ): Promise<SendingMessage | undefined> {
    if (!this.#unsent.includes(unsent)) return undefined;
    const message = findMessage();
    if (message === undefined) {
      this.#say("no message to send again");
      return undefined;
    }
    const { text, files } = message;
    if (text.trim() === "" && files.length === 0) return undefined;
    this.#lastMessage = message;
    const conversation = this.#conversation;
    await this.backend.hold(conversation.sessionId);
    // The user may have cancelled it.
    if (!this.#unsent.includes(unsent)) return undefined;
    this.#unsent = this.#unsent.filter((each) => each !== unsent);
    const taken = this.#files.filter((file) => files.includes(file));
    this.#files = this.#files.filter((file) => !files.includes(file));
    return { conversation, taken, refusal: conversation.send(message, this.backend.runFields) };
  }

  /**
   * Waits for the inputs before: a message belongs to the session, the agent and the files of the commands before it.
   */
  async #inOrder<T>(execute: () => Promise<T>): Promise<T> {
    const result = this.#lastInput.then(execute);
    this.#lastInput = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  async #startNew(): Promise<void> {
    await this.backend.release();
    this.#switch(randomBytes(6).toString("hex"));
    this.#isNew = true;
    this.#say("new session");
  }

  #detach(): void {
    this.#say(`${plural(this.#files.length, "file")} removed`);
    this.#files = [];
    this.#surface.changed();
  }

  async #rename(title: string): Promise<void> {
    this.#assertStored();
    await this.backend.service.renameSession(this.#conversation.sessionId, title);
    this.#say("renamed");
  }

  #help(): void {
    const { paint, width } = this.#surface;
    const rows = [
      ...SLASH_COMMANDS.map((command) => [describeSlashCommand(command), command.about] as const),
      ...this.#surface.keys,
    ].map(([left, about]) => `${paint("cyan", left.padEnd(20))} ${cutColumns(about, width - 21)}`);
    this.#surface.print([...rows, ""]);
  }

  async #listSessions(words: string): Promise<void> {
    const query = words === "" ? undefined : words;
    const { items } = await this.backend.service.listSessions({ limit: LISTED, query });
    const { paint, width } = this.#surface;
    if (items.length === 0) {
      this.#say(query === undefined ? "no sessions" : "no session contains these words");
      return;
    }
    const rows = items.map(({ session_id, title = "", match, updated_at }) => {
      const text = match === undefined || match.where === "title" ? title : `${title}: ${match.snippet}`;
      return [cutColumns(session_id, width - AGE_COLUMNS), formatAge(updated_at), text];
    });
    const table = formatTable(["SESSION", "AGE", "TITLE"], rows, { columns: width, style: paint });
    this.#surface.print([...table.trimEnd().split("\n"), paint("dim", "/open ID continues one"), ""]);
  }

  async #changeAgent(name: string): Promise<void> {
    if (name === "") {
      const others = (await this.backend.listAgents()).filter((each) => each !== this.backend.agentName);
      this.#say(`agent ${this.backend.agentName}; others: ${others.join(", ") || "none"}`);
      return;
    }
    this.#assertIdle();
    await this.backend.selectAgent(name);
    this.#say(`agent ${this.backend.agentName}`);
    this.#surface.changed();
  }

  async #changeModel(name: string): Promise<void> {
    if (name !== "") {
      this.#assertIdle();
      await this.backend.selectModel(name);
    }
    this.#say(`model ${this.backend.modelName ?? "of the server"}`);
    this.#surface.changed();
  }

  async #attach(path: string): Promise<void> {
    const file = resolvePath(path);
    const name = basename(file);
    const info = await stat(file).catch((error: unknown) => {
      throw new CliError(`cannot read ${name} (${(error as NodeJS.ErrnoException).code ?? "?"})`);
    });
    if (!info.isFile()) throw new CliError(`${name} is not a file`);
    if (info.size > MAX_FILE_BYTES) throw new CliError(`${name} is larger than ${Math.round(MAX_FILE_BYTES / 1e6)} MB`);
    const bytes = await readFile(file);
    const upload = { name, mediaType: findMediaType(name, bytes), bytes };
    const blobId = await this.backend.service.uploadFile(this.#conversation.sessionId, upload);
    this.#files = [...this.#files, { name, blobId }];
    this.#say(`attached ${name}, ${bytes.length} bytes`);
    this.#surface.changed();
  }

  async #export(path: string): Promise<void> {
    this.#assertStored();
    await writeExport(this.backend.service, this.#conversation.sessionId, resolvePath(path));
    this.#say(`written to ${path}`);
  }

  #showThoughts(): void {
    const turns = this.#conversation.view?.turns ?? [];
    const turn = turns.findLast(({ tree, graph }) => tree !== undefined || graph !== undefined);
    const rows = turn === undefined ? undefined : formatThoughts(turn, this.#surface.width, this.#surface.paint);
    if (rows === undefined) this.#say("no thoughts in this session; choose an agent with /agent tot or /agent got");
    else this.#surface.print([...rows, ""]);
  }

  #findLastMessage(): ChatMessage | undefined {
    const last = this.#conversation.lastTurn?.messages.find(({ role }) => role === "user");
    return last === undefined ? undefined : { text: last.mainContent, files: listFiles(last) };
  }

  #reportMissing(missing: readonly string[]): void {
    const names = missing.join(", ");
    if (names === this.#missingReported) return;
    this.#missingReported = names;
    this.#say(`the run waits: it needs tools that are not available here: ${names}`);
  }

  #assertIdle(): void {
    const { liveTurn, waitingMessages } = this.#conversation;
    // A message from elsewhere may wait for the agent that the user chooses.
    if (liveTurn === undefined && !this.#conversation.hasSent(waitingMessages[0]?.runId)) return;
    throw new CliError("a run is live", "stop it with /stop first");
  }

  #assertStored(): void {
    if (this.isNewSession && this.#files.length === 0) throw new CliError("the session has no messages");
  }

  #say(text: string): void {
    const { paint, width } = this.#surface;
    this.#surface.print(wrapRows([{ text, style: "dim" }], { width }).map((row) => paintRow(row, paint)));
  }
}

/** Accepts a path in quotes, and `~` for the home folder. */
function resolvePath(path: string): string {
  return resolve(path.replace(/^(['"])(.*)\1$/, "$2").replace(/^~(?=\/)/, homedir()));
}

function listFiles({ attachments = [] }: MessageView): readonly ChatFile[] {
  return attachments.map(({ name = "file", blob_id }) => ({ name, blobId: blob_id }));
}

function describeFailure(error: unknown): string {
  if (error instanceof CliError) return error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
  if (isLoomError(error)) return error.message;
  return `internal error: ${error instanceof Error ? error.message : String(error)}`;
}

/** Other files are text if they are valid UTF-8. */
function findMediaType(name: string, bytes: Uint8Array): string {
  const known = MEDIA_TYPES[extname(name).toLowerCase()];
  if (known !== undefined) return known;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes.includes(0) ? "application/octet-stream" : "text/plain";
  } catch {
    return "application/octet-stream";
  }
}
