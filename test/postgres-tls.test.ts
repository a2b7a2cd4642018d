// Encrypted connections to PostgreSQL, with the parameters of the guide: a certificate that cannot be verified is refused.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openPostgres } from "../src/postgres/postgres-database.ts";
import { folder, loom } from "./cli-run.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

const pathOf = (name: string): string => join(folder, name);
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(...args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: "ignore" });
}

function createAuthority(name: string): void {
  const files = ["-keyout", pathOf(`${name}.key`), "-out", pathOf(`${name}.pem`)];
  openssl("req", "-x509", ...KEY, "-days", "2", "-subj", `/CN=${name}`, ...files);
}

function createCertificate(name: string, host: string, authority: string): void {
  openssl("req", ...KEY, "-subj", `/CN=${name}`, "-keyout", pathOf(`${name}.key`), "-out", pathOf(`${name}.csr`));
  writeFileSync(pathOf("names"), `subjectAltName=DNS:${host}\n`);
  const files = ["-in", pathOf(`${name}.csr`), "-out", pathOf(`${name}.pem`), "-extfile", pathOf("names")];
  const by = ["-CA", pathOf(`${authority}.pem`), "-CAkey", pathOf(`${authority}.key`), "-CAcreateserial"];
  openssl("x509", "-req", "-days", "2", ...by, ...files);
}

describe.skipIf(NO_POSTGRES !== undefined || !hasOpenssl)("PostgreSQL with TLS (skipped without openssl)", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    for (const name of ["authority", "unknown"]) createAuthority(name);
    createCertificate("server", "localhost", "authority");
    createCertificate("app", "app.example.com", "authority");
    const read = (name: string): string => readFileSync(pathOf(name), "utf8");
    server = await startPostgres({
      settings: { ssl: "on", ssl_ca_file: "authority.pem" },
      files: {
        "server.crt": read("server.pem"),
        "server.key": read("server.key"),
        "app.crt": read("app.pem"),
        "app.key": read("app.key"),
        "authority.pem": read("authority.pem"),
        "pg_hba.conf":
          "hostssl all app 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 trust\nhostnossl all all all reject\n",
      },
    });
  });
  afterAll(() => server.stop());

  const urlOf = (parameters: string, user = "postgres"): string =>
    `postgres://${user}@localhost:${server.port}/postgres${parameters}`;
  const verified = (authority: string): string => `?sslmode=verify-full&sslrootcert=${pathOf(`${authority}.pem`)}`;

  async function readVersion(url: string): Promise<unknown> {
    const db = await openPostgres(url, { waitMs: 20_000, readWaitMs: 20_000 });
    try {
      const [row] = await db.read<{ version: unknown }>(
        "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl",
      );
      return row?.version;
    } finally {
      await db.close();
    }
  }

  it("verifies the certificate", async () => {
    expect(await readVersion(urlOf(verified("authority")))).toBe("TLSv1.3");
    const status = await loom(["store", "migrate", "--store", urlOf(verified("authority"))]);
    expect(status).toMatchObject({ code: 0, err: "" });
    const db = await openPostgres(urlOf(verified("authority")));
    await db.write("CREATE ROLE app LOGIN", []);
    await db.close();
  });

  it("refuses an unknown authority", async () => {
    for (const url of [urlOf(verified("unknown")), urlOf("?sslmode=verify-full")])
      await expect(readVersion(url)).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringContaining("certificate") as string,
      });
  });

  it("refuses connections that are not encrypted", async () => {
    await expect(readVersion(urlOf(""))).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("refused access") as string,
    });
  });

  it("identifies a user by a client certificate", async () => {
    const url = urlOf(verified("authority"), "app");
    await expect(readVersion(url)).rejects.toMatchObject({ code: "store_failed" });
    const certificate = `&sslcert=${pathOf("app.pem")}&sslkey=${pathOf("app.key")}`;
    expect(await readVersion(`${url}${certificate}`)).toBe("TLSv1.3");
  });

  it("refuses a certificate for another host name", async () => {
    const db = await openPostgres(urlOf(verified("authority")));
    for (const [setting, file] of [
      ["ssl_cert_file", "app.crt"],
      ["ssl_key_file", "app.key"],
    ])
      await db.write(`ALTER SYSTEM SET ${setting} = '${file}'`, []);
    await db.write("SELECT pg_reload_conf()", []);
    await db.close();
    await vi.waitFor(
      () =>
        expect(readVersion(urlOf(verified("authority")))).rejects.toMatchObject({
          code: "store_failed",
          message: expect.stringContaining("altnames") as string,
        }),
      { timeout: 20_000, interval: 100 },
    );
  });
});
