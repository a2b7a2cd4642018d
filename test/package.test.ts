// The package as users get it: built, packed and unpacked into an empty project. Every entry point can be imported
// there, and the CLI runs, also when an old Node starts it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DIALECT_NAMES } from "../src/dialects/dialect.ts";
import { hasChromium, shareChromium } from "./browser/launch.ts";
import { buildClientPackage, buildPackage } from "./build-package.ts";
import { findBlocks } from "./guide-pages.ts";
import { writePdf } from "./knowledge/write-pdf.ts";
import { buildPage } from "./page/build-page.ts";
import { LONG, sampleCases } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as Manifest;
/** Packages that entry points need: runtime dependencies and an optional peer. */
const READS_HTML = ["entities"];
const NEEDED: { readonly [entryPoint: string]: readonly string[] } = {
  ".": [...READS_HTML, "jsonrepair"],
  "./context": READS_HTML,
  "./tools": READS_HTML,
  "./agents": [...READS_HTML, "jsonrepair"],
  "./adapters": [...READS_HTML, "jsonrepair"],
  "./react": ["react", "marked", "@tanstack/virtual-core"],
  "./server": Object.keys(manifest.dependencies),
};
const folder = realpathSync(mkdtempSync(join(tmpdir(), "loom-package-")));
const project = join(folder, "project");
const installed = join(project, "node_modules", manifest.name);
const command = join(installed, "bin", "loom.js");

/** Runs a program to its end and returns its exit code and output. Throws if it cannot start. */
function run(
  program: string,
  args: readonly string[],
  cwd = project,
): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (error) throw error;
  return { code: status, out: stdout, err: stderr };
}

