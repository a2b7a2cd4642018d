/** Open connections: the current session and the most recently shown ones, up to a limit. */
import type { Connection } from "loom-agent/client";

export interface ConnectionsOptions {
  connect(session: string): Connection;
  /** Called when a connection is closed to stay within the limit, or by `close`. */
  onClose(session: string): void;
  readonly max: number;
  /** Busy sessions are closed last. The limit may double while all are busy. */
  isBusy(session: string): boolean;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** In order of last use. */
  readonly #open = new Map<string, Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get(session: string): Connection {
    const connection = this.#open.get(session) ?? this.#options.connect(session);
    this.#open.delete(session);
    this.#open.set(session, connection);
    this.#makeRoom();
    return connection;
  }

  /** Never closes the last entry: it was just requested. */
  #makeRoom(): void {
    const { max } = this.#options;
    if (this.#open.size <= max) return;
    const others = [...this.#open.keys()].slice(0, -1);
    const idle = others.find((session) => !this.#options.isBusy(session));
    const victim = idle ?? (this.#open.size > 2 * max ? others[0] : undefined);
    if (victim !== undefined) this.close(victim);
  }

  has(session: string): boolean {
    return this.#open.has(session);
  }

  close(session: string): void {
    const connection = this.#open.get(session);
    if (connection === undefined) return;
    this.#open.delete(session);
    connection.close();
    this.#options.onClose(session);
  }

  /** Reconnects all sessions without waiting for their backoff. */
  retryAll(): void {
    for (const connection of this.#open.values()) connection.retry();
  }
}
