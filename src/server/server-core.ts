/** What every door is given: the one place where the parts of a server meet. No door makes any of them. */
import type { Log } from "../log/index.ts";
import type { PrometheusRegister, StreamMeter } from "../observe/index.ts";
import type { Access } from "./auth/access.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { CommandHost } from "./commands/carry-out.ts";
import type { Authorize } from "./guard/authorize.ts";
import type { RunDesk } from "./runs/run-desk.ts";
import type { ServedKnowledge } from "./served-knowledge.ts";
import type { ServerLimits } from "./server-limits.ts";
import type { Streams } from "./streams/reader.ts";

export interface ServerCore {
  readonly log: Log;
  readonly limits: ServerLimits;
  readonly streams: Streams;
  readonly runs: RunDesk;
  readonly blobs: BlobStore | undefined;
  readonly knowledge: ServedKnowledge | undefined;
  /** How what is asked of sessions is carried out. */
  readonly commands: CommandHost;
  /** Who comes in. */
  readonly access: Access;
  /** What they may do: that of `access`, and whatever else was asked for. */
  readonly authorize: Authorize;
  readonly meter: StreamMeter | undefined;
  /** What `/metrics` shows. */
  readonly register: PrometheusRegister | undefined;
  /** Before every path, without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly version: string;
  /** False until the first look for what other processes left is done. Where it is absent there is none. */
  readonly isReady?: () => boolean;
  /** Aborted when the server is about to stop. */
  readonly closing: AbortSignal;
  /** Keeps what was thrown from users; the id they are told instead. */
  readonly report: (error: unknown) => string;
}
