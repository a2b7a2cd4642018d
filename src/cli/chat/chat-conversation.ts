/**
 * One session in the chat: follows its records into a receiver, whose view is what the screen shows, and sends messages
 * and decisions. It does not know the terminal.
 *
 * Invariant: every finished turn is returned by `takeFinished` once, in the order of the turns.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import {
  type CommandResult,
  createLoomReceiver,
  type SessionView,
  type ToolCall,
  type TurnView,
} from "../../client/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import { isTerminal } from "../../protocol/record.ts";
import type { WaitingCall } from "../run/pending-approvals.ts";
import type { SessionService } from "../sessions/session-service.ts";
import type { ChatRunFields } from "./chat-backend.ts";

export interface ChatFile {
  readonly name: string;
  readonly blobId: string;
}

export interface ChatMessage {
  readonly text: string;
  readonly files: readonly ChatFile[];
}

/** A message that was sent and has not started. */
export interface UnstartedMessage extends ChatMessage {
  readonly runId: string;
}

export interface ChatConversationOptions {
  readonly service: SessionService;
  readonly sessionId: string;
  readonly onChange: () => void;
  readonly onNote: (text: string) => void;
}

/** Turns shown of a session that is continued. */
const SHOWN_TURNS = 20;
/** The reply follows the end of a run at once; if there is none, the turn is complete after this time. */
const REPLY_WAIT_MS = 300;
/** Pause after the stream failed for good, in milliseconds. */
const RETRY_MS = 5000;
const FINAL_CODES = ["unknown_session", "unauthorized", "forbidden"] as const;

export class ChatConversation {
  readonly sessionId: string;
  readonly #options: ChatConversationOptions;
  readonly #receiver = createLoomReceiver({ notify: "sync" });
  readonly #stop = new AbortController();
  readonly #taken = new Set<string>();
  /** Runs of which the last record was received. */
  readonly #closedRuns = new Set<string>();
  readonly #ownRuns = new Set<string>();
  readonly #cancelled = new Set<string>();
  #sent: readonly UnstartedMessage[] = [];
  #lastId: number | undefined;
  #isFollowing = false;
  #hasCaughtUp = Promise.withResolvers<void>();
  #interruption: string | undefined;

  constructor(options: ChatConversationOptions) {
    this.#options = options;
    this.sessionId = options.sessionId;
  }

  get view(): SessionView | undefined {
    return this.#receiver.peek(this.sessionId);
  }

  /** Why the connection is lost; undefined while it works. */
  get interruption(): string | undefined {
    return this.#interruption;
  }

  /** Messages that have not started. */
  get waitingMessages(): readonly UnstartedMessage[] {
    return this.#sent;
  }

  /** The turn that is running. */
  get liveTurn(): TurnView | undefined {
    return this.view?.turns.find(({ status }) => status === "running");
  }

  get lastTurn(): TurnView | undefined {
    return this.view?.turns.at(-1);
  }

