/**
 * A connection to one session. It keeps the session's stream open (`ReconnectingStream`) and sends commands
 * (`CommandSender`). It knows neither the wire format nor the view.
 */
import type { DialectName } from "../dialects/index.ts";
import type { StreamModes } from "../protocol/stream-modes.ts";
import { DEFAULT_RECONNECT, type ReconnectOptions } from "./connection/backoff.ts";
import { type Clock, SYSTEM_CLOCK } from "./connection/clock.ts";
import { CommandSender, createCommandId } from "./connection/command-sender.ts";
import {
  type ReconnectingStreamEvents,
  type StreamFeed,
  ReconnectingStream,
} from "./connection/reconnecting-stream.ts";
import type { ClientCommand, CommandResult, Transport } from "./transport.ts";
import type { StreamState } from "./view.ts";

/** Options of `connect`. */
export interface ConnectOptions {
  /** Carries the stream and the commands. It can be shared by many connections. */
  readonly transport: Transport;
  /** ID of the session. It need not exist yet: the first message creates it. */
  readonly session: string;
  /** Dialect of the frames. Default: `loom`. */
  readonly dialect?: DialectName;
  /**
   * Event kinds to receive, or `all`; graph states are then sent in full. Default: everything except graph states.
   */
  readonly modes?: StreamModes;
  /** Keep receiving after the stored records were read. Default: true. */
  readonly follow?: boolean;
  /** Delays and number of reconnection attempts. Default: 250 ms, doubled up to 15 s, and 20 attempts. */
  readonly reconnect?: Partial<ReconnectOptions>;
  /** A stream that is silent for this many milliseconds is considered lost. Default: 45,000. 0 disables the check. */
  readonly heartbeatMs?: number;
  /** How long a command is retried while the server does not answer, in milliseconds. Default: 30,000. */
  readonly commandLimitMs?: number;
  /** Closes the connection when aborted. */
  readonly signal?: AbortSignal;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
}

type CommandBody<T extends ClientCommand["type"]> = Omit<
  Extract<ClientCommand, { readonly type: T }>,
  "type" | "session" | "id"
> & {
  /** Command ID. Reuse an ID to repeat a command safely. Default: a new random ID. */
  readonly id?: string;
};

/** A connection to one session; see `connect`. */
export interface Connection {
  /**
   * Resolves with the final state when the connection is closed, has failed, or, without `follow`, has reached the end.
   * Never rejects. `retry()` replaces it with a new promise.
   */
  readonly done: Promise<StreamState>;
  /** Starts a run with a user message. All command methods resolve with the result and never reject. */
  run(command: CommandBody<"run">): Promise<CommandResult>;
  /** Cancels a run. */
  cancel(command: CommandBody<"cancel">): Promise<CommandResult>;
  /** Approves or rejects a tool call that awaits approval. */
  approve(command: CommandBody<"approve">): Promise<CommandResult>;
  /** Sends the result of a tool call that this client carries out. The first result counts. */
  sendToolResult(command: CommandBody<"tool_result">): Promise<CommandResult>;
  /** Allows all calls of a tool in the session, or ends that. */
  setToolPermission(command: CommandBody<"permission">): Promise<CommandResult>;
  /** Rates the answer of a run. The latest rating counts. */
  rate(command: CommandBody<"feedback">): Promise<CommandResult>;
  /** Changes an item of a to-do list. */
  todo(command: CommandBody<"todo">): Promise<CommandResult>;
  /** Reconnects now instead of waiting for the next attempt. A failed connection starts again. */
  retry(): void;
  /** Closes the stream and stops pending commands. The transport stays open. */
  close(): void;
}

/**
 * The part of a receiver that a connection needs. `openFeed` returns undefined when the session is already received in
 * another dialect.
 */
export interface FeedProvider {
  openFeed(stream: { readonly session: string; readonly dialect: DialectName }): StreamFeed | undefined;
}

/**
 * Connects a receiver to one session on a server. The connection reconnects with backoff, resumes where the stream
 * broke, fetches missing frames, and sends commands. It stays open until `close()`, a failure, or, with
 * `follow: false`, the end of the stored records.
 *
 * ```ts
 * const connection = connect(receiver, { transport, session: "my-session" });
 * await connection.run({ message: "What is 6*7?" });
 * connection.close();
 * ```
 */
export function connect(receiver: FeedProvider, options: ConnectOptions): Connection {
  return new SessionConnection(receiver, options);
}