beforeAll(async () => {
  // A copy installs the package, except for the dependencies of the server. A link would find those of the checkout.
  cpSync(await buildPackage(), installed, { recursive: true });
  writeFileSync(join(project, "package.json"), `{ "name": "user", "private": true, "type": "module" }\n`);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("the installed package", () => {
  it("contains what is published and no test", () => {
    expect(existsSync(join(installed, "dist", "index.js"))).toBe(true);
    expect(existsSync(join(installed, "LICENSE"))).toBe(true);
    const folders = readdirSync(installed).filter((name) => !name.includes("."));
    expect(folders.toSorted()).toEqual(["LICENSE", "bin", "dist", "docs", "examples", "spec"]);
    expect(globSync("**/*.{test,contract}.*", { cwd: installed })).toEqual([]);
    expect(globSync("**/*.map", { cwd: installed })).toEqual([]);
  });

  it("runs no script when it is installed", () => {
    const installScripts = ["preinstall", "install", "postinstall", "prepare"];
    expect(Object.keys(manifest.scripts).filter((name) => installScripts.includes(name))).toEqual([]);
  });

  it("contains the vectors that the guide about other languages names, in one archive", () => {
    const guide = readFileSync(join(packageRoot, "docs", "guides", "implement-the-protocol.md"), "utf8");
    const [, ...unpack] = /^tar -xzf \S+$/m.exec(guide)?.[0].split(" ") ?? [];
    expect(run("tar", unpack)).toEqual({ code: 0, out: "", err: "" });
    const named = [...guide.matchAll(/`(spec\/(?:vectors\/\w+|messages\.json))`/g)].map(([, path = ""]) => path);
    expect(named).toHaveLength(3);
    for (const path of named) {
      const list = (root: string) => globSync([path, `${path}/*`], { cwd: root }).toSorted();
      expect(list(project)).toEqual(list(packageRoot));
    }
    const vector = JSON.parse(readFileSync(join(project, "spec", "vectors", "runs", "react-tools.json"), "utf8")) as {
      readonly encodings: { readonly engine: readonly (readonly object[])[] };
    };
    const input = vector.encodings.engine.flat().map((frame) => JSON.stringify(frame));
    const args = [command, "check", "--dialect", "engine"];
    const checked = spawnSync(process.execPath, args, { input: input.join("\n"), encoding: "utf8" });
    expect(checked.stdout).toMatch(new RegExp(`^clean: ${input.length} engine frames`));
  });

  const entryPoints = Object.keys(manifest.exports).filter((entryPoint) => !/\.(?:json|css)$/.test(entryPoint));
  // Those that need no package come first and are imported without any, in one process.
  /** Used below. The packages of the others are a part of those that these need, or `react`. */
  const isUsedBelow = (entryPoint: string): boolean => entryPoint === "." || entryPoint === "./server";
  it.each([
    entryPoints.filter((entryPoint) => !Object.hasOwn(NEEDED, entryPoint)),
    ...Object.keys(NEEDED)
      .filter((entryPoint) => LONG || isUsedBelow(entryPoint))
      .map((entryPoint) => [entryPoint]),
  ])("imports %s", (...imported) => {
    for (const name of imported.flatMap((entryPoint) => NEEDED[entryPoint] ?? []))
      cpSync(join(packageRoot, "node_modules", name), join(project, "node_modules", name), { recursive: true });
    const specifiers = imported.map((entryPoint) => manifest.name + entryPoint.slice(1));
    const program = `for (const specifier of ${JSON.stringify(specifiers)})
      console.log(Object.keys(await import(specifier)).length > 0 ? specifier : specifier + " is empty");`;
    const { code, out, err } = run(process.execPath, ["--input-type=module", "-e", program]);
    expect({ code, err, out }).toEqual({ code: 0, err: "", out: specifiers.map((name) => `${name}\n`).join("") });
  });

  it("writes a store with its writer thread and reads it from another process", () => {
    for (const name of ["durable-sender.ts", "follow.ts"])
      cpSync(join(packageRoot, "examples", name), join(project, name));
    const store = join(folder, "store", "loom.db");
    const sent = run(process.execPath, ["durable-sender.ts", store, "0"]);
    expect(sent).toEqual({ code: 0, out: `writing session "demo" to ${store}\ndone\n`, err: "" });
    const { code, out } = run(process.execPath, ["follow.ts", "loom", store]);
    expect(code).toBe(0);
    const checked = spawnSync(process.execPath, [command, "check"], { input: out, encoding: "utf8" });
    expect(checked.stdout).toMatch(/^clean: \d+ loom frames, 1 session, 1 run, /);
  });

  it("runs the CLI", () => {
    const { code, out, err } = run(process.execPath, [command, "--version"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(manifest.version);
  });
});

describe("the package for frontends", () => {
  it("needs no Node and only what its components need, and receives a stream", async () => {
    const client = join(project, "node_modules", "loom-client");
    cpSync(await buildClientPackage(), client, { recursive: true });
    const own = JSON.parse(readFileSync(join(client, "package.json"), "utf8")) as Manifest;
    expect([own.version, Object.keys(own.dependencies)]).toEqual([
      manifest.version,
      ["marked", "@tanstack/virtual-core"],
    ]);
    const imported = globSync("**/*.js", { cwd: client }).flatMap((path) =>
      [...readFileSync(join(client, path), "utf8").matchAll(/^(?:import|export) [^;]*?from "([^."][^"]*)"/gm)].map(
        ([, name = ""]) => name,
      ),
    );
    expect([...new Set(imported)].toSorted()).toEqual([
      "@tanstack/virtual-core",
      "marked",
      "react",
      "react/jsx-runtime",
    ]);
    const program = `import { createLoomReceiver } from "loom-client";
      import { DIALECTS } from "loom-client/dialects";
      const receiver = createLoomReceiver();
      const source = receiver.open({ dialect: "loom" });
      source.push('{"type":"run_start","session_id":"s","run_id":"r","message":"Hi"}');
      source.end();
      console.log(receiver.getSnapshot().sessions.length, Object.keys(DIALECTS).length);`;
    expect(run(process.execPath, ["--input-type=module", "-e", program])).toEqual({ code: 0, out: "1 9\n", err: "" });
  });
});

describe("in a folder of `npm init -y`", () => {
  const made = join(project, "made");
  const tarball = join(folder, "loom-agent.tgz");
  beforeAll(() => {
    mkdirSync(made);
    const own = { name: "made", version: "1.0.0", main: "index.js", scripts: { test: "exit 1" }, type: "commonjs" };
    writeFileSync(join(made, "package.json"), JSON.stringify(own));
    for (const name of [...new Set(Object.values(NEEDED).flat()), "zod"])
      cpSync(join(packageRoot, "node_modules", name), join(project, "node_modules", name), { recursive: true });
  });

  it.each(["README.md", "README.zh-CN.md"])("the first program of %s runs", (page) => {
    rmSync(join(made, "chats.db"), { force: true });
    const text = readFileSync(join(packageRoot, page), "utf8");
    const [program, output] = findBlocks(page, text).filter(({ language }) => language === "ts" || language === "text");
    const [, file = ""] = /`node (\S+)`/.exec(text.slice(0, text.indexOf(program?.text ?? ""))) ?? [];
    writeFileSync(join(made, file), program?.text ?? "");
    expect(run(process.execPath, [file], made)).toEqual({ code: 0, out: output?.text, err: "" });
  });

  it("`loom init` adds an agent that answers, and keeps the type", () => {
    const version = { dependencies: { "loom-agent": "file:../loom-agent.tgz" } };
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", type: "module", ...version }));
    const { code, out, err } = run(process.execPath, [command, "init"], made);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^changed package.json\n[^]*\nNext:\n {2}npm install\n {2}npm start\n$/);
    const { type, scripts, dependencies } = JSON.parse(readFileSync(join(made, "package.json"), "utf8")) as Manifest & {
      readonly type: string;
    };
    // The project is installed from the same file.
    expect([type, dependencies["loom-agent"]]).toEqual(["commonjs", `file:${tarball}`]);
    expect(scripts["start"]).toBe("loom serve --config loom.json");
    const settings = JSON.parse(readFileSync(join(made, "loom.json"), "utf8")) as { readonly [name: string]: string };
    const { agents = "", store = "" } = settings;
    const question = "Call roll_dice with 20";
    const answer = run(process.execPath, [command, "run", "--agents", agents, "--store", store, question], made);
    expect({ code: answer.code, out: answer.out }).toEqual({ code: 0, out: expect.stringMatching(/\d/) as unknown });
    expect(existsSync(join(made, "data", "loom.db"))).toBe(true);

    // Its modules compile with its own tsconfig.json.
    const types = join("node_modules", "@types");
    mkdirSync(join(project, types));
    symlinkSync(join(packageRoot, types, "node"), join(project, types, "node"), "junction");
    const compiler = join(packageRoot, "node_modules", "typescript", "bin", "tsc");
    expect(run(process.execPath, [compiler, "-p", made], made)).toEqual({ code: 0, out: "", err: "" });
  });
});

describe("a user's project", () => {
  const data = join(folder, "data");
  const cache = join(folder, "cache");
  const folders = { HOME: data, XDG_DATA_HOME: data, XDG_CACHE_HOME: cache };
  const env = { ...process.env, ...folders, NODE_COMPILE_CACHE: undefined, NO_COLOR: "1", LOOM_OFFLINE_DELAY: "0" };
  let server: ChildProcess | undefined;
  let url = "";

  beforeAll(async () => {
    const wanted = new Set([...Object.keys(manifest.dependencies), "unpdf"]);
    // Iterating over a set includes the elements added meanwhile.
    for (const name of wanted) {
      const source = join(packageRoot, "node_modules", name);
      cpSync(source, join(project, "node_modules", name), { recursive: true });
      const { dependencies = {} } = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Partial<Manifest>;
      for (const other of Object.keys(dependencies))
        if (!existsSync(join(source, "node_modules", other))) wanted.add(other);
    }
    // An optional peer, which no command needs.
    rmSync(join(project, "node_modules", "react"), { recursive: true, force: true });
    cpSync(await buildPage(), join(installed, "dist", "page"), { recursive: true });
    server = spawn(process.execPath, [command, "serve", "--port", "0"], { cwd: project, env });
    let out = "";
    url = await new Promise((resolve, reject) => {
      const read = (text: string): void => {
        out += text;
        const [, address] = /^listening on (\S+)$/m.exec(out) ?? [];
        if (address !== undefined) resolve(address);
      };
      server?.stdout?.setEncoding("utf8").on("data", read);
      server?.stderr?.setEncoding("utf8").on("data", read);
      server?.once("close", () => reject(new Error(out)));
    });
  });

  afterAll(() => server?.kill("SIGKILL"));

  /** Returns the answer of the agent. */
  async function ask(session: string, content: string): Promise<string> {
    const body = JSON.stringify({ session_id: session, content });
    const headers = { "content-type": "application/json" };
    const frames = await (await fetch(`${url}/api/chat`, { method: "POST", headers, body })).text();
    const pieces = [...frames.matchAll(/"type":"content","data":\{"content":("(?:[^"\\]|\\.)*")/g)];
    return pieces.map(([, piece = ""]) => JSON.parse(piece) as string).join("");
  }

  const read = async (path: string): Promise<unknown> => (await fetch(url + path)).json();

  const send = async (path: string, type: string, body: Uint8Array<ArrayBuffer>): Promise<object> => {
    const response = await fetch(url + path, { method: "POST", headers: { "content-type": type }, body });
    return { status: response.status, ...((await response.json()) as object) };
  };

  it("finds a page of the handbook, and a PDF that was added", async () => {
    expect(await ask("handbook", "Search the knowledge base for how to back up the store")).toContain(
      "loom store backup",
    );
    const pdf = new Uint8Array(writePdf("The turbine is oiled twice a year", "Turbine manual"));
    expect(await send("/v1/knowledge?name=turbine.pdf", "application/pdf", pdf)).toMatchObject({ status: 201 });
    expect(await ask("pdf", "Search the knowledge base for oiling turbines")).toContain("twice a year");
  });

  it("stores a file, and finds text of sessions", async () => {
    const bytes = new TextEncoder().encode("forty crates");
    const blob = (await send("/v1/sessions/files/blobs?name=a.txt", "text/plain", bytes)) as { readonly url: string };
    expect(blob).toMatchObject({ status: 201, name: "a.txt", bytes: 12 });
    expect(await (await fetch(url + blob.url)).text()).toBe("forty crates");
    await ask("sum", "What is 17*23?");
    expect(await read("/v1/sessions?q=391")).toMatchObject({ sessions: [{ session_id: "sum" }] });
  });

  it("sends a session in every dialect", async () => {
    await ask("dialects", "What is 6*7?");
    for (const dialect of DIALECT_NAMES) {
      const response = await fetch(`${url}/v1/sessions/dialects/events?dialect=${dialect}&follow=0`);
      expect([dialect, response.status, (await response.text()).includes("42")]).toEqual([dialect, 200, true]);
    }
  });

  it("chats in a terminal without React", () => {
    const options = { cwd: project, env, input: "What is 6*7?\n", encoding: "utf8" } as const;
    const { stdout, stderr, status } = spawnSync(process.execPath, [command, "chat", "--plain"], options);
    expect([status, stderr, stdout]).toEqual([0, expect.anything(), expect.stringContaining("6*7 = 42")]);
    // Node keeps what it compiled, in a folder of the user.
    expect(readdirSync(join(cache, "loom"))).toEqual([expect.stringContaining(process.version)]);
  });

  it.skipIf(!hasChromium)("shows a conversation on the page (skipped without Chromium)", async () => {
    const page = await (await shareChromium()).newPage();
    try {
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(url);
      await page.locator("textarea").fill("What is 6*7?");
      await page.keyboard.press("Enter");
      await page.getByText("6*7 = 42").first().waitFor();
      expect(faults).toEqual([]);
    } finally {
      await page.context().close();
    }
  });

  it.each(sampleCases(["bundler", "nodenext"]))("compiles with the module resolution `%s`", (moduleResolution) => {
    // Those of the others need the types of optional packages.
    const typed = ["", "/client", "/dialects", "/tools", "/server"].map((path) => manifest.name + path);
    const text = typed.map((name, index) => `import * as entry${index} from "${name}";\nconsole.log(entry${index});\n`);
    writeFileSync(
      join(project, "use.ts"),
      `${text.join("")}const wrong: string = entry0.agent({ provider: "offline" });\n`,
    );
    const module = moduleResolution === "nodenext" ? "nodenext" : "preserve";
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: "es2024",
      lib: ["es2024", "esnext.disposable", "dom", "dom.iterable"],
      module,
      moduleResolution,
      types: ["node"],
      typeRoots: [join(packageRoot, "node_modules", "@types")],
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    const compiler = join(packageRoot, "node_modules", "typescript", "bin", "tsc");
    const { out } = run(process.execPath, [compiler, "-p", project, "--pretty", "false"]);
    expect(out.trim()).toMatch(/^use\.ts\(11,7\): error TS2322: Type 'Agent<?[^\n]*$/);
  });
});

const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => {
  if (!existsSync(path)) return false;
  const major = Number(/^v(\d+)/.exec(run(path, ["--version"], tmpdir()).out)?.[1]);
  return major < 24;
});

describe.skipIf(oldNode === undefined)("started by an old Node (skipped if none is installed)", () => {
  const old = oldNode ?? "";
  const nodePackage = join(project, "node_modules", "node");

  /** Installs a fake `node` package whose executable is a shell script. */
  function installFakeNode(script: string): void {
    mkdirSync(join(nodePackage, "bin"), { recursive: true });
    const executable = join(nodePackage, "bin", "node");
    writeFileSync(executable, `#!/bin/sh\n${script}\n`);
    chmodSync(executable, 0o755);
  }

  afterEach(() => {
    rmSync(nodePackage, { recursive: true, force: true });
  });

  it("reports the Node version and what to do, in two lines", () => {
    const { code, out, err } = run(old, [command, "--version"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err.trimEnd().split("\n")).toHaveLength(2);
    expect(err).toContain(run(old, ["-p", "process.versions.node"]).out.trim());
    expect(err).toContain("Node 24 or newer");
    expect(err).toContain("npm install node@");
  });

  it("runs again with the node package", () => {
    installFakeNode(`echo re-run >&2; exec "${process.execPath}" "$@"`);
    const { code, out, err } = run(old, [command, "--version"]);
    expect({ code, err }).toEqual({ code: 0, err: "re-run\n" });
    expect(out).toContain(manifest.version);
  });

  it("passes arguments and the exit code through", () => {
    installFakeNode(`shift; printf '%s|' "$@"; exit 7`);
    expect(run(old, [command, "check", "a b", "--json"])).toEqual({ code: 7, out: "check|a b|--json|", err: "" });
  });

  it("runs again only once if the node package is too old as well", () => {
    installFakeNode(`echo re-run >&2; exec "${old}" "$@"`);
    const { code, err } = run(old, [command, "--version"]);
    expect(code).toBe(2);
    expect(err.split("\n").filter((line) => line === "re-run")).toHaveLength(1);
    expect(err).toContain("Node 24 or newer");
  });

  it.each(sampleCases(["SIGINT", "SIGTERM"] as const))("forwards %s", async (signal) => {
    // The program ends after 10 s, so that a lost signal fails the test and leaves no process behind.
    const program =
      `process.on("${signal}", () => { console.log("got ${signal}"); process.exit(9); });` +
      `setTimeout(() => process.exit(1), 10_000); console.log("ready");`;
    installFakeNode(`exec "${process.execPath}" -e '${program}'`);
    const child = spawn(old, [command], { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (text.includes("ready")) child.kill(signal);
    });
    expect({ code: await ended, out }).toEqual({ code: 9, out: `ready\ngot ${signal}\n` });
  });

  it("ends with the signal that killed the command", async () => {
    installFakeNode(`kill -KILL $$`);
    const child = spawn(old, [command], { cwd: project, stdio: "ignore" });
    const signal = await new Promise((resolve) => child.on("close", (_code, name) => resolve(name)));
    expect(signal).toBe("SIGKILL");
  });
});
