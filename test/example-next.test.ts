// The example for Next.js with the real package: installed from the registry with the packed tarball, built, started, and
// used with Chromium. Only in the long suite, because Next.js is large.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeContexts, hasChromium, shareChromium } from "./browser/launch.ts";
import { buildPackage } from "./build-package.ts";
import { packageRoot } from "./source-files.ts";
import { LONG } from "./sampling.ts";

const INSTALL_MS = 900_000;
const folder = mkdtempSync(join(tmpdir(), "loom-example-next-"));
const project = join(folder, "next");
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
  NODE_ENV: "production",
  NEXT_TELEMETRY_DISABLED: "1",
  STORE: join(folder, "chats.db"),
  WORD_MS: "150",
} as const;

function run(cwd: string, program: string, ...args: readonly string[]): string {
  const shell = process.platform === "win32";
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8", shell });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

describe("the example for Next.js", () => {
  it("has the model of the other examples", () => {
    const read = (...path: readonly string[]): string => readFileSync(join(packageRoot, "examples", ...path), "utf8");
    expect(read("next", "lib", "model.ts")).toBe(read("hono", "model.ts"));
  });
});

describe.skipIf(!LONG || !hasChromium)("the example for Next.js, built (long suite, with Chromium)", () => {
  let browser: Browser;
  let server: ChildProcess | undefined;
  let url: string;

  beforeAll(async () => {
    browser = await shareChromium();
    cpSync(join(packageRoot, "examples", "next"), project, { recursive: true });
    const packed = run(await buildPackage(), "npm", "pack", "--ignore-scripts", "--pack-destination", folder);
    run(project, "npm", "pkg", "set", `dependencies.loom-agent=file:${join(folder, packed.trim())}`);
    run(project, "npm", "install", "--include=dev", "--no-audit", "--no-fund", "--prefer-offline");
    run(project, "npm", "run", "build");
    server = spawn(process.execPath, [join("node_modules", "next", "dist", "bin", "next"), "start", "-p", "0"], {
      cwd: project,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    url = await readUrl(server);
  }, INSTALL_MS);

  afterAll(async () => {
    server?.kill("SIGKILL");
    if (LONG && hasChromium) await closeContexts(browser);
    rmSync(folder, { recursive: true, force: true });
  });

  it("shows the whole answer after a reload, remembers the chat, and stops", async () => {
    const page = await (await browser.newContext()).newPage();
    const answer = page.locator(".assistant").last();
    const send = page.getByRole("button", { name: "Send" });
    const ask = async (message: string): Promise<void> => {
      await page.getByLabel("Message").fill(message);
      await send.click();
    };
    const waitForEnd = (): Promise<void> => page.locator("button:text-is('Stop'):disabled").waitFor();
    await page.goto(`${url}/?chat=reloaded`);
    await ask("Hello");
    await page.getByText("slowly,").waitFor();
    expect(await answer.innerText()).not.toContain("lost.");
    await page.reload();
    await page.getByText("slowly,").waitFor();
    expect(await answer.innerText()).not.toContain("lost.");
    await page.getByText("no word is lost.").waitFor();
    await waitForEnd();
    expect(await answer.innerText()).toMatch(/^This is answer 1 of this chat\. It comes slowly, .* no word is lost\.$/);

    await ask("And again");
    await page.getByText("This is answer 2 of this chat").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await waitForEnd();
    const texts = await page.locator("p").allInnerTexts();
    expect(texts).toEqual(["Hello", expect.stringMatching(/lost\.$/), "And again", expect.not.stringMatching(/lost/)]);
    await page.reload();
    expect(await page.locator("p").allInnerTexts()).toEqual(texts);
  });
});

function readUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    child.once("close", () => reject(new Error(`The server ended\n${out}`)));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      const [found] = /http:\/\/localhost:\d+(?=\s)/.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
}
