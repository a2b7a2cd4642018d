/** The limits for slow work of callers: uploads, documents, forks and images. Endpoints enter a gate before they begin. */
import type { Release } from "../../protocol/concurrency-limit.ts";
import { LoomError } from "../../protocol/index.ts";
import type { Caller } from "../auth/authorize.ts";
import { accountOf } from "../auth/principal.ts";
import { FairGate } from "../guard/fair-gate.ts";
import type { ServerLimits } from "../guard/server-limits.ts";

export interface Gates {
  readonly uploads: FairGate;
  readonly documents: FairGate;
  readonly forks: FairGate;
  /** Images fetched from other sites. */
  readonly images: FairGate;
}

/** The parts of `ServerCore` that a gate needs. */
interface GateHost {
  readonly gates: Gates;
  readonly closing: AbortSignal;
}

/** Documents added at once. Each is held in memory, and the knowledge base writes one at a time. */
const MAX_DOCUMENTS = 4;
const MAX_DOCUMENTS_PER_TOKEN = 2;

export function createGates(limits: ServerLimits): Gates {
  const { maxUploads, maxUploadsPerToken, maxForks, maxForksPerToken, maxImages } = limits;
  const imagesPerToken = Math.max(1, Math.floor(maxImages / 2));
  const upload = { noun: "uploads", code: "too_many_uploads" } as const;
  return {
    uploads: new FairGate({ ...upload, slots: maxUploads, slotsPerAccount: maxUploadsPerToken }),
    documents: new FairGate({ ...upload, slots: MAX_DOCUMENTS, slotsPerAccount: MAX_DOCUMENTS_PER_TOKEN }),
    forks: new FairGate({ noun: "forks", code: "too_many_forks", slots: maxForks, slotsPerAccount: maxForksPerToken }),
    images: new FairGate({ noun: "images", code: "too_many_open", slots: maxImages, slotsPerAccount: imagesPerToken }),
  };
}

/** The slot of a request among the uploads. A request has at most one, however many files it brings. */
export class UploadSlot {
  readonly #enter: () => Promise<Release>;
  #entering: Promise<void> | undefined;
  #release: Release | undefined;
  #isReleased = false;

  constructor(enter: () => Promise<Release>) {
    this.#enter = enter;
  }

  /** Waits for the slot. Further calls return the same promise. Throws `too_many_uploads`. */
  enter(): Promise<void> {
    this.#entering ??= this.#enter().then((release) => {
      this.#release = release;
      if (this.#isReleased) release();
    });
    return this.#entering;
  }

  /** Gives the slot back, also one that is still waited for. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#release?.();
  }
}

/** Waits for a slot of the caller, until the client disconnects or the server shuts down. */
export async function enterGate(
  { gates, closing }: GateHost,
  name: keyof Gates,
  { principal }: Caller,
  signal: AbortSignal,
): Promise<Release> {
  const account = principal.kind === "local" ? undefined : accountOf(principal);
  try {
    return await gates[name].enter(account, AbortSignal.any([signal, closing]));
  } catch (error) {
    if (!closing.aborted) throw error;
    throw new LoomError("shutting_down", "The server is shutting down; try again in a moment");
  }
}