  /** Turns that are not finished or not printed. */
  get openTurns(): readonly TurnView[] {
    return (this.view?.turns ?? []).filter(({ key }) => !this.#taken.has(key));
  }

  /** Calls of the live run that wait for a decision. */
  get waitingCalls(): readonly WaitingCall[] {
    const { liveTurn } = this;
    const calls = liveTurn?.messages.flatMap(({ toolCalls }) => toolCalls) ?? [];
    return calls
      .filter(({ status }) => status === "awaiting_approval")
      .map((call) => describeCall(call, liveTurn?.runId ?? ""));
  }

  /** True for a message that this process sent. */
  hasSent(runId: string | undefined): boolean {
    return runId !== undefined && this.#ownRuns.has(runId);
  }

  /** The user has cancelled the run, so nothing new of it is shown before it has ended. */
  isCancelled({ runId }: TurnView): boolean {
    return runId !== undefined && this.#cancelled.has(runId);
  }

  /** Returns the turns that ended since the last call. */
  takeFinished(): readonly TurnView[] {
    const { openTurns } = this;
    const open = openTurns.findIndex((turn, index) => !this.#isFinished(turn, index < openTurns.length - 1));
    const finished = open === -1 ? openTurns : openTurns.slice(0, open);
    for (const { key } of finished) this.#taken.add(key);
    return finished;
  }

  /** Opens a stored session. Resolves when its latest turns were read or the connection is lost. Throws `unknown_session`. */
  async open(): Promise<void> {
    const { service, onNote } = this.#options;
    const { items, next } = await service.listRuns(this.sessionId, { limit: SHOWN_TURNS });
    const oldest = items.at(-1);
    if (next !== undefined && oldest !== undefined) {
      this.#lastId = oldest.first_event_id - 1;
      onNote("… earlier turns are not shown");
    }
    const details = await service.getSession(this.sessionId);
    this.#sent = (details?.queued ?? []).map(({ run_id, message }) => ({ runId: run_id, text: message, files: [] }));
    this.#follow(details?.last_event_id ?? 0);
    await this.#hasCaughtUp.promise;
  }

  /** Sends a message. Returns what the user must know if the server did not accept it, or did not confirm it. */
  async send({ text, files }: ChatMessage, fields: ChatRunFields): Promise<string | undefined> {
    const { service, onChange } = this.#options;
    const message: UnstartedMessage = { runId: randomUUID(), text, files };
    this.#sent = [...this.#sent, message];
    this.#ownRuns.add(message.runId);
    onChange();
    const sent = await service.send({
      type: "run",
      id: randomUUID(),
      session: this.sessionId,
      message: text,
      run_id: message.runId,
      ...(files.length === 0 ? {} : { attachments: files.map(({ name, blobId }) => ({ blob_id: blobId, name })) }),
      ...fields,
    });
    const isAccepted = sent.kind === "done" || sent.kind === "accepted";
    if (!isAccepted) this.#sent = this.#sent.filter((each) => each !== message);
    // A session without a message does not exist.
    if (sent.kind !== "refused") this.#follow(0);
    onChange();
    if (isAccepted) return undefined;
    return sent.kind === "lost"
      ? `${sent.message}; the server may still run the message`
      : `the message was not accepted: ${sent.message}`;
  }

  /** Cancels runs, live or waiting. Returns why that failed, if so. */
  async cancel(runIds: readonly string[]): Promise<string | undefined> {
    const { service } = this.#options;
    this.#sent = this.#sent.filter(({ runId }) => !runIds.includes(runId));
    for (const runId of runIds) this.#cancelled.add(runId);
    const results = await Promise.all(
      runIds.map((run_id) =>
        service.send({
          type: "cancel",
          id: randomUUID(),
          session: this.sessionId,
          run_id,
          reason: "cancelled by the user",
        }),
      ),
    );
    const failed = results.find((result) => result.kind === "lost" || isRefused(result));
    if (failed?.kind !== "lost" && failed?.kind !== "refused") return undefined;
    // The run goes on.
    for (const runId of runIds) this.#cancelled.delete(runId);
    return failed.message;
  }

  close(): void {
    this.#stop.abort();
    this.#hasCaughtUp.resolve();
  }

  #isFinished({ status, runId, key }: TurnView, isFollowed: boolean): boolean {
    return status !== "running" && (isFollowed || this.#closedRuns.has(runId ?? key));
  }

  #follow(caughtUpAt: number): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    if (caughtUpAt === 0) this.#hasCaughtUp.resolve();
    void this.#read(caughtUpAt);
  }

  async #read(caughtUpAt: number): Promise<void> {
    const { service, onChange, onNote } = this.#options;
    const { signal } = this.#stop;
    const source = this.#receiver.open({ dialect: "loom", session: this.sessionId });
    const onInterruption = (message: string | undefined): void => {
      this.#interruption = message;
      // A session is open also if its server cannot be reached: its turns follow later.
      if (message !== undefined) this.#hasCaughtUp.resolve();
      onChange();
    };
    while (!signal.aborted) {
      const after = this.#lastId === undefined ? undefined : String(this.#lastId);
      try {
        const request = { after, follow: true, signal, onInterruption };
        for await (const { records, lastId } of service.followRecords(this.sessionId, request)) {
          for (const record of records) {
            source.pushRecord(record);
            this.#note(record.envelope.run_id, record.event);
          }
          this.#lastId = lastId;
          if (lastId >= caughtUpAt) this.#hasCaughtUp.resolve();
          onInterruption(undefined);
        }
      } catch (error) {
        if (signal.aborted) break;
        const why = error instanceof Error ? error.message : String(error);
        if (isLoomError(error, ...FINAL_CODES)) {
          onNote(`the session cannot be read: ${why}`);
          break;
        }
        onInterruption(why);
      }
      await pause(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
    this.#isFollowing = false;
    this.#hasCaughtUp.resolve();
  }

  #note(runId: string | undefined, event: Parameters<typeof isTerminal>[0]): void {
    if (runId === undefined) return;
    if (event.type === "run_start") this.#sent = this.#sent.filter((each) => each.runId !== runId);
    if (isTerminal(event)) this.#closedRuns.add(runId);
    else if (event.type === "run_end")
      setTimeout(() => {
        this.#closedRuns.add(runId);
        this.#options.onChange();
      }, REPLY_WAIT_MS);
  }
}

/** False if there is nothing left to cancel. */
function isRefused(result: CommandResult): boolean {
  return result.kind === "refused" && result.code !== "run_ended" && result.code !== "unknown_run";
}

function describeCall({ toolId, toolName, approval, ...call }: ToolCall, runId: string): WaitingCall {
  return {
    runId,
    callId: toolId,
    name: toolName,
    arguments: approval?.arguments ?? call.arguments,
    expiresAt: approval?.expiresAt,
    digest: approval?.digest,
  };
}
