// `loom token`: the real command, and its effect on a running server.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openCredentials } from "../src/server/auth/credentials/open-credentials.ts";
import { COMMAND, environment, folder, loom, parseLines, type CommandResult } from "./cli-run.ts";
import { LONG } from "./sampling.ts";

const SECRET = /^loom_tok_(?<id>[a-z0-9]{12})_[\w-]{43}$/;
let storeCount = 0;

function newStore() {
  const home = join(folder, `tokens-${storeCount++}`);
  mkdirSync(home);
  const store = join(home, "loom.db");
  const run = (...args: readonly string[]): Promise<CommandResult> =>
    loom(["token", ...args], { env: { LOOM_STORE: store } });
  return { store, file: `${store}-auth`, run };
}

describe("loom token", () => {
  it("records created and revoked tokens in the audit log", async () => {
    const { store, run } = newStore();
    const file = `${store}-audit`;
    const { out } = await run("create", "ci", "--owner", "team", "--audit-log", file);
    await run("revoke", out.trim(), "nothing", "--audit-log", file);
    const token = SECRET.exec(out.trim())?.groups?.["id"] ?? "";
    const scopes = "read,write,run,approve";
    const [created, revoked, missing] = parseLines(readFileSync(file, "utf8"));
    const actor = expect.stringMatching(/^cli:./) as string;
    const target = { token, name: "ci", owner: "team", scopes };
    expect(created).toMatchObject({ action: "token.create", outcome: "done", actor, target });
    expect(revoked).toMatchObject({ action: "token.revoke", outcome: "done", actor, target: { token } });
    expect(missing).toMatchObject({ outcome: "not_found", target: { token: "nothing" } });
    expect(readFileSync(file, "utf8")).not.toContain(out.trim().slice(-43));
    const unwritten = await run("create", "other", "--audit-log", join(store, "x", "audit"));
    expect([unwritten.code, unwritten.err]).toMatchObject([0, expect.stringContaining("audit log cannot be written")]);
  });

  it("prints a token once and stores only its hash", async () => {
    const { store, file, run } = newStore();
    const options = ["--owner", "team", "--scopes", "run,read", "--expires", "30d", "--agents", "react,tot"];
    const limits = ["--tools", "write_file=deny, *=ask", "--limits", "max-runs=2,tokens-per-day=1000"];
    const { code, out, err } = await run("create", "ci", ...options, ...limits);
    expect(code).toBe(0);
    expect(out).toMatch(/^\S+\n$/);
    const { id = "" } = SECRET.exec(out.trim())?.groups ?? {};
    expect(err).toContain(`token \`ci\` (${id}): owner team; expires `);
    expect(err).toContain("it is not shown again");
    expect(err).toContain("this is the first token of the store");
    expect(err).toContain(`valid for the store ${store}: `);
    expect(err).toContain("a server that runs without authentication needs a restart");
    expect(err).not.toContain(out.trim());
    const credentials = openCredentials(file);
    const found = await credentials.find(out.trim());
    await credentials.close();
    expect(found).toMatchObject({
      name: "ci",
      owner: "team",
      scopes: new Set(["read", "run"]),
      agents: ["react", "tot"],
      tools: { write_file: "deny", "*": "ask" },
      limits: { maxRuns: 2, tokensPerDay: 1000 },
    });
    expect(Math.abs((found?.expiresAt ?? 0) - Date.now() - 30 * 86_400_000)).toBeLessThan(60_000);
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);

    const list = await run("list");
    expect([list.code, list.out]).toEqual([0, expect.stringContaining(`ci\t${id}\tteam\tused `) as string]);
    const json = await run("list", "--json");
    expect(parseLines(json.out)).toMatchObject([{ token_id: id, name: "ci", limits: { max_runs: 2 } }]);
    for (const text of [list.out, list.err, json.out, readFileSync(file, "latin1")])
      expect(text).not.toContain(out.trim().slice(22));
  });

  it("writes a token to a new file that only its owner can read", async () => {
    const { store, file, run } = newStore();
    const output = `${store}-token`;
    const { code, out, err } = await run("create", "ci", "--output", output);
    const secret = readFileSync(output, "utf8").trim();
    expect([code, out, secret]).toEqual([0, "", expect.stringMatching(SECRET)]);
    expect(err).toContain(`saved in \`${output}\``);
    expect(err).not.toContain(secret);
    if (process.platform !== "win32") expect(statSync(output).mode & 0o777).toBe(0o600);
    const again = await run("create", "other", "--output", output);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists already; no token was created")]);
    expect(readFileSync(output, "utf8").trim()).toBe(secret);
    // A file whose token was not created is removed.
    const taken = await run("create", "ci", "--output", `${output}-2`);
    expect([taken.code, statSync(`${output}-2`, { throwIfNoEntry: false })]).toEqual([2, undefined]);
    const json = await run("create", "third", "--json", "--output", `${output}-3`);
    expect([parseLines(json.out), json.out.includes("secret")]).toMatchObject([[{ name: "third" }], false]);
    const credentials = openCredentials(file);
    expect((await credentials.listTokens()).map(({ name }) => name).toSorted()).toEqual(["ci", "third"]);
    await credentials.close();
  });

  it("revokes by name, by id and by the token itself, without printing a secret", async () => {
    const { store, file, run } = newStore();
    expect(await run("list")).toMatchObject({ code: 0, out: "" });
    const missing = await run("revoke", "a", "--store", store);
    const hint = `run \`loom token list --store ${store}\` for a list`;
    expect([missing.code, missing.err]).toEqual([2, `no token \`a\` to revoke; ${hint}\n`]);
    // Listing and revoking create no file.
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
    const credentials = openCredentials(file);
    const [, b, c] = await Promise.all(["a", "b", "c"].map(async (name) => credentials.createToken({ name })));
    expect((await run("create", "d")).err).toContain(
      "it can access the same sessions as the other tokens of owner `local`",
    );
    expect((await run("create", "e", "--owner", "e")).err).not.toContain("same sessions");
    await run("revoke", "d", "e");
    const { code, out, err } = await run("revoke", "a", b?.info.tokenId ?? "", c?.secret ?? "", c?.secret ?? "", "d");
    expect(code).toBe(1);
    expect(out).toBe(`revoked: a\nrevoked: ${b?.info.tokenId}\nrevoked: ${c?.info.tokenId}\n`);
    expect(err).toContain(`no token \`${c?.info.tokenId}\` to revoke`);
    expect(out + err).not.toContain(c?.secret.slice(22));
    expect((await credentials.listTokens()).map(({ revokedAt }) => revokedAt === undefined)).not.toContain(true);
    await credentials.close();
  });

  it("rejects invalid options and creates nothing", async () => {
    const { file, run } = newStore();
    const [option, name] = await Promise.all([run("create", "a", "--scopes", "root"), run("create", "a\nb")]);
    expect([option.code, option.out, name.code, name.out]).toEqual([2, "", 2, ""]);
    expect(option.err).toContain("unknown scope `root`");
    expect(name.err).toContain("one line of 1 to 100 characters");
    const list = await run("list", "--json");
    expect([list.code, list.out]).toEqual([0, ""]);
    expect(readFileSync(file, "latin1")).not.toContain("a\nb");
  });
});

