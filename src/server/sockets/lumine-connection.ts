/**
 * The server side of the Lumine protocol (004) for one client. It greets the client, answers each message with the
 * frames of its run, in order, and lets a disconnected client resume. It is independent of the socket: pass incoming
 * texts to `receive`.
 *
 *     open ──▶ greeted ──▶ message ──▶ message ──▶ …    each message: session_id, the frames of one run, [DONE]
 *                │
 *                └─(after, skip, follow, live run)─▶ relay ──▶ message ──▶ …
 *
 * Invariants:
 * - The frames of a run are sent byte for byte as in the stream of the session, in order, each once. The greeting of a
 *   new session is the first frame of its stream and replaces it.
 * - A refused input is reported within the current request or between two requests, and affects nothing else.
 * - A client that disconnects cancels nothing: its messages are commands in the log.
 */
import { randomUUID } from "node:crypto";
import { parseCursor } from "../../log/cursor.ts";
import { assertSessionId, unknownSession } from "../../log/rules.ts";
import { detectLanguage } from "../../protocol/detect-language.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { CommandHost } from "../commands/command-host.ts";
import { actionOf, type CommandResponse, deriveRunId, executeCommand, toRefusal } from "../commands/execute-command.ts";
import type { Action } from "../auth/scopes.ts";
import type { FrameBatch } from "../streams/frame-batch.ts";
import type { StreamReader, ReaderEnd, ReadRequest, Streams } from "../streams/stream-reader.ts";
import { Backpressure, tooSlow } from "./backpressure.ts";
import { type LumineInput, readLumineInput } from "./lumine-input.ts";
import { isSessionIdle, type LumineStart, resolveLumineStart } from "./lumine-start.ts";
import { FrameGate } from "./frame-gate.ts";
import { type LumineRefusal, LumineSender } from "./lumine-sender.ts";
import type { Peer, PeerAccess, PeerClient } from "./peer.ts";

export interface LumineConnectionOptions extends PeerClient, PeerAccess {
  readonly host: CommandHost;
  readonly streams: Streams;
  /** The longest message from the client, in characters. Code `body_too_large`. */
  readonly maxInboundLength: number;
}

/** A message that has been submitted and not answered yet. */
interface QueuedLumineMessage {
  readonly session: string;
  readonly commandId: string;
  readonly response: Promise<CommandResponse>;
}

/** Maximum messages that wait for an answer. Code `queue_full`. */
const MAX_WAITING = 100;
/** Maximum other commands in progress. Code `backlog_full`. */
const MAX_COMMANDS = 100;

export class LumineConnection implements Peer {
  readonly #options: LumineConnectionOptions;
  readonly #gate: FrameGate;
  readonly #pressure: Backpressure;
  readonly #sender: LumineSender;
  /** The session of the latest message; `#sender.session` is the session being answered. */
  #latestSession = "";
  #isFollowing = false;
  /** Sends frames of more than one run: missed frames, or the whole session. */
  #relay: StreamReader | undefined;
  #queue: QueuedLumineMessage[] = [];
  #current: QueuedLumineMessage | undefined;
  #isAnswering = false;
  #runReader: StreamReader | undefined;
  /** The cursor of the last frame sent from the log, and its session. */
  #cursor: { readonly session: string; readonly text: string } | undefined;
  #submitted: Promise<unknown> = Promise.resolve();
  #commands = 0;
  #isClosed = false;

  constructor(options: LumineConnectionOptions) {
    this.#gate = new FrameGate(options.countRequest, options.maxInboundLength);
    this.#options = options;
    this.#pressure = new Backpressure(options);
    this.#sender = new LumineSender(options);
  }

  /** The cursor to resume after. */
  get cursor(): string | undefined {
    return this.#cursor?.text;
  }

