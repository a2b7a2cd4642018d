// The attack: one token opens all upload slots and sends a byte now and then. Uploads of other tokens must still be
// stored at once, and every slow upload must end.
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { codeOf, SERVER_ORIGIN } from "./auth-fixture.ts";
import { LONG } from "../sampling.ts";

const UPLOADS = 16;

async function open(uploadTimeoutMs: number) {
  const credentials = openCredentials(":memory:");
  const handler = createLoomHandler({
    log: new MemoryLog(),
    agents: { main: agent({ provider: "offline" }) },
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    auth: { credentials },
    limits: { uploadTimeoutMs, maxUploads: UPLOADS },
  });
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 });
    await credentials.close();
  });
  const connect = async (owner: string) => {
    const { secret } = await credentials.createToken({ name: owner, owner });
    return (body: BodyInit) =>
      handler.fetch(
        new Request(`${SERVER_ORIGIN}/v1/sessions/of-${owner}/blobs`, {
          method: "POST",
          headers: { authorization: `Bearer ${secret}` },
          body,
          duplex: "half",
        } as RequestInit),
      );
  };
  return { attack: await connect("mallory"), upload: await connect("alice") };
}

function drip(): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval> | undefined;
  onTestFinished(() => clearInterval(timer));
  return new ReadableStream({
    start: (stream) => void (timer = setInterval(() => stream.enqueue(Uint8Array.of(65)), 10)),
    cancel: () => clearInterval(timer),
  });
}

it.runIf(LONG)("does not let the slow uploads of one token block the uploads of others, and ends them", async () => {
  const { attack, upload } = await open(400);
  const slow = Array.from({ length: UPLOADS }, () => attack(drip()));
  const first = await Promise.race([upload("of alice"), ...slow]);
  expect(first.status).toBe(201);
  for (const response of await Promise.all(slow)) expect(await codeOf(response)).toEqual([408, "request_timeout"]);
  expect((await attack("small")).status).toBe(201);
});
