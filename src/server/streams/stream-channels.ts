/**
 * The live channels of a server, one per followed stream. A channel without followers is kept for `lingerMs`, so that
 * clients that reconnect soon are served from memory.
 *
 * Invariants:
 * - Every channel has a follower or a timer that ends it.
 * - The memory of all channels together is bounded. Beyond the limit, the channels that were idle longest drop what
 *   they retain, and readers that need it read the log.
 */
import type { Log, SessionInfo } from "../../log/index.ts";
import { StreamChannel, type StreamChannelOptions } from "./stream-channel.ts";
import type { Position } from "./position.ts";
import type { StreamLimits } from "../guard/server-limits.ts";

/** The options that decide whether two readers of a session can share a channel. */
export type StreamFormat = Pick<
  StreamChannelOptions["stream"],
  "dialect" | "modes" | "encoderOptions" | "encoderVersion"
>;

export interface StreamChannelsOptions {
  readonly log: Log;
  readonly limits: Pick<StreamLimits, "maxSharedBytes" | "maxTotalSharedBytes" | "lingerMs" | "maxFrameBytes">;
}

interface ChannelEntry {
  readonly channel: StreamChannel;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

export class StreamChannels {
  readonly #options: StreamChannelsOptions;
  readonly #entries = new Map<string, ChannelEntry>();
  readonly #ending = new Set<Promise<void>>();
  /** Channels that retain something, the one that changed longest ago first. */
  readonly #retaining = new Set<StreamChannel>();
  #heldBytes = 0;
  #isShedPlanned = false;

  constructor(options: StreamChannelsOptions) {
    this.#options = options;
  }

  /** Approximate memory that all channels retain, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Returns the channel, or undefined when there is none. With `incarnation`, the channel must belong to that session
   * incarnation.
   */
  find(key: string, incarnation?: string): StreamChannel | undefined {
    const channel = this.#entries.get(key)?.channel;
    return incarnation === undefined || channel?.incarnation === incarnation ? channel : undefined;
  }

  /**
   * Starts a channel after the record at `after`. It replaces a channel with the same key, whose session was deleted.
   */
  create(key: string, session: SessionInfo, format: StreamFormat, after: Position): StreamChannel {
    this.#drop(key);
    const { log, limits } = this.#options;
    const entry: ChannelEntry = {
      users: 0,
      timer: undefined,
      channel: new StreamChannel({
        log,
        session,
        after,
        origin: { session: session.sessionId, dialect: format.dialect },
        stream: { ...format, maxFrameBytes: limits.maxFrameBytes },
        maxSharedBytes: limits.maxSharedBytes,
        onHold: (bytes) => this.#hold(entry.channel, bytes),
        onEnd: () => {
          if (this.#entries.get(key) === entry) this.#drop(key);
        },
      }),
    };
    this.#entries.set(key, entry);
    this.#linger(key, entry);
    entry.channel.start();
    return entry.channel;
  }

  /** Keeps the channel alive until `release`. */
  retain(key: string, channel: StreamChannel): void {
    const entry = this.#entries.get(key);
    if (entry?.channel !== channel) return;
    entry.users++;
    clearTimeout(entry.timer);
    entry.timer = undefined;
  }

  release(key: string, channel: StreamChannel): void {
    const entry = this.#entries.get(key);
    if (entry?.channel !== channel || --entry.users > 0) return;
    this.#linger(key, entry);
  }

  async close(): Promise<void> {
    for (const key of this.#entries.keys()) this.#drop(key);
    await Promise.all(this.#ending);
  }

  #hold(channel: StreamChannel, bytes: number): void {
    this.#heldBytes += bytes;
    if (bytes < 0) return;
    this.#retaining.delete(channel);
    this.#retaining.add(channel);
    if (this.#isShedPlanned || this.#heldBytes <= this.#options.limits.maxTotalSharedBytes) return;
    this.#isShedPlanned = true;
    // Not now: a reader that is being served knows its part by its index.
    queueMicrotask(() => {
      this.#isShedPlanned = false;
      this.#shed();
    });
  }

  #shed(): void {
    for (const channel of this.#retaining) {
      if (this.#heldBytes <= this.#options.limits.maxTotalSharedBytes) return;
      this.#retaining.delete(channel);
      channel.shed();
    }
  }

  #linger(key: string, entry: ChannelEntry): void {
    entry.timer = setTimeout(() => this.#drop(key), this.#options.limits.lingerMs).unref();
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    clearTimeout(entry.timer);
    this.#retaining.delete(entry.channel);
    const ending = entry.channel.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

export function channelKey(sessionId: string, { dialect, modes, encoderOptions }: StreamFormat): string {
  const sortedModes = modes === undefined || modes === "all" ? modes : modes.toSorted();
  return JSON.stringify([sessionId, dialect, sortedModes ?? null, encoderOptions ?? null]);
}
