/**
 * The server's side of 004 for one client. It greets, answers each message with the frames of its run, one after the
 * other, and lets a client that was cut off go on. It knows no socket: it is given ways to send, and fed with `receive`.
 *
 *     open ──▶ greeted ──▶ turn ──▶ turn ──▶ …      a turn: session_id, the frames of one run, [DONE]
 *                │
 *                └─(after, skip, follow)─▶ passing on ──▶ turn ──▶ …
 *
 * Invariants:
 * - What is sent of a run are the bytes of the session's stream, in order, each frame once. The greeting of a new
 *   session is the first frame of its stream, and stands for it.
 * - What could not be taken is said between two requests, or within one; it harms nothing else.
 * - The client that goes cancels nothing: its messages are commands in the log.
 */
import { randomUUID } from "node:crypto";
import { parseCursor } from "../../log/index.ts";
import { assertName, unknownSession } from "../../log/rules.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { type Answer, carryOut, type CommandHost, refuse } from "../commands/carry-out.ts";
import { deriveRunId } from "../commands/derive-run-id.ts";
import type { Action } from "../guard/authorize.ts";
import type { Reader, ReaderEnd, ReadRequest, Streams } from "../streams/reader.ts";
import { actionOf } from "../commands/action-of.ts";
import { type LumineAsk, readLumineAsk } from "./lumine-ask.ts";
import type { Refusal } from "./lumine-frames.ts";
import { isIdle, type LuminePlace, placeOf } from "./lumine-place.ts";
import { LumineVoice } from "./lumine-voice.ts";

export interface LumineConnectionOptions {
  readonly host: CommandHost;
  readonly streams: Streams;
  /** Throws `forbidden`, `unauthorized`, and `unknown_session` where there is none that is the caller's. */
  readonly authorize: (action: Action, session: string | undefined) => Promise<void> | void;
  /** Told of everything that is asked for; throws `rate_limited`. */
  readonly countRequest: () => void;
  /** Leave to read a session, which may end: then the connection does. Throws `too_many_streams`. None is needed without. */
  readonly watch?: (session: string, onEnd: (why: LoomError) => void) => () => void;
  readonly send: (text: string) => void;
  /** Whole messages of a WebSocket, made once for all readers. */
  readonly sendBytes: (messages: Buffer) => void;
  readonly hasRoom: () => boolean;
  /** Calls back when there is room. */
  readonly whenRoom: (act: () => void) => void;
  /** The connection is of no use any more, and why. */
  readonly onClose: (why: unknown) => void;
  /** Characters of one message. Code `body_too_large`. */
  readonly maxInboundLength: number;
  /** Messages that wait to be answered. Code `queue_full`. */
  readonly maxWaiting?: number;
  /** What else is being carried out. Code `backlog_full`. */
  readonly maxCommands?: number;
}

/** A message on its way to its answer. */
interface Turn {
  readonly session: string;
  readonly commandId: string;
  readonly answer: Promise<Answer>;
}

const MAX_WAITING = 100;
const MAX_COMMANDS = 100;

export class LumineConnection {
  readonly #options: LumineConnectionOptions;
  readonly #voice: LumineVoice;
  /** The session of the last message that came; the voice's is that of the one being answered. */
  #asked = "";
  #isFollowing = false;
  /** Passes on more than one run: whatever comes. */
  #passing: Reader | undefined;
  #turns: Turn[] = [];
  #turn: Turn | undefined;
  #isWorking = false;
  #reader: Reader | undefined;
  /** Of the last frame of the log that was sent, and its session. */
  #cursor: { readonly session: string; readonly text: string } | undefined;
  #submitted: Promise<unknown> = Promise.resolve();
  #commands = 0;
  #isClosed = false;

  constructor(options: LumineConnectionOptions) {
    this.#options = options;
    this.#voice = new LumineVoice(options);
  }

  /** Where to go on after what was sent. */
  get cursor(): string | undefined {
    return this.#cursor?.text;
  }