  /** Greets the client and starts sending the frames it missed. Resolves when messages can be received. */
  async open({ session, follow, isResumed, ...start }: LumineStart): Promise<void> {
    this.#latestSession = session ?? randomUUID();
    if (session === undefined) {
      this.#isFollowing = follow;
      this.#sender.greet(this.#latestSession, true);
      if (start.error !== undefined) this.#sender.refuse(start.error);
      return;
    }
    const { log } = this.#options.host;
    let isGreeted = false;
    try {
      const info = (await this.#canRead(session)) ? await log.getSession(session) : undefined;
      this.#isFollowing = follow && start.error === undefined;
      this.#sender.greet(session, (info?.lastId ?? 0) === 0);
      isGreeted = true;
      if (start.error !== undefined) throw start.error;
      if (info === undefined && isResumed) throw unknownSession(session);
      // A client that only names the session sees a run that is live or waiting.
      if (info !== undefined && (isResumed || follow || !(await isSessionIdle(log, session))))
        await this.#startRelay(await resolveLumineStart(log, session, start));
    } catch (error) {
      if (!isGreeted) this.#sender.greet(session, true);
      this.#handleFailure(error);
      if (isLoomError(error, "forbidden", "unauthorized")) this.#fail(error);
    }
  }

  receive(text: string): void {
    if (this.#isClosed) return;
    const input = readLumineInput(text, this.#options.maxInboundLength);
    // A bad frame is refused without counting, in its turn.
    if (input.kind === "bad") this.#gate.follow(() => this.#handle(input));
    else
      this.#gate.pass(text.length, (error) =>
        this.#handle(error === undefined ? input : { kind: "bad", error, isRequest: input.kind === "message" }),
      );
  }

  #handle(input: LumineInput): void {
    if (this.#isClosed) return;
    switch (input.kind) {
      case "message":
        this.#receiveMessage(input);
        return;
      case "command":
        void this.#runBounded(() => this.#handleCommand(input));
        return;
      case "cancel":
        void this.#runBounded(() => this.#handleCancel(input.reason));
        return;
      case "bad":
        if (input.isRequest) this.#refuseRequest(input.error);
        else this.#refuseAside(this.#describe(input.error));
    }
  }

  /** Returns false when the caller has no such session. A message may still create it. */
  async #canRead(session: string): Promise<boolean> {
    const { authorize } = this.#options;
    try {
      await authorize("sessions.read", session);
      return true;
    } catch (error) {
      if (!isLoomError(error, "unknown_session")) throw error;
      await authorize("sessions.read", undefined);
      return false;
    }
  }

  receiveBinary(): void {
    this.#refuseRequest(new LoomError("invalid_request", "A message must be text, not binary"));
  }

  /** Called when the client has disconnected. Its runs continue. */
  close(): void {
    this.#isClosed = true;
    this.#relay?.close();
    this.#runReader?.close();
    this.#queue = [];
  }

  #receiveMessage({
    content,
    session = this.#latestSession,
    agent,
    strategy,
    notices,
    capabilities,
  }: Extract<LumineInput, { readonly kind: "message" }>): void {
    this.#sender.language = detectLanguage(content);
    try {
      assertSessionId(session);
      if (this.#isFollowing && session !== this.#latestSession)
        throw new LoomError(
          "invalid_request",
          "This socket follows one session; open another socket for other sessions",
        );
    } catch (error) {
      this.#refuseRequest(error);
      return;
    }
    if (this.#queue.length >= MAX_WAITING) {
      const message = `${MAX_WAITING} messages are already waiting; wait for an answer`;
      this.#refuseAside({ code: "queue_full", message });
      return;
    }
    this.#latestSession = session;
    const commandId = randomUUID();
    const run = { type: "run", id: commandId, session, message: content, capabilities } as const;
    // Submitted in the order they arrived, even when authorization is slow.
    const response = this.#submitted.then(() =>
      this.#runCommand(
        "runs.start",
        { ...run, ...(agent === undefined ? {} : { agent }), ...(strategy === undefined ? {} : { strategy }) },
        notices,
      ),
    );
    this.#submitted = response;
    this.#enqueue({ session, commandId, response });
  }

  #refuseRequest(why: unknown): void {
    const response = Promise.resolve(toRefusal(this.#options.host, why, {}));
    if (this.#queue.length < MAX_WAITING) this.#enqueue({ session: this.#latestSession, commandId: "", response });
    else this.#refuseAside(this.#describe(why));
  }

  #enqueue(pending: QueuedLumineMessage): void {
    this.#queue.push(pending);
    void this.#answerQueue();
  }

  async #runCommand(
    action: Action,
    command: Parameters<typeof executeCommand>[1],
    notices?: readonly string[],
  ): Promise<CommandResponse> {
    const { host, authorize } = this.#options;
    try {
      await authorize(action, command.session);
      // The frames of the run are sent here, so the caller must be able to read. The message may create the session.
      if (command.type === "run") await this.#canRead(command.session);
      return await executeCommand({ ...host, notices }, command);
    } catch (error) {
      return toRefusal(host, error, { id: command.id, session: command.session });
    }
  }

  /** Answers the waiting messages in order. */
  async #answerQueue(): Promise<void> {
    if (this.#isAnswering || (this.#relay !== undefined && !this.#isFollowing)) return;
    this.#isAnswering = true;
    try {
      for (let pending = this.#queue.shift(); pending !== undefined && !this.#isClosed; pending = this.#queue.shift()) {
        this.#current = pending;
        const response = await pending.response;
        if (response.type === "refusal") this.#refuseMessage(pending, response);
        else await this.#sendRun(pending);
        this.#current = undefined;
        if (this.#relay !== undefined && !this.#isFollowing) return;
      }
    } catch (error) {
      this.#current = undefined;
      this.#handleFailure(error);
    } finally {
      this.#isAnswering = false;
    }
    if (this.#queue.length > 0) void this.#answerQueue();
  }

  #refuseMessage({ session }: QueuedLumineMessage, refusal: LumineRefusal): void {
    this.#sender.switchSession(session);
    this.#sender.refuse(refusal);
  }

  /** Sends the frames of a message's run that were not sent before. */
  async #sendRun({ session, commandId }: QueuedLumineMessage): Promise<void> {
    const { log } = this.#options.host;
    this.#sender.switchSession(session);
    const sentCursor = this.#cursor?.session === session ? this.#cursor.text : undefined;
    if (this.#isFollowing) {
      if (this.#relay === undefined) await this.#startRelay({ after: sentCursor ?? "0" });
      return;
    }
    const run = deriveRunId(session, commandId);
    const knownRun = sentCursor === undefined ? undefined : await log.getRun(session, run);
    const sentId = sentCursor === undefined ? 0 : parseCursor(sentCursor).eventId;
    if (knownRun?.lastId !== undefined && sentId >= knownRun.lastId) return;
    const after = knownRun !== undefined && sentId >= knownRun.firstId ? sentCursor : undefined;
    // A waiting message can still be refused. Then no run starts, and the reader ends with the reason.
    const reader = await this.#openReader(session, { run, command: commandId, after, follow: true });
    if (reader === undefined) return;
    this.#runReader = reader;
    const end = await this.#forward(reader, session);
    this.#runReader = undefined;
    this.#handleEnd(end);
  }

  /**
   * Sends all frames after a position: without end when following, otherwise until no run is live and no message waits.
   */
  async #startRelay(start: Partial<ReadRequest>): Promise<void> {
    const { log } = this.#options.host;
    const { session } = this.#sender;
    const isFollowing = this.#isFollowing;
    const follow = isFollowing || !(await isSessionIdle(log, session));
    const reader = await this.#openReader(session, { ...start, follow, followSession: isFollowing });
    if (reader === undefined) return;
    this.#relay = reader;
    if ((start.skip ?? 0) === 0) this.#cursor = { session, text: reader.cursor };
    let unwatch = (): void => undefined;
    // No frame follows the last [DONE] when a run closes or a waiting message is withdrawn, so watch the log.
    const watchForIdle = (): void => {
      unwatch();
      unwatch = log.watch(session, checkIdle, { hintsOnly: true });
      checkIdle();
    };
    const checkIdle = (): void => {
      if (this.#sender.isInRequest || this.#isClosed) return;
      const at = this.#cursor;
      const shownId = at === undefined ? 0 : parseCursor(at.text).eventId;
      isSessionIdle(log, session, shownId).then(
        (isEnd) => {
          if (isEnd && this.#cursor === at) reader.close();
        },
        () => reader.close(),
      );
    };
    void this.#forward(reader, session, isFollowing || !follow ? undefined : watchForIdle).then((end) => {
      unwatch();
      this.#relay = undefined;
      this.#handleEnd(end);
      void this.#answerQueue();
    });
  }

  /** Returns undefined when the connection has closed. */
  async #openReader(session: string, request: Omit<ReadRequest, "transport">): Promise<StreamReader | undefined> {
    const { streams, watch } = this.#options;
    const lease: ReadRequest["lease"] = watch === undefined ? undefined : (onEnd) => watch(session, onEnd);
    const reader = await streams.open(session, { ...request, dialect: "lumine", transport: "control", lease });
    if (!this.#isClosed) return reader;
    reader?.close();
    return undefined;
  }

  /** `onDone` is called when a request has ended. */
  #forward(reader: StreamReader, session: string, onDone?: () => void): Promise<ReaderEnd> {
    return this.#pressure.forward(reader, (batch: FrameBatch) => {
      if (this.#isClosed) return;
      this.#sender.forward(batch);
      this.#cursor = { session, text: batch.cursor };
      if (!this.#sender.isInRequest) onDone?.();
    });
  }

  #handleEnd({ reason, cursor, error }: ReaderEnd): void {
    if (this.#isClosed) return;
    if (reason === "slow") this.#fail(tooSlow(cursor));
    else if (reason === "error") {
      // The session may have been recreated under this name, so read it from the start.
      if (isLoomError(error, "unknown_session", "cursor_stale", "cursor_ahead")) this.#cursor = undefined;
      this.#sender.refuse(this.#describe(error), true);
      if (isLoomError(error, "unauthorized")) this.#fail(error);
    }
    this.#sender.sendHeld();
  }

  /** Limits the number of operations in progress. Excess ones are refused. */
  async #runBounded(act: () => Promise<void>): Promise<void> {
    if (this.#commands >= MAX_COMMANDS) {
      const message = `${MAX_COMMANDS} commands are already in progress; wait for one to finish`;
      this.#refuseAside({ code: "backlog_full", message });
      return;
    }
    this.#commands++;
    try {
      await act();
    } catch (error) {
      this.#refuseAside(this.#describe(error));
    } finally {
      this.#commands--;
    }
  }

  async #handleCommand({
    command,
    session = this.#sender.session,
  }: Extract<LumineInput, { readonly kind: "command" }>) {
    const response = await this.#runCommand(actionOf(command.type), { ...command, id: randomUUID(), session });
    if (response.type === "refusal") this.#refuseAside(response);
  }

  /** Cancels the current or waiting run of this socket, if there is one. */
  async #handleCancel(reason: string | undefined): Promise<void> {
    const { log } = this.#options.host;
    const pending = this.#current;
    const session = pending?.session ?? this.#sender.session;
    const why = reason === undefined ? {} : { reason };
    const run = async (): Promise<string | undefined> => {
      // The message must be in the log before its run can be cancelled.
      await pending?.response;
      if (pending !== undefined && pending.commandId !== "") return deriveRunId(session, pending.commandId);
      const [latest] = this.#relay === undefined ? [] : await log.listRuns(session, { limit: 1 });
      return latest?.status === "live" ? latest.runId : undefined;
    };
    const run_id = await run();
    if (run_id === undefined) return;
    const response = await this.#runCommand("runs.control", {
      type: "cancel",
      id: randomUUID(),
      session,
      run_id,
      ...why,
    });
    if (response.type === "refusal") this.#refuseAside(response);
  }

  #refuseAside(refusal: LumineRefusal): void {
    if (!this.#isClosed) this.#sender.refuseAside(refusal);
  }

  /** Refuses the request, except during shutdown: the next server will answer it. */
  #handleFailure(error: unknown): void {
    if (this.#isClosed) return;
    if (!isLoomError(error, "shutting_down")) this.#sender.refuse(this.#describe(error));
    else this.#fail(new LoomError("shutting_down", error.message, { cursor: this.cursor ?? "" }));
  }

  /** Closes the connection; nothing more can be sent. */
  #fail(why: unknown): void {
    this.close();
    this.#options.onClose(why);
  }

  #describe(error: unknown): LumineRefusal {
    return toRefusal(this.#options.host, error, {});
  }
}
