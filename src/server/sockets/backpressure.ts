/**
 * Decides what happens while the client of a socket reads slowly, for every protocol: which streams wait for room, and
 * when the client is disconnected.
 *
 * Invariants:
 * - A stream without room is not read further.
 * - Streams that found no room resume before those that filled it, so that each is served in turn.
 * - A client that does not read the replies to its requests is disconnected after `MAX_UNSENT` of them.
 */
import { LoomError } from "../../protocol/index.ts";
import type { FrameBatch } from "../streams/frame-batch.ts";
import type { ReaderEnd, StreamReader } from "../streams/stream-reader.ts";

/** Whether more can be sent to a client. All streams share one connection: when it is full, it is full for all of them. */
export interface ClientRoom {
  readonly hasRoom: () => boolean;
  /** Calls back once when there is room or the connection is closed; immediately if that is already so. */
  readonly whenRoom: (act: () => void) => void;
}

export const MAX_UNSENT = 1000;

export class Backpressure {
  readonly #room: ClientRoom;
  /** Readers that found no room, the longest waiting first. */
  readonly #deferred = new Set<StreamReader>();
  /** Readers that filled the room. */
  readonly #filled = new Set<StreamReader>();
  #isWatching = false;
  /** Replies sent since there was room. */
  #unsent = 0;

  constructor(room: ClientRoom) {
    this.#room = room;
  }

  /** Counts a reply, which does not wait for room. Returns false if the client has too many to read. */
  countReply(): boolean {
    if (this.#room.hasRoom()) this.#unsent = 0;
    else {
      this.#unsent++;
      this.#watch();
    }
    return this.#unsent <= MAX_UNSENT;
  }

  /**
   * Passes the batches of a reader to `send` while there is room, and calls `catchUp` when everything stored so far was
   * sent. Resolves when the reader has ended. The reader starts without room too, because it limits how long it waits.
   */
  forward(reader: StreamReader, send: (batch: FrameBatch) => void, catchUp?: () => void): Promise<ReaderEnd> {
    const { promise, resolve } = Promise.withResolvers<ReaderEnd>();
    reader.start({
      mayWrite: () => this.#mayContinue(reader, this.#deferred),
      write: (batch) => {
        send(batch);
        return this.#mayContinue(reader, this.#filled);
      },
      catchUp: () => catchUp?.(),
      end: (end) => {
        this.#deferred.delete(reader);
        this.#filled.delete(reader);
        resolve(end);
      },
    });
    return promise;
  }

  #mayContinue(reader: StreamReader, waiting: Set<StreamReader>): boolean {
    if (this.#room.hasRoom()) return true;
    waiting.add(reader);
    this.#watch();
    return false;
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#room.whenRoom(() => {
      this.#isWatching = false;
      this.#unsent = 0;
      const readers = [...this.#deferred, ...this.#filled];
      this.#deferred.clear();
      this.#filled.clear();
      for (const reader of readers) reader.resume();
    });
  }
}

/** The error that closes the socket of a client that is too slow. It can resume after the cursor. */
export function tooSlow(cursor?: string): LoomError {
  return new LoomError("backlog_full", "The client reads too slowly", cursor === undefined ? {} : { cursor });
}
