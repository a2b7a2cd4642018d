/** Health, readiness and version of the server, for process supervisors, load balancers and clients. */
import { DIALECT_NAMES } from "../../dialects/index.ts";
import type { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { Health, Readiness, Version } from "../api/shapes.generated.ts";
import type { ServerCore } from "../api/server-core.ts";
import { toPublicError } from "../guard/to-public-error.ts";

/** A store that does not respond in this time counts as unavailable. */
const STORE_TIMEOUT_MS = 2_000;

export const checkHealth = defineOperation({
  id: "checkHealth",
  method: "GET",
  path: "/healthz",
  summary: "Check that the process is running",
  action: "public",
  responses: { 200: { description: "Running", shape: "Health" } },
  handle: () => {
    const health: Health = { status: "ok" };
    return Response.json(health);
  },
});

export const checkReadiness = defineOperation({
  id: "checkReadiness",
  method: "GET",
  path: "/readyz",
  summary: "Check that the server is ready for requests",
  description:
    "The server is ready when it has searched for abandoned runs and can read and write its store, until it begins to shut down. To check the store, it writes a small change at most once per second.",
  action: "public",
  responses: {
    200: { description: "Ready", shape: "Readiness" },
    503: { description: "Not ready, with the reasons", shape: "Readiness" },
  },
  handle: async (core) => {
    const reasons = await findReasons(core);
    const isReady = reasons.length === 0;
    const { warning } = core.log.monitor ?? {};
    const warnings = warning === undefined ? [] : [describeFault(core, warning)];
    const readiness: Readiness = { status: isReady ? "ready" : "not_ready", reasons: [...reasons, ...warnings] };
    return Response.json(readiness, { status: isReady ? 200 : 503 });
  },
});

export const getVersion = defineOperation({
  id: "getVersion",
  method: "GET",
  path: "/version",
  summary: "Get the name and version of the server",
  action: "server.read",
  responses: { 200: { description: "Name, version and dialects", shape: "Version" } },
  handle: ({ version }) => {
    const answer: Version = { name: "loom-agent", version, dialects: DIALECT_NAMES };
    return Response.json(answer);
  },
});

async function findReasons(core: ServerCore): Promise<readonly string[]> {
  const reasons: string[] = [];
  if (core.closing.aborted || core.isDraining?.() === true) reasons.push("the server is shutting down");
  if (core.isReady?.() === false) reasons.push("searching for abandoned runs");
  const fault = await findStoreFault(core);
  if (fault !== undefined) reasons.push(fault);
  return reasons;
}

async function findStoreFault({ log, report }: ServerCore): Promise<string | undefined> {
  const fault = await log.monitor?.check();
  if (fault !== undefined) return describeFault({ report }, fault);
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(
    () => resolve(`the store did not respond within ${STORE_TIMEOUT_MS} ms`),
    STORE_TIMEOUT_MS,
  ).unref();
  const probe = log.listSessions({ limit: 1 }).then(
    () => undefined,
    (error: unknown) => `the store cannot be read (error ${report(error)})`,
  );
  try {
    return await Promise.race([probe, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describeFault({ report }: Pick<ServerCore, "report">, fault: LoomError): string {
  const { message, errorId = "" } = toPublicError(report, fault);
  return `${message.charAt(0).toLowerCase()}${message.slice(1)} (error ${errorId})`;
}
