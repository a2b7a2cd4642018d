/**
 * The live channels of a server, one per followed stream. A channel without followers is kept for `lingerMs`, so that
 * clients that reconnect soon are served from memory.
 *
 * Invariant: every channel has a follower or a timer that ends it.
 */
import type { Log, SessionInfo } from "../../log/index.ts";
import { StreamChannel, type StreamChannelOptions } from "./stream-channel.ts";
import type { Position } from "./position.ts";
import type { StreamLimits } from "../guard/server-limits.ts";

/** The options that decide whether two readers of a session can share a channel. */
export type StreamFormat = Pick<StreamChannelOptions["stream"], "dialect" | "modes" | "encoderOptions">;

export interface StreamChannelsOptions {
  readonly log: Log;
  readonly limits: Pick<StreamLimits, "maxSharedBytes" | "lingerMs" | "maxFrameBytes">;
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

  constructor(options: StreamChannelsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Bytes that all channels keep in memory. */
  get retainedBytes(): number {
    let bytes = 0;
    for (const { channel } of this.#entries.values()) bytes += channel.retainedBytes;
    return bytes;
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

  #linger(key: string, entry: ChannelEntry): void {
    entry.timer = setTimeout(() => this.#drop(key), this.#options.limits.lingerMs).unref();
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    clearTimeout(entry.timer);
    const ending = entry.channel.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

export function channelKey(sessionId: string, { dialect, modes, encoderOptions }: StreamFormat): string {
  const sortedModes = modes === undefined || modes === "all" ? modes : modes.toSorted();
  return JSON.stringify([sessionId, dialect, sortedModes ?? null, encoderOptions ?? null]);
}
