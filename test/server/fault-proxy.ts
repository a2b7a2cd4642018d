/**
 * A TCP proxy that simulates network faults: connections that are cut after some bytes or frames, reset, stalled,
 * delayed, sent byte by byte, or with duplicated messages. A plan decides the faults of each connection when it opens.
 * Of HTTP and WebSockets the proxy only knows where frames end.
 */
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { type DownUnit, UnitSplitter } from "./split-units.ts";

export type Direction = "up" | "down";

export interface Breach {
  /** Bytes that pass in this direction before the fault, including the response head. */
  readonly bytes?: number;
  /** Instead of `bytes`: whole frames that pass to the client, without the response head. */
  readonly frames?: number;
  /** Default: `down`, to the client. */
  readonly direction?: Direction;
  /** `end`: a normal close; `reset`: a killed peer; `stall`: nothing more passes. */
  readonly how: "end" | "reset" | "stall";
}

export interface Faults {
  readonly breach?: Breach;
  /** Delay of every piece, in milliseconds. */
  readonly delayMs?: number;
  /** The number of bytes per direction that are sent one at a time. */
  readonly dribble?: number;
  /** Every n-th response chunk or WebSocket message is sent twice. */
  readonly doubleEach?: number;
}

/** Returns the faults of connection `index`, counted from 0; undefined for none. */
export type FaultPlan = (index: number) => Faults | undefined;

export interface FaultProxy {
  /** The URL of the proxy, without a path. */
  readonly url: string;
  readonly port: number;
  /** Connections since the plan was set. */
  readonly count: number;
  /** Faults of kind `breach` since the plan was set. */
  readonly breaches: number;
  /** Closes all connections and sets the plan for new ones, which are counted from 0. */
  setPlan(plan: FaultPlan): void;
  /** Stops all faults. Stalled connections are reset. */
  heal(): void;
  /** Describes the connections whose last request has had no byte of an answer for `ms`. */
  listUnanswered(ms: number): readonly string[];
  /** Closes all connections. */
  cut(how?: "end" | "reset"): void;
  close(): Promise<void>;
}