describe("a server with tokens", () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  async function serve(store: string): Promise<{ readonly url: string; readonly out: string }> {
    const args = [COMMAND, "serve", "--port", "0", "--store", store, "--kb", "none", "--log-level", "error"];
    const child = spawn(process.execPath, args, { cwd: folder, env: environment({ LOOM_OFFLINE_DELAY: "0" }) });
    ends.push(() => child.kill("SIGKILL"));
    let out = "";
    return new Promise((resolve, reject) => {
      child.on("close", (code) => reject(new Error(`the server exited with ${String(code)}`)));
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        out += chunk;
        const url = /^listening on (?<url>\S+)$/m.exec(out)?.groups?.["url"];
        if (url !== undefined && out.includes("store ")) resolve({ url, out });
      });
    });
  }

  it.runIf(LONG)("requires a token, accepts new tokens immediately, and closes streams of revoked ones", async () => {
    const { store, run } = newStore();
    await run("create", "first");
    const { url, out } = await serve(store);
    expect(out).toContain("sign in with a token");
    const secret = (await run("create", "later")).out.trim();
    const headers = { authorization: `Bearer ${secret}` };
    const statusOf = async (path: string, init = {}): Promise<number> => (await fetch(url + path, init)).status;
    expect(await Promise.all([statusOf("/v1/sessions"), statusOf("/v1/sessions", { headers })])).toEqual([401, 200]);
    const body = JSON.stringify({ session_id: "demo", content: "What is 6*7?" });
    const post = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
    expect(await (await fetch(`${url}/api/chat`, post)).text()).toContain("42");
    const stream = await fetch(`${url}/v1/sessions/demo/events`, { headers });
    expect(stream.status).toBe(200);
    const [{ code }] = await Promise.all([run("revoke", "later"), stream.text()]);
    expect(code).toBe(0);
    expect(await statusOf("/v1/sessions", { headers })).toBe(401);
  });
});
