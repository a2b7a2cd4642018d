// `loom serve` as a process of its own: it starts, answers, stops when it is told to, and goes on where it was.
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { COMMAND, environment, folder, loom } from "./cli-run.ts";

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

let count = 0;
const newStore = (): string => join(folder, `serve-${++count}`, "loom.db");

/** Resolves when it says where it listens. */
async function serve(store: string, ...args: readonly string[]): Promise<Served> {
  const child = spawn(process.execPath, [COMMAND, "serve", "--port", "0", "--store", store, "--kb", "none", ...args], {
    cwd: folder,
    env: environment({ LOOM_PORT: "1" }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let out = "";
  let err = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    const url = /^listening on (?<url>\S+)$/m.exec(out)?.groups?.["url"];
    if (url !== undefined) resolve(url);
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  const ended = new Promise<{ code: number | null; out: string; err: string }>((settle) => {
    child.on("close", (code) => {
      children.delete(child);
      reject(new Error(`it ended with ${String(code)}: ${err}`));
      settle({ code, out, err });
    });
  });
  return { url: await promise, process: child, ended };
}

async function chat(url: string, content: string, more: { readonly [name: string]: string } = {}): Promise<string> {
  const response = await fetch(`${url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({ session_id: "demo", content }),
  });
  expect(response.status).toBe(200);
  return response.text();
}

describe("loom serve", () => {
  it("answers by HTTP, resumes, stops in good order, and has it all the next time", async () => {
    const store = newStore();
    const first = await serve(store, "--log-level", "error");
    const told = await chat(first.url, "What is 6*7?");
    expect(told).toContain('"type":"session_start"');
    expect(told).toContain("42");
    expect(told.trimEnd().split("\n").at(-1)).toContain('"session_end"');
    const place = /^id: (?<id>.*)$/m.exec(told)?.groups?.["id"] ?? "";
    const rest = await chat(first.url, "", { "last-event-id": place });
    expect(told.endsWith(rest)).toBe(true);
    const page = await fetch(`${first.url}/`, { headers: { "accept-language": "zh-CN" } });
    expect(await page.text()).toContain('<html lang="zh">');
    expect((await fetch(`${first.url}/metrics`)).status).toBe(200);
    first.process.kill("SIGTERM");
    const end = await first.ended;
    expect([end.code, end.err]).toEqual([0, "stopping; once more, and it ends at once\n"]);
    expect(end.out).toContain(`curl -N ${first.url}/api/chat`);
    expect(end.out).toMatch(/model +offline \(an embedded program/);

    const second = await serve(store, "--base-path", "/agents", "--no-metrics");
    expect(second.url).toMatch(/\/agents$/);
    const replay = await fetch(`${second.url}/v1/sessions/demo/events?dialect=engine&follow=false`);
    expect(await replay.text()).toContain("42");
    expect((await fetch(`${second.url}/metrics`)).status).toBe(404);
    second.process.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
  });

  it("shares its store with another server", async () => {
    const store = newStore();
    const [one, two] = await Promise.all([serve(store), serve(store)]);
    await chat(one.url, "What is 6*7?");
    expect(await (await fetch(`${two.url}/v1/sessions`)).text()).toContain('"demo"');
    for (const { process: child } of [one, two]) child.kill("SIGTERM");
    expect([(await one.ended).code, (await two.ended).code]).toEqual([0, 0]);
  });

  it("says what is wrong, and ends with 2", async () => {
    const busy = createServer();
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
    const port = String((busy.address() as AddressInfo).port);
    const store = newStore();
    const file = join(folder, "settings.json");
    writeFileSync(file, '{"prot": 1}');
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["--config", file], 'there is no setting "prot"\n      did you mean "port"?'],
      [["--port", port, "--store", store], `cannot listen on 127.0.0.1:${port}: another program listens there already`],
      [["--host", "0.0.0.0", "--store", store], "add `--allow-public`"],
      [["--model", "nobody/x", "--store", store], "nobody"],
      [["--store", join(file, "loom.db")], "--store FILE"],
      [["--base-path", "a b", "--port", "0", "--store", store], "`base-path`"],
    ];
    const ran = await Promise.all(cases.map(([args]) => loom(["serve", ...args])));
    for (const [index, { code, out, err }] of ran.entries()) {
      const [args, message] = cases[index]!;
      expect([code, out], args.join(" ")).toEqual([2, ""]);
      expect(err).toContain(message);
    }
    await new Promise((resolve) => busy.close(resolve));
  });

  it("prints its settings, and its help", async () => {
    const [printed, help] = await Promise.all([
      loom(["serve", "--print-config"], { env: { LOOM_API_KEY: "sk-secret", LOOM_PORT: "0" } }),
      loom(["serve", "--help"]),
    ]);
    expect([printed.code, help.code]).toEqual([0, 0]);
    expect(printed.out).toMatch(/port +0 {2}\(LOOM_PORT\)/);
    expect(printed.out).toContain("(hidden)");
    expect(printed.out).not.toContain("sk-secret");
    expect(help.out).toContain("--retention-age");
  });
});