/** Starts the proxy. A function as target is called for each connection. */
export async function startFaultProxy(target: string | (() => string), plan: FaultPlan): Promise<FaultProxy> {
  const connections = new Set<ProxiedConnection>();
  let current = plan;
  let count = 0;
  let breaches = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const faults = current(count++) ?? {};
    const { hostname, port: targetPort } = new URL(typeof target === "string" ? target : target());
    const upstream = createConnection({ host: hostname, port: Number(targetPort), noDelay: true });
    const connection = new ProxiedConnection(client, upstream, faults, () => breaches++);
    connections.add(connection);
    client.once("close", () => connections.delete(connection));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (how: "end" | "reset" = "end") => {
    for (const connection of connections) connection.close(how);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get count() {
      return count;
    },
    get breaches() {
      return breaches;
    },
    setPlan(next) {
      cut("reset");
      current = next;
      count = 0;
      breaches = 0;
    },
    heal() {
      current = () => undefined;
      for (const connection of connections) connection.heal();
    },
    listUnanswered: (ms) => [...connections].flatMap((connection) => connection.describeIfUnanswered(ms)),
    cut,
    async close() {
      cut("reset");
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One connection through the proxy. */
class ProxiedConnection {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #onBreach: () => void;
  #faults: Faults;
  #isStalled = false;
  #isClosed = false;
  /** When the last request was sent, if no byte has come back since. */
  #askedAt: number | undefined;
  #request = "";
  readonly #passed = { up: 0, down: 0, frames: 0, units: 0 };

  constructor(client: Socket, upstream: Socket, faults: Faults, onBreach: () => void) {
    this.#client = client;
    this.#upstream = upstream;
    this.#faults = faults;
    this.#onBreach = onBreach;
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.once("close", () => this.close("end"));
    void this.#pump("up", client, upstream);
    void this.#pump("down", upstream, client);
  }

  describeIfUnanswered(ms: number): readonly string[] {
    const { up, down } = this.#passed;
    if (this.#askedAt === undefined || performance.now() - this.#askedAt < ms) return [];
    const { readyState, destroyed, bytesWritten } = this.#upstream;
    const upstream = `${readyState}${destroyed ? ", destroyed" : ""}, ${bytesWritten} bytes written`;
    return [`${this.#request}: ${up} bytes up, ${down} down, stalled ${this.#isStalled}, upstream ${upstream}`];
  }

  heal(): void {
    this.#faults = {};
    if (this.#isStalled) this.close("reset");
  }

  close(how: "end" | "reset"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#upstream.destroy();
    if (how === "reset") this.#client.resetAndDestroy();
    else this.#client.destroySoon();
  }

  /** Passes one piece after the other; reads no further while a write is pending. */
  async #pump(direction: Direction, from: Socket, to: Socket): Promise<void> {
    const splitter = direction === "down" ? new UnitSplitter() : undefined;
    try {
      for await (const piece of from as AsyncIterable<Buffer>) {
        if (direction === "down") this.#askedAt = undefined;
        else if (this.#askedAt === undefined) {
          this.#askedAt = performance.now();
          this.#request = piece.toString("latin1", 0, 100).split("\r\n", 1)[0] ?? "";
        }
        if (this.#isStalled) continue;
        const { delayMs } = this.#faults;
        if (delayMs !== undefined) await setTimeout(delayMs);
        const units = splitter?.push(piece) ?? [{ bytes: piece, frameEnds: [], isWhole: false }];
        for (const unit of units) if (!(await this.#pass(direction, unit, to))) return;
      }
      const rest = splitter?.end();
      if (rest !== undefined && !this.#isStalled) await this.#pass(direction, rest, to);
      if (!this.#isStalled) to.end();
    } catch {
      // One side is closed, so close the other.
      this.close("end");
    }
  }

  /** Returns false when nothing more passes in this direction. */
  async #pass(direction: Direction, unit: DownUnit, to: Socket): Promise<boolean> {
    if (this.#isStalled) return true;
    const { breach, doubleEach } = this.#faults;
    const room = breach === undefined ? undefined : this.#measureRoom(direction, unit, breach);
    const bytes = room === undefined ? unit.bytes : unit.bytes.subarray(0, room);
    const before = this.#passed[direction];
    this.#passed[direction] += bytes.length;
    if (direction === "down") this.#passed.frames += unit.frameEnds.length;
    await this.#write(bytes, to, before);
    if (room !== undefined && breach !== undefined) return this.#break(breach);
    if (unit.isWhole && doubleEach !== undefined && ++this.#passed.units % doubleEach === 0)
      await this.#write(unit.bytes, to);
    return true;
  }

  /** Returns how many bytes of the unit pass before the breach; undefined when all of them do. */
  #measureRoom(direction: Direction, { bytes, frameEnds }: DownUnit, breach: Breach): number | undefined {
    if (direction !== (breach.direction ?? "down")) return undefined;
    if (breach.frames !== undefined) {
      const left = breach.frames - this.#passed.frames;
      return left <= frameEnds.length && frameEnds.length > 0 ? (frameEnds[left - 1] ?? 0) : undefined;
    }
    const left = (breach.bytes ?? 0) - this.#passed[direction];
    return left <= bytes.length ? left : undefined;
  }

  #break({ how }: Breach): boolean {
    this.#onBreach();
    if (how === "stall") {
      this.#isStalled = true;
      return true;
    }
    this.close(how);
    return false;
  }

  async #write(bytes: Uint8Array, to: Socket, dribbled = 0): Promise<void> {
    if (bytes.length === 0 || to.destroyed) return;
    const singles = Math.min(bytes.length, Math.max(0, (this.#faults.dribble ?? 0) - dribbled));
    for (const byte of bytes.subarray(0, singles)) {
      to.write(Uint8Array.of(byte));
      await setImmediate();
    }
    if (singles < bytes.length && !to.write(bytes.subarray(singles))) await drain(to);
  }
}

function drain(socket: Socket): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const go = () => {
      socket.off("drain", go).off("close", go);
      resolve();
    };
    socket.on("drain", go).on("close", go);
  });
}

/** Returns a deterministic generator of integers from 0 to `below` - 1. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
