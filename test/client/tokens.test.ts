// A client with a token, against a server that requires one: it authenticates over every transport, also when
// reconnecting, and fails with a clear error when the token is revoked.
import { describe, expect, it, onTestFinished } from "vitest";
import {
  connect,
  createFetchTransport,
  createReceiver,
  createWebSocketTransport,
  type ClientToken,
  type Transport,
} from "../../src/client/index.ts";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { LONG, sampleCases } from "../sampling.ts";

const RECONNECT = { initialMs: 10, maxMs: 20 };

async function createFixture(isOpen = false) {
  const credentials = openCredentials(":memory:");
  const agents = { main: agent({ model: new ScriptedModel(Array.from({ length: 9 }, () => ({ text: "Hello." }))) }) };
  const auth = isOpen ? {} : { auth: { credentials } };
  const server = await startLoomServer({ log: new MemoryLog(), agents, port: 0, ...auth });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await credentials.close();
  });
  const begin = (transport: Transport) => {
    const receiver = createReceiver();
    const connection = connect(receiver, { transport, session: "s", reconnect: RECONNECT });
    onTestFinished(() => {
      connection.close();
      transport.close();
    });
    const view = () => receiver.session("s").getSnapshot();
    return { connection, view };
  };
  return { credentials, server, begin };
}

const TRANSPORTS: readonly (readonly [string, (url: string, token?: ClientToken) => Transport])[] = [
  ["server-sent events", (url, token) => createFetchTransport({ url, ...(token !== undefined && { token }) })],
  ["NDJSON", (url, token) => createFetchTransport({ url, framing: "ndjson", ...(token !== undefined && { token }) })],
  [
    "a socket",
    (url, token) =>
      createWebSocketTransport({
        url: `${url.replace("http", "ws")}/v1/ws`,
        ...(token !== undefined && { token }),
      }),
  ],
];

const kindOf = ([name]: (typeof TRANSPORTS)[number]): string => (name === "a socket" ? name : "fetch");

describe.each(sampleCases(TRANSPORTS, { kindOf }))("over %s", (_name, create) => {
  it("authenticates with a token, and fails for good when it is revoked", async () => {
    const { credentials, server, begin } = await createFixture();
    const { secret } = await credentials.createToken({ name: "me" });
    const { connection, view } = begin(create(server.url, () => Promise.resolve(secret)));
    expect(["done", "accepted"]).toContain((await connection.run({ message: "Hi" })).kind);
    await expect.poll(() => view()?.turns.at(-1)?.status).toBe("completed");
    await credentials.revokeToken("me");
    const state = await connection.done;
    expect(state).toMatchObject({ status: "failed", reason: { code: "unauthorized" } });
    expect(view()?.state).toMatchObject({ status: "failed" });
    const again = await connection.run({ message: "Hi again" });
    expect(again).toMatchObject({ kind: "refused", code: "unauthorized" });
  });

  it.runIf(LONG)("uses the current token for the next attempt", async () => {
    const { credentials, server, begin } = await createFixture();
    let { secret } = await credentials.createToken({ name: "first" });
    const { connection, view } = begin(create(server.url, () => secret));
    await connection.run({ message: "Hi" });
    await expect.poll(() => view()?.turns.at(-1)?.status).toBe("completed");
    ({ secret } = await credentials.createToken({ name: "second" }));
    await credentials.revokeToken("first");
    // A socket that is about to be closed may still refuse.
    const isTaken = async (): Promise<boolean> =>
      ["done", "accepted"].includes((await connection.run({ id: "again", message: "Hi again" })).kind);
    await expect.poll(isTaken, { timeout: 5000 }).toBe(true);
    await expect.poll(() => view()?.turns.length, { timeout: 5000 }).toBe(2);
    await expect.poll(() => view()?.turns.at(-1)?.status, { timeout: 5000 }).toBe("completed");
  });

  it("refuses an invalid token at once", async () => {
    const { server, begin } = await createFixture();
    const { connection } = begin(create(server.url, "loom_tok_wrong"));
    expect(await connection.done).toMatchObject({ status: "failed", reason: { code: "unauthorized" } });
    expect(await connection.run({ message: "Hi" })).toMatchObject({ kind: "refused", code: "unauthorized" });
  });

  it("ignores the token if authentication is off", async () => {
    const { server, begin } = await createFixture(true);
    const { connection, view } = begin(create(server.url, "loom_tok_any"));
    await connection.run({ message: "Hi" });
    await expect.poll(() => view()?.turns.at(-1)?.status).toBe("completed");
  });
});