const DEFAULT_HEARTBEAT_MS = 45_000;
const DEFAULT_COMMAND_LIMIT_MS = 30_000;

type ConnectionSettings = Required<Omit<ConnectOptions, "reconnect" | "signal" | "modes">> &
  Pick<ConnectOptions, "modes"> & { readonly reconnect: ReconnectOptions };

class SessionConnection implements Connection {
  readonly #receiver: FeedProvider;
  readonly #settings: ConnectionSettings;
  readonly #signal: AbortSignal | undefined;
  readonly #commands: CommandSender;
  readonly #close = (): void => this.close();
  readonly #events: ReconnectingStreamEvents = {
    onReachable: () => this.#commands.noteReachable(),
    expectsSession: () => {
      const isExpected = this.#isSessionExpected;
      this.#isSessionExpected = false;
      return isExpected;
    },
  };
  #stream: ReconnectingStream | undefined;
  #isClosed = false;
  /** A command was accepted since the server last reported the session as unknown, so the session must exist now. */
  #isSessionExpected = false;

  constructor(receiver: FeedProvider, { reconnect, signal, ...given }: ConnectOptions) {
    this.#receiver = receiver;
    this.#settings = {
      dialect: "loom",
      follow: true,
      heartbeatMs: DEFAULT_HEARTBEAT_MS,
      commandLimitMs: DEFAULT_COMMAND_LIMIT_MS,
      clock: SYSTEM_CLOCK,
      ...given,
      reconnect: { ...DEFAULT_RECONNECT, ...reconnect },
    };
    this.#commands = new CommandSender(this.#settings);
    this.#signal = signal;
    this.#begin();
  }

  get done(): Promise<StreamState> {
    return this.#stream?.done ?? Promise.resolve(MISMATCH);
  }

  run(command: CommandBody<"run">): Promise<CommandResult> {
    return this.#send({ ...command, type: "run", ...this.#address(command) });
  }

  cancel(command: CommandBody<"cancel">): Promise<CommandResult> {
    return this.#send({ ...command, type: "cancel", ...this.#address(command) });
  }

  approve(command: CommandBody<"approve">): Promise<CommandResult> {
    return this.#send({ ...command, type: "approve", ...this.#address(command) });
  }

  sendToolResult(command: CommandBody<"tool_result">): Promise<CommandResult> {
    return this.#send({ ...command, type: "tool_result", ...this.#address(command) });
  }

  setToolPermission(command: CommandBody<"permission">): Promise<CommandResult> {
    return this.#send({ ...command, type: "permission", ...this.#address(command) });
  }

  rate(command: CommandBody<"feedback">): Promise<CommandResult> {
    return this.#send({ ...command, type: "feedback", ...this.#address(command) });
  }

  todo(command: CommandBody<"todo">): Promise<CommandResult> {
    return this.#send({ ...command, type: "todo", ...this.#address(command) });
  }

  retry(): void {
    if (this.#isClosed) return;
    this.#commands.wake();
    if (this.#stream !== undefined && this.#stream.failure === undefined) this.#stream.retryNow();
    else this.#begin();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal?.removeEventListener("abort", this.#close);
    this.#commands.close();
    this.#stream?.close();
  }

  #begin(): void {
    const feed = this.#receiver.openFeed(this.#settings);
    const stream = feed === undefined ? undefined : new ReconnectingStream(feed, this.#settings, this.#events);
    this.#stream = stream;
    if (this.#signal?.aborted === true) this.close();
    else this.#signal?.addEventListener("abort", this.#close, { once: true });
    // A signal may outlive many connections, so the listener must not leak.
    void this.done.then(() => {
      if (this.#stream === stream) this.#signal?.removeEventListener("abort", this.#close);
    });
  }

  #address({ id = createCommandId() }: { readonly id?: string }): { id: string; session: string } {
    return { id, session: this.#settings.session };
  }

  async #send(command: ClientCommand): Promise<CommandResult> {
    const outcome = await this.#commands.send(command);
    const isAccepted = outcome.kind === "done" || outcome.kind === "accepted";
    // The first message creates the session. The stream request may be refused before or after that message is
    // accepted, so both orders are handled.
    if (isAccepted && this.#stream?.failure?.code === "unknown_session") this.retry();
    else if (isAccepted) this.#isSessionExpected = true;
    return outcome;
  }
}

const MISMATCH: StreamState = {
  status: "failed",
  reason: { code: "dialect_mismatch", message: "The session is already received in another dialect" },
  verified: false,
  undetectable: [],
};
