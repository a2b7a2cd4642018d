/**
 * The channels of a server, one for each stream that somebody follows. One that nobody follows any more is kept for a
 * while: whoever was cut off comes back soon, and then the store need not be asked.
 *
 * Invariant: there is no channel without a follower, or a timer that ends it.
 */
import type { Log, SessionInfo } from "../../log/index.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import type { Position } from "./position.ts";
import type { StreamLimits } from "./reader.ts";

/** What makes two streams of a session the same. */
export type ChannelStream = Pick<ChannelOptions["stream"], "dialect" | "modes" | "encoderOptions">;

export interface ChannelsOptions {
  readonly log: Log;
  readonly limits: Pick<StreamLimits, "maxSharedBytes" | "lingerMs" | "maxFrameBytes">;
}

interface Kept {
  readonly channel: Channel;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

export class Channels {
  readonly #options: ChannelsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** `incarnation`: the session that is meant, if it is known. */
  find(key: string, incarnation?: string): Channel | undefined {
    const channel = this.#kept.get(key)?.channel;
    return incarnation === undefined || channel?.incarnation === incarnation ? channel : undefined;
  }

  /** One that begins after this record. Another of the same key, whose session is gone, is let go. */
  create(key: string, session: SessionInfo, stream: ChannelStream, after: Position): Channel {
    this.#drop(key);
    const { log, limits } = this.#options;
    const kept: Kept = {
      users: 0,
      timer: undefined,
      channel: new Channel({
        log,
        session,
        after,
        origin: { session: session.sessionId, dialect: stream.dialect },
        stream: { ...stream, maxFrameBytes: limits.maxFrameBytes },
        maxSharedBytes: limits.maxSharedBytes,
        onEnd: () => {
          if (this.#kept.get(key) === kept) this.#drop(key);
        },
      }),
    };
    this.#kept.set(key, kept);
    this.#linger(key, kept);
    kept.channel.start();
    return kept.channel;
  }

  /** Somebody needs it, until `release`. */
  use(key: string, channel: Channel): void {
    const kept = this.#kept.get(key);
    if (kept?.channel !== channel) return;
    kept.users++;
    clearTimeout(kept.timer);
    kept.timer = undefined;
  }

  release(key: string, channel: Channel): void {
    const kept = this.#kept.get(key);
    if (kept?.channel !== channel || --kept.users > 0) return;
    this.#linger(key, kept);
  }

  async close(): Promise<void> {
    for (const key of this.#kept.keys()) this.#drop(key);
    await Promise.all(this.#ending);
  }

  #linger(key: string, kept: Kept): void {
    kept.timer = setTimeout(() => this.#drop(key), this.#options.limits.lingerMs).unref();
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    clearTimeout(kept.timer);
    const ending = kept.channel.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

export function keyOf(sessionId: string, { dialect, modes, encoderOptions }: ChannelStream): string {
  const chosen = modes === undefined || modes === "all" ? modes : modes.toSorted();
  return JSON.stringify([sessionId, dialect, chosen ?? null, encoderOptions ?? null]);
}
