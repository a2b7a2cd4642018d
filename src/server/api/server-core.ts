/** The services that every endpoint receives. Endpoints use them and never create them. */
import type { KnowledgeBase } from "../../context/index.ts";
import type { Log } from "../../log/index.ts";
import type { StreamMeter } from "../../observe/index.ts";
import type { PrometheusRegister } from "../../observe/metrics/prometheus-metrics.ts";
import type { Access } from "../auth/access.ts";
import type { Auditor } from "../auth/audit/auditor.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { CommandHost } from "../commands/command-host.ts";
import type { Gates } from "./gates.ts";
import type { Authorize } from "../auth/authorize.ts";
import type { RunDispatcher } from "../runs/run-dispatcher.ts";
import type { ServerLimits } from "../guard/server-limits.ts";
import type { Streams } from "../streams/stream-reader.ts";

/** The methods of a knowledge base that the server uses. An implementation may open its file on the first call. */
export type ServedKnowledge = Pick<KnowledgeBase, "list" | "stats" | "search" | "read" | "addBytes" | "removeDocument">;

export interface ServerCore {
  readonly log: Log;
  readonly limits: ServerLimits;
  readonly streams: Streams;
  readonly runs: RunDispatcher;
  readonly blobs: BlobStore | undefined;
  /** Hosts without a public address that files of messages can be fetched from. Undefined: no file is fetched. */
  readonly fetchedHosts?: readonly string[] | undefined;
  readonly knowledge: ServedKnowledge | undefined;
  /** Executes the commands of clients: messages, cancels, approvals, to-do changes. */
  readonly commands: CommandHost;
  /** Authentication, permissions and quotas of callers. */
  readonly access: Access;
  /** Authorization: the check of `access`, then the one of the option `authorize`. */
  readonly authorize: Authorize;
  /** Limits for uploads and forks, see `enterGate`. */
  readonly gates: Gates;
  readonly auditor: Auditor;
  readonly meter: StreamMeter | undefined;
  /** Prometheus register behind `/metrics`. */
  readonly register: PrometheusRegister | undefined;
  /** URL prefix of every route, without a trailing slash; empty at the root. */
  readonly basePath: string;
  readonly version: string;
  /** Origin under which other machines reach the server, without a proxy. Undefined if none does; absent if unknown. */
  readonly networkOrigin?: (() => string | undefined) | undefined;
  /** False until the first search for abandoned runs has finished. Absent if the server does not search. */
  readonly isReady?: () => boolean;
  /** True while the server still answers requests before it shuts down. Absent if the server does not drain. */
  readonly isDraining?: () => boolean;
  /** Aborted when the server begins to shut down. */
  readonly closing: AbortSignal;
  /** Passes an error to the operator and returns the ID that clients receive instead of its text. */
  readonly report: (error: unknown) => string;
}
