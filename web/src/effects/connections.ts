/** The sessions that are followed: the one that is shown, and those shown before it, as many as there is room for. */
import type { Connection } from "loom-agent/client";

export interface ConnectionsOptions {
  connect(session: string): Connection;
  /** Its place is needed: nothing of it is kept. */
  onClose(session: string): void;
  readonly max: number;
  /** Something of it is on its way: others make room first, up to as many again. */
  isBusy(session: string): boolean;
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
    this.#makeRoom();
    return connection;
  }

  /** The last is the one that was asked for. */
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

  /** The line may be back: nobody needs to wait. */
  retryAll(): void {
    for (const connection of this.#open.values()) connection.retry();
  }
}
