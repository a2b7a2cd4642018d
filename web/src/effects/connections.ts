/** The sessions that are followed: the one that is shown, and those shown before it, as many as there is room for. */
import type { Connection } from "loom-agent/client";

export interface ConnectionsOptions {
  connect(session: string): Connection;
  /** Its place is needed: nothing of it is kept. */
  onClose(session: string): void;
  readonly max: number;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** In the order they were last asked for. */
  readonly #open = new Map<string, Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get(session: string): Connection {
    const connection = this.#open.get(session) ?? this.#options.connect(session);
    this.#open.delete(session);
    this.#open.set(session, connection);
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size > this.#options.max) this.close(oldest);
    return connection;
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

  /** The line may be back: nobody needs to wait. */
  retryAll(): void {
    for (const connection of this.#open.values()) connection.retry();
  }
}
