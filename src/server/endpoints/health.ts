/** Whether the server lives, and whether it takes work: for those who watch over processes. */
import { defineOperation } from "../api/operation.ts";
import type { Health, Readiness } from "../api/shapes.generated.ts";
import type { ServerCore } from "../server-core.ts";

/** A store that takes longer than this to say anything is of no use to users either. */
const STORE_MS = 2_000;

export const checkHealth = defineOperation({
  id: "checkHealth",
  method: "GET",
  path: "/healthz",
  tag: "server",
  summary: "Whether the process lives",
  action: "public",
  answers: { 200: { about: "It does", shape: "Health" } },
  handle: () => {
    const health: Health = { status: "ok" };
    return Response.json(health, { headers: { "cache-control": "no-store" } });
  },
});

export const checkReadiness = defineOperation({
  id: "checkReadiness",
  method: "GET",
  path: "/readyz",
  tag: "server",
  summary: "Whether the server takes work",
  description:
    "It does when it has seen what other processes left and can read its store, and until it is about to stop.",
  action: "public",
  answers: {
    200: { about: "It does", shape: "Readiness" },
    503: { about: "It does not, and why", shape: "Readiness" },
  },
  handle: async (core) => {
    const reasons = await findReasons(core);
    const isReady = reasons.length === 0;
    const readiness: Readiness = { status: isReady ? "ready" : "not_ready", reasons };
    return Response.json(readiness, { status: isReady ? 200 : 503, headers: { "cache-control": "no-store" } });
  },
});

async function findReasons(core: ServerCore): Promise<readonly string[]> {
  const reasons: string[] = [];
  if (core.closing.aborted) reasons.push("the server is about to stop");
  if (core.isReady?.() === false) reasons.push("the server is looking for runs that were left");
  const fault = await findStoreFault(core);
  if (fault !== undefined) reasons.push(fault);
  return reasons;
}

async function findStoreFault({ log, report }: ServerCore): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`the store has said nothing for ${STORE_MS} ms`), STORE_MS).unref();
  const asked = log.listSessions({ limit: 1 }).then(
    () => undefined,
    (error: unknown) => `the store cannot be read (error ${report(error)})`,
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