  /** Greets, and goes on where the client was cut off. Resolves when the client may speak. */
  async open({ session, follow, isResumed, ...place }: LuminePlace): Promise<void> {
    this.#asked = session ?? randomUUID();
    if (session === undefined) {
      this.#isFollowing = follow;
      this.#voice.greet(this.#asked, true);
      if (place.error !== undefined) this.#voice.refuse(place.error);
      return;
    }
    const { log } = this.#options.host;
    let isGreeted = false;
    try {
      const info = (await this.#mayRead(session)) ? await log.getSession(session) : undefined;
      this.#isFollowing = follow && place.error === undefined;
      this.#voice.greet(session, (info?.lastId ?? 0) === 0);
      isGreeted = true;
      if (place.error !== undefined) throw place.error;
      if (info === undefined && isResumed) throw unknownSession(session);
      if (info !== undefined && (isResumed || follow)) await this.#passOn(await placeOf(log, session, place));
    } catch (error) {
      if (!isGreeted) this.#voice.greet(session, true);
      this.#sayFailed(error);
      if (isLoomError(error, "forbidden", "unauthorized")) this.#giveUp(error);
    }
  }

  receive(text: string): void {
    if (this.#isClosed) return;
    const ask = this.#count(readLumineAsk(text, this.#options.maxInboundLength));
    switch (ask.kind) {
      case "message":
        this.#request(ask);
        return;
      case "command":
        void this.#attempt(() => this.#command(ask));
        return;
      case "cancel":
        void this.#attempt(() => this.#cancel(ask.reason));
        return;
      case "bad":
        if (ask.isRequest) this.#refuseRequest(ask.error);
        else this.#sayAside(this.#describe(ask.error));
    }
  }

  /** What is asked too often goes wrong, whatever it is. */
  #count(ask: LumineAsk): LumineAsk {
    if (ask.kind === "bad") return ask;
    try {
      this.#options.countRequest();
      return ask;
    } catch (error) {
      if (isLoomError(error)) return { kind: "bad", error, isRequest: ask.kind === "message" };
      throw error;
    }
  }

  /** False where there is no such session, or none of theirs: one they may still make. */
  async #mayRead(session: string): Promise<boolean> {
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
    this.#refuseRequest(new LoomError("invalid_request", "a message is a text, not bytes"));
  }

  /** The client is gone. What it has asked for goes on. */
  close(): void {
    this.#isClosed = true;
    this.#passing?.close();
    this.#reader?.close();
    this.#turns = [];
  }

