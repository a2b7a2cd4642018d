// `loom doctor`: what it finds, what it advises, and that it prints no secret.
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { agent } from "../src/agents/index.ts";
import { checkPort } from "../src/cli/doctor/check-port.ts";
import { compareClocks, type DoctorFinding } from "../src/cli/doctor/doctor-finding.ts";
import { MemoryLog } from "../src/log/index.ts";
import { openCredentials, startLoomServer } from "../src/server/index.ts";
import { folder, loom } from "./cli-run.ts";
import { type ProviderServer, startProviderServer } from "./models/provider-server.ts";
import { LONG } from "./sampling.ts";

let provider: ProviderServer;
beforeAll(async () => {
  provider = await startProviderServer();
});
afterAll(() => provider.close());

async function diagnose(env: { readonly [name: string]: string }, ...args: readonly string[]) {
  const store = join(folder, "doctor", "new.db");
  const ran = await loom(["doctor", "--json", ...args], {
    env: { LOOM_STORE: store, LOOM_PORT: "0", OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "", ...env },
  });
  const findings = ran.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as DoctorFinding);
  return { ...ran, find: (check: string) => findings.filter((finding) => finding.check === check) };
}

it("finds nothing wrong on a new machine, and says how to use a real model", async () => {
  const { code, find } = await diagnose({});
  expect(find("store")).toMatchObject([
    { status: "ok", message: expect.stringContaining("does not exist yet") as string },
  ]);
  expect(find("port")).toMatchObject([{ status: "ok" }]);
  expect(find("models")).toMatchObject([
    { status: "warning", advice: expect.stringContaining("OPENAI_API_KEY") as string },
  ]);
  const page = find("page")[0]?.status;
  expect(code).toBe(page === "ok" ? 0 : 1);
});

it.runIf(LONG)("asks providers for their models, and prints no key", async () => {
  provider.models = ["gpt-5"];
  const env = { OPENAI_BASE_URL: provider.url, LOOM_MODEL: "openai/gpt-4" };
  const good = await diagnose({ ...env, OPENAI_API_KEY: provider.key });
  expect(good.find("models")).toMatchObject([
    { status: "warning", message: "openai answers and has 1 model, but not openai/gpt-4" },
    { status: "ok" },
  ]);
  expect(good.find("clock")).toMatchObject([{ status: "ok", message: "agrees with openai" }]);
  const bad = await diagnose({ ...env, OPENAI_API_KEY: "sk-wrong" });
  expect(bad.code).toBe(1);
  expect(bad.find("models")[0]).toMatchObject({ status: "failed", advice: expect.stringContaining("key") as string });
  expect(bad.out).not.toContain("sk-wrong");
});

it("recognizes a Loom server, with and without authentication, and no other server", async () => {
  const findPort = async (host: string, port: number) => (await checkPort(host, port)).message;
  const credentials = openCredentials(":memory:");
  for (const auth of [undefined, { credentials }]) {
    const log = new MemoryLog();
    const server = await startLoomServer({ log, agents: { helper: agent({ provider: "offline" }) }, port: 0, auth });
    const port = Number(new URL(server.url).port);
    expect(await findPort("127.0.0.1", port)).toBe(`a Loom server runs on 127.0.0.1:${port}`);
    await server.close();
    await log.close();
  }
  await credentials.close();
  for (const body of ['{"status":"ok"}', "ok", '{"name":"other","version":"1"}']) {
    const other = createHttpServer((_request, response) => response.end(body));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    expect(await findPort("127.0.0.1", port)).toBe(`another program uses 127.0.0.1:${port}`);
    other.close();
  }
});

it("names a used port, a damaged store, a missing module and an invalid setting", async () => {
  const other = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const store = join(folder, "damaged.db");
  writeFileSync(store, "this is not a database, whatever its name says\n".repeat(99));
  const { code, find } = await diagnose({ LOOM_STORE: store }, "--port", `${port}`, "--agents", join(folder, "no.ts"));
  other.close();
  expect(code).toBe(1);
  for (const check of ["store", "port", "agents"]) expect(find(check)).toMatchObject([{ status: "failed" }]);
  expect(find("port")[0]?.advice).toContain("LOOM_PORT");
  const invalid = await diagnose({ LOOM_PORT: "many" });
  expect(invalid.find("settings")).toMatchObject([
    { status: "failed", message: expect.stringContaining("LOOM_PORT") as string },
  ]);
});

it("reports a database that is away within seconds, without its password", async () => {
  const { find, out } = await diagnose({ LOOM_STORE: "postgres://loom:secret@127.0.0.1:1/loom" });
  expect(find("store")).toMatchObject([{ status: "failed", advice: expect.stringContaining("database") as string }]);
  expect(out).not.toContain("secret");
});

it("checks the rest when the store is a URL of another kind", async () => {
  const { code, find } = await diagnose({ LOOM_STORE: "mysql://x" });
  expect(find("store")).toMatchObject([{ status: "failed", message: expect.stringContaining("mysql://") as string }]);
  expect([code, find("models").length]).toEqual([1, 1]);
});

it("rejects a store in memory, as the commands that maintain stores do", async () => {
  const message = expect.stringContaining("a store in memory would be lost") as string;
  expect((await diagnose({ LOOM_STORE: ":memory:" })).find("store")).toMatchObject([{ status: "failed", message }]);
  for (const args of [
    ["store", "migrate"],
    ["store", "status"],
    ["store", "restore", folder],
    ["store", "verify"],
  ])
    expect(await loom([...args, "--store", ":memory:"])).toMatchObject({ code: 2, err: message });
});

it("compares clocks with a tolerance", () => {
  expect(compareClocks("it", 100_000, 99_000, 101_000)).toMatchObject({ status: "ok" });
  expect(compareClocks("it", 160_000, 99_000, 100_000)).toMatchObject({ status: "warning", message: "60 s behind it" });
  expect(compareClocks("it", 40_000, 100_000, 100_001)).toMatchObject({
    status: "warning",
    message: "60 s ahead of it",
  });
});
