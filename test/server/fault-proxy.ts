/**
 * A TCP proxy that does to connections what networks do: it cuts them after so many bytes or frames, resets them, lets
 * them hang half open, delays, dribbles byte by byte, and says things twice. What happens to a connection is decided when
 * it is made, by a plan; the proxy knows of HTTP and WebSockets only where one frame ends and the next begins.
 */
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { type DownUnit, UnitSplitter } from "./split-units.ts";

export type Direction = "up" | "down";

export interface Breach {
  /** Of what passes in this direction, the head of the answer included. */
  readonly bytes?: number;
  /** In place of bytes: whole frames that pass down, the head of the answer not counted. */
  readonly frames?: number;
  /** `down`, towards the client, unless told otherwise. */
  readonly direction?: Direction;
  /** `end`: as a peer that stops in good order; `reset`: as one that was killed; `stall`: nothing passes any more. */
  readonly how: "end" | "reset" | "stall";
}

export interface Faults {
  readonly breach?: Breach;
  /** Every piece waits so long. */
  readonly delayMs?: number;
  /** So many bytes in each direction come one at a time. */
  readonly dribble?: number;
  /** Every so manieth chunk of an answer, or message of a WebSocket, comes twice. */
  readonly doubleEach?: number;
}

/** What becomes of connection number `index`, from 0; undefined: nothing. */
export type FaultPlan = (index: number) => Faults | undefined;

export interface FaultProxy {
  /** Of the proxy, without a path. */
  readonly url: string;
  readonly port: number;
  /** Connections since the plan was made. */
  readonly count: number;
  /** Breaches that happened since then. */
  readonly breaches: number;
  /** Replaces the plan for connections to come, which are counted anew; those that are there end. */
  follow(plan: FaultPlan): void;
  /** No more faults; what hangs is let go. */
  heal(): void;
  /** Ends every connection there is. */
  cut(how?: "end" | "reset"): void;
  close(): Promise<void>;
}

/** A target that is not known yet may be a function, which is asked for each connection. */
export async function startFaultProxy(target: string | (() => string), plan: FaultPlan): Promise<FaultProxy> {
  const passages = new Set<Passage>();
  let current = plan;
  let count = 0;
  let breaches = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const faults = current(count++) ?? {};
    const { hostname, port: targetPort } = new URL(typeof target === "string" ? target : target());
    const upstream = createConnection({ host: hostname, port: Number(targetPort), noDelay: true });
    const passage = new Passage(client, upstream, faults, () => breaches++);
    passages.add(passage);
    client.once("close", () => passages.delete(passage));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (how: "end" | "reset" = "end") => {
    for (const passage of passages) passage.close(how);
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
    follow(next) {
      cut("reset");
      current = next;
      count = 0;
      breaches = 0;
    },
    heal() {
      current = () => undefined;
      for (const passage of passages) passage.heal();
    },
    cut,
    async close() {
      cut("reset");
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One connection on its way through. */
class Passage {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #onBreach: () => void;
  #faults: Faults;
  #isStalled = false;
  #isClosed = false;
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

  /** One piece after the other: what cannot be written yet is not read. */
  async #pump(direction: Direction, from: Socket, to: Socket): Promise<void> {
    const splitter = direction === "down" ? new UnitSplitter() : undefined;
    try {
      for await (const piece of from as AsyncIterable<Buffer>) {
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
      // The one side is gone; so will be the other.
      this.close("end");
    }
  }

  /** False: nothing more passes in this direction. */
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

  /** How much of the unit still passes before the breach; undefined: all of it, and more. */
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

/** Numbers from 0 to `below`, the same for the same seed. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