  #request({ content, session = this.#asked, agent }: Extract<LumineAsk, { readonly kind: "message" }>): void {
    try {
      assertName("session", session);
      if (this.#isFollowing && session !== this.#asked)
        throw new LoomError("invalid_request", "a socket that follows a session is for that session only");
    } catch (error) {
      this.#refuseRequest(error);
      return;
    }
    const { maxWaiting = MAX_WAITING } = this.#options;
    if (this.#turns.length >= maxWaiting) {
      this.#sayAside({ code: "queue_full", message: `${maxWaiting} messages wait already` });
      return;
    }
    this.#asked = session;
    const commandId = randomUUID();
    const run = { type: "run", id: commandId, session, message: content } as const;
    // In the order they came, however long it takes to ask for leave.
    const answer = this.#submitted.then(() =>
      this.#carryOut("runs.start", { ...run, ...(agent === undefined ? {} : { agent }) }),
    );
    this.#submitted = answer;
    this.#take({ session, commandId, answer });
  }

  #refuseRequest(why: unknown): void {
    const answer = Promise.resolve(refuse(this.#options.host, why, {}));
    if (this.#turns.length < (this.#options.maxWaiting ?? MAX_WAITING))
      this.#take({ session: this.#asked, commandId: "", answer });
    else this.#sayAside(this.#describe(why));
  }

  #take(turn: Turn): void {
    this.#turns.push(turn);
    void this.#work();
  }

  async #carryOut(action: Action, command: Parameters<typeof carryOut>[1]): Promise<Answer> {
    const { host, authorize } = this.#options;
    try {
      await authorize(action, command.session);
      // Its run is told here; the message may be what makes the session.
      if (command.type === "run") await this.#mayRead(command.session);
      return await carryOut(host, command);
    } catch (error) {
      return refuse(host, error, { id: command.id, session: command.session });
    }
  }

  /** Answers the messages one after the other. */
  async #work(): Promise<void> {
    if (this.#isWorking || (this.#passing !== undefined && !this.#isFollowing)) return;
    this.#isWorking = true;
    try {
      for (let turn = this.#turns.shift(); turn !== undefined && !this.#isClosed; turn = this.#turns.shift()) {
        this.#turn = turn;
        const answer = await turn.answer;
        if (answer.type === "refusal") this.#refuseTurn(turn, answer);
        else await this.#show(turn);
        this.#turn = undefined;
        if (this.#passing !== undefined && !this.#isFollowing) return;
      }
    } catch (error) {
      this.#turn = undefined;
      this.#sayFailed(error);
    } finally {
      this.#isWorking = false;
    }
    if (this.#turns.length > 0) void this.#work();
  }

  #refuseTurn({ session }: Turn, refusal: Refusal): void {
    this.#voice.goTo(session);
    this.#voice.refuse(refusal);
  }

  /** Sends the frames of a message's run, as far as they were not passed on before. */
  async #show({ session, commandId }: Turn): Promise<void> {
    const { log } = this.#options.host;
    this.#voice.goTo(session);
    const sent = this.#cursor?.session === session ? this.#cursor.text : undefined;
    if (this.#isFollowing) {
      if (this.#passing === undefined) await this.#passOn({ after: sent ?? "0" });
      return;
    }
    const run = deriveRunId(session, commandId);
    const known = sent === undefined ? undefined : await log.getRun(session, run);
    const sentId = sent === undefined ? 0 : parseCursor(sent).eventId;
    if (known?.lastId !== undefined && sentId >= known.lastId) return;
    const after = known !== undefined && sentId >= known.firstId ? sent : undefined;
    // A message that waits for its turn can still be refused: then no run ever begins, and the reader says why.
    const reader = await this.#read(session, { run, command: commandId, after, follow: true });
    if (reader === undefined) return;
    this.#reader = reader;
    const end = await this.#pass(reader, session);
    this.#reader = undefined;
    this.#finish(end);
  }

  /** Sends whatever comes after a place: for ever, or until nothing of the session goes on or waits. */
  async #passOn(place: Partial<ReadRequest>): Promise<void> {
    const { log } = this.#options.host;
    const { session } = this.#voice;
    const isFollowing = this.#isFollowing;
    const follow = isFollowing || !(await isIdle(log, session));
    const reader = await this.#read(session, { ...place, follow, followSession: isFollowing });
    if (reader === undefined) return;
    this.#passing = reader;
    if ((place.skip ?? 0) === 0) this.#cursor = { session, text: reader.cursor };
    let unwatch = (): void => undefined;
    // Whatever is said behind the last [DONE] shows in no frame: a run is closed, a message that waits is taken out.
    const leave = (): void => {
      unwatch();
      unwatch = log.watch(session, look, { hintsOnly: true });
      look();
    };
    const look = (): void => {
      if (this.#voice.isInRequest || this.#isClosed) return;
      const at = this.#cursor;
      const shownId = at === undefined ? 0 : parseCursor(at.text).eventId;
      isIdle(log, session, shownId).then(
        (isEnd) => {
          if (isEnd && this.#cursor === at) reader.close();
        },
        () => reader.close(),
      );
    };
    void this.#pass(reader, session, isFollowing || !follow ? undefined : leave).then((end) => {
      unwatch();
      this.#passing = undefined;
      this.#finish(end);
      void this.#work();
    });
  }

  /** Undefined where nobody is left to read. */
  async #read(session: string, request: Omit<ReadRequest, "transport">): Promise<Reader | undefined> {
    const { streams, watch } = this.#options;
    const lease: ReadRequest["lease"] = watch === undefined ? undefined : (onEnd) => watch(session, onEnd);
    const reader = await streams.open(session, { ...request, dialect: "lumine", transport: "control", lease });
    if (!this.#isClosed) return reader;
    reader?.close();
    return undefined;
  }

  /** `onDone` is called when a request has ended. */
  #pass(reader: Reader, session: string, onDone?: () => void): Promise<ReaderEnd> {
    const { hasRoom, whenRoom } = this.#options;
    const { promise, resolve } = Promise.withResolvers<ReaderEnd>();
    const resume = (): void => reader.resume();
    reader.start({
      write: (chunk) => {
        if (this.#isClosed) return true;
        this.#voice.pass(chunk);
        this.#cursor = { session, text: chunk.cursor };
        if (!this.#voice.isInRequest) onDone?.();
        if (hasRoom()) return true;
        whenRoom(resume);
        return false;
      },
      end: resolve,
    });
    return promise;
  }

  #finish({ reason, cursor, error }: ReaderEnd): void {
    if (this.#isClosed) return;
    if (reason === "slow") this.#giveUp(new LoomError("backlog_full", "it reads too slowly", { cursor }));
    else if (reason === "error") {
      // Another session may have the name by now: it is read from its beginning.
      if (isLoomError(error, "unknown_session", "cursor_stale", "cursor_ahead")) this.#cursor = undefined;
      this.#voice.refuse(this.#describe(error), true);
      if (isLoomError(error, "unauthorized")) this.#giveUp(error);
    }
    this.#voice.sayHeld();
  }

  /** So many at once; whoever asks for more is told, and nothing is kept of it. */
  async #attempt(act: () => Promise<void>): Promise<void> {
    const { maxCommands = MAX_COMMANDS } = this.#options;
    if (this.#commands >= maxCommands) {
      this.#sayAside({ code: "backlog_full", message: `${maxCommands} things are being done already` });
      return;
    }
    this.#commands++;
    try {
      await act();
    } catch (error) {
      this.#sayAside(this.#describe(error));
    } finally {
      this.#commands--;
    }
  }

  async #command({ command, session = this.#voice.session }: Extract<LumineAsk, { readonly kind: "command" }>) {
    const answer = await this.#carryOut(actionOf(command.type), { ...command, id: randomUUID(), session });
    if (answer.type === "refusal") this.#sayAside(answer);
  }

  /** The run that is going on this socket, or waits to; where there is none there is nothing to do. */
  async #cancel(reason: string | undefined): Promise<void> {
    const { log } = this.#options.host;
    const turn = this.#turn;
    const session = turn?.session ?? this.#voice.session;
    const why = reason === undefined ? {} : { reason };
    const run = async (): Promise<string | undefined> => {
      // Not before what is to be cancelled is written down.
      await turn?.answer;
      if (turn !== undefined && turn.commandId !== "") return deriveRunId(session, turn.commandId);
      const [latest] = this.#passing === undefined ? [] : await log.listRuns(session, { limit: 1 });
      return latest?.status === "live" ? latest.runId : undefined;
    };
    const run_id = await run();
    if (run_id === undefined) return;
    const answer = await this.#carryOut("runs.control", {
      type: "cancel",
      id: randomUUID(),
      session,
      run_id,
      ...why,
    });
    if (answer.type === "refusal") this.#sayAside(answer);
  }

  #sayAside(refusal: Refusal): void {
    if (!this.#isClosed) this.#voice.refuseAside(refusal);
  }

  /** Nobody is told that a request has failed which the next server will answer. */
  #sayFailed(error: unknown): void {
    if (this.#isClosed) return;
    if (!isLoomError(error, "shutting_down")) this.#voice.refuse(this.#describe(error));
    else this.#giveUp(new LoomError("shutting_down", error.message, { cursor: this.cursor ?? "" }));
  }

  /** Nothing more can be sent, so nothing more is read for it. */
  #giveUp(why: unknown): void {
    this.close();
    this.#options.onClose(why);
  }

  #describe(error: unknown): Refusal {
    return refuse(this.#options.host, error, {});
  }
}
