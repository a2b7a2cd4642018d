/**
 * A connection to one session: its stream is kept going (`StreamKeeper`), and commands go up. It knows neither the wire
 * nor the view.
 */
import type { DialectName } from "../dialects/index.ts";
import type { StreamModes } from "../protocol/index.ts";
import { RECONNECT, type ReconnectOptions } from "./connection/back-off.ts";
import { type Clock, SYSTEM_CLOCK } from "./connection/clock.ts";
import { CommandSender, createCommandId } from "./connection/command-sender.ts";
import { type KeeperEvents, type KeptTrack, StreamKeeper } from "./connection/stream-keeper.ts";
import type { ClientCommand, CommandOutcome, Transport } from "./transport.ts";
import type { StreamState } from "./view.ts";

export interface ConnectOptions {
  readonly transport: Transport;
  readonly session: string;
  /** `loom` unless told otherwise. */
  readonly dialect?: DialectName;
  /** Only these kinds of events, or all, with states whole. Without it: all but states that are stored as deltas. */
  readonly modes?: StreamModes;
  /** Goes on when the end is reached; true unless told otherwise. */
  readonly follow?: boolean;
  readonly reconnect?: Partial<ReconnectOptions>;
  /** After so long without a sign of life a stream counts as lost. 45 seconds unless told otherwise; 0: never. */
  readonly heartbeatMs?: number;
  /** How long a command is asked again while no answer comes. 30 seconds unless told otherwise. */
  readonly commandLimitMs?: number;
  /** Closes the connection. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

type CommandBody<T extends ClientCommand["type"]> = Omit<
  Extract<ClientCommand, { readonly type: T }>,
  "type" | "session" | "id"
> & {
  /** To ask again for what was asked before; a new one unless given. */
  readonly id?: string;
};

export interface Connection {
  /** Resolves to the state when it is over: closed, failed, or, without `follow`, at its end. Anew after `retry`. */
  readonly done: Promise<StreamState>;
  /** Commands resolve with what became of them, and never reject. */
  run(command: CommandBody<"run">): Promise<CommandOutcome>;
  cancel(command: CommandBody<"cancel">): Promise<CommandOutcome>;
  approve(command: CommandBody<"approve">): Promise<CommandOutcome>;
  todo(command: CommandBody<"todo">): Promise<CommandOutcome>;
  /** Waits no longer before the next try; a connection that failed begins anew. */
  retry(): void;
  /** Nothing more is wanted. The transport stays open. */
  close(): void;
}

/** What a connection needs of the receiver. Undefined: the session is received in another dialect. */
export interface Tracker {
  track(stream: { readonly session: string; readonly dialect: DialectName }): KeptTrack | undefined;
}

export function connect(receiver: Tracker, options: ConnectOptions): Connection {
  return new SessionConnection(receiver, options);
}

const DEFAULT_HEARTBEAT_MS = 45_000;
const DEFAULT_COMMAND_LIMIT_MS = 30_000;

type Settings = Required<Omit<ConnectOptions, "reconnect" | "signal" | "modes">> &
  Pick<ConnectOptions, "modes"> & { readonly reconnect: ReconnectOptions };

class SessionConnection implements Connection {
  readonly #receiver: Tracker;
  readonly #settings: Settings;
  readonly #signal: AbortSignal | undefined;
  readonly #commands: CommandSender;
  readonly #close = (): void => this.close();
  readonly #events: KeeperEvents = {
    onHeard: () => this.#commands.noteHeard(),
    expectsSession: () => {
      const wasTaken = this.#wasTaken;
      this.#wasTaken = false;
      return wasTaken;
    },
  };
  #keeper: StreamKeeper | undefined;
  #isClosed = false;
  /** A command was taken since the session was last looked for: now it must be there. */
  #wasTaken = false;

  constructor(receiver: Tracker, { reconnect, signal, ...given }: ConnectOptions) {
    this.#receiver = receiver;
    this.#settings = {
      dialect: "loom",
      follow: true,
      heartbeatMs: DEFAULT_HEARTBEAT_MS,
      commandLimitMs: DEFAULT_COMMAND_LIMIT_MS,
      clock: SYSTEM_CLOCK,
      ...given,
      reconnect: { ...RECONNECT, ...reconnect },
    };
    this.#commands = new CommandSender(this.#settings);
    this.#signal = signal;
    this.#begin();
  }

  get done(): Promise<StreamState> {
    return this.#keeper?.done ?? Promise.resolve(MISMATCH);
  }

  run(command: CommandBody<"run">): Promise<CommandOutcome> {
    return this.#send({ ...command, type: "run", ...this.#address(command) });
  }

  cancel(command: CommandBody<"cancel">): Promise<CommandOutcome> {
    return this.#send({ ...command, type: "cancel", ...this.#address(command) });
  }

  approve(command: CommandBody<"approve">): Promise<CommandOutcome> {
    return this.#send({ ...command, type: "approve", ...this.#address(command) });
  }

  todo(command: CommandBody<"todo">): Promise<CommandOutcome> {
    return this.#send({ ...command, type: "todo", ...this.#address(command) });
  }

  retry(): void {
    if (this.#isClosed) return;
    this.#commands.wake();
    if (this.#keeper !== undefined && this.#keeper.failure === undefined) this.#keeper.hurry();
    else this.#begin();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal?.removeEventListener("abort", this.#close);
    this.#commands.close();
    this.#keeper?.close();
  }

  #begin(): void {
    const track = this.#receiver.track(this.#settings);
    const keeper = track === undefined ? undefined : new StreamKeeper(track, this.#settings, this.#events);
    this.#keeper = keeper;
    if (this.#signal?.aborted === true) this.close();
    else this.#signal?.addEventListener("abort", this.#close, { once: true });
    // A signal may outlive very many connections.
    void this.done.then(() => {
      if (this.#keeper === keeper) this.#signal?.removeEventListener("abort", this.#close);
    });
  }

  #address({ id = createCommandId() }: { readonly id?: string }): { id: string; session: string } {
    return { id, session: this.#settings.session };
  }

  async #send(command: ClientCommand): Promise<CommandOutcome> {
    const outcome = await this.#commands.send(command);
    const isTaken = outcome.kind === "done" || outcome.kind === "accepted";
    // The first message makes the session that was not there to be followed; which was answered first is chance.
    if (isTaken && this.#keeper?.failure?.code === "unknown_session") this.retry();
    else if (isTaken) this.#wasTaken = true;
    return outcome;
  }
}

const MISMATCH: StreamState = {
  status: "failed",
  reason: { code: "dialect_mismatch", message: "the session is received in another dialect" },
  verified: false,
  cannotKnow: [],
};
