/**
 * `loom serve` as a child process that can be killed and restarted with the same port and store. The page is built from
 * the current source and served to the browser by request interception.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { BrowserContext } from "playwright-core";
import type { FramesControl } from "../../src/protocol/control/down.generated.ts";
import { nodeArgs } from "../bundle-source.ts";
import { COMMAND, environment } from "../cli-run.ts";
import { shareBuiltPage } from "./build-page.ts";

export class ServeProcess {
  readonly url: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(port: number, store: string, ...args: readonly string[]) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = ["serve", "--port", String(port), "--store", store, "--kb", "none", "--log-level", "error", ...args];
  }

  /** Resolves when the server listens. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [...nodeArgs(), COMMAND, ...this.#args], {
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let output = "";
    await new Promise<void>((resolve, reject) => {
      const read = (chunk: string): void => {
        output += chunk;
        if (output.includes("listening on ")) resolve();
      };
      child.stdout.setEncoding("utf8").on("data", read);
      child.stderr.setEncoding("utf8").on("data", read);
      child.once("close", (code) => reject(new Error(`the server exited with ${String(code)}: ${output}`)));
    });
  }

  /** Sends SIGKILL. Resolves when the process has exited. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}

/** Serves the built page with the server's headers. Other requests go to the server. */
export async function serveBuiltPage(context: BrowserContext): Promise<void> {
  const page = await shareBuiltPage();
  // An intercepted document has no address space, so requests to localhost need this permission.
  await context.grantPermissions(["local-network-access"]);
  const isPageFile = ({ pathname }: URL): boolean => pathname === "/" || pathname.startsWith("/assets/");
  await context.route(isPageFile, async (route) => {
    const answer = await page(new Request(route.request().url()));
    const headers = Object.fromEntries(answer.headers);
    await route.fulfill({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) });
  });
}

/** Frames on their way from the server to a socket of the page. */
interface InterceptedFrames {
  /** Sockets of the page, counted from 0. */
  readonly socket: number;
  readonly frames: readonly { readonly event_id: number }[];
  /** Closes the socket after the returned frames. */
  cut(): void;
}

/** Intercepts frames: `pass` returns the frames that the page receives. Other messages pass unchanged. */
export async function interceptFrames(
  context: BrowserContext,
  pass: (passing: InterceptedFrames) => InterceptedFrames["frames"] | Promise<InterceptedFrames["frames"]>,
): Promise<void> {
  let count = 0;
  await context.routeWebSocket(/\/v1\/ws$/, (page) => {
    const socket = count++;
    let work = Promise.resolve();
    const forward = async (text: string): Promise<void> => {
      const { frames, cursor, ...rest } = JSON.parse(text) as Partial<FramesControl>;
      if (frames === undefined || cursor === undefined) {
        page.send(text);
        return;
      }
      let isCut = false;
      const passed = await pass({
        socket,
        frames: frames.map((frame) => JSON.parse(frame) as InterceptedFrames["frames"][number]),
        cut: () => (isCut = true),
      });
      const last = passed.at(-1);
      if (last !== undefined) {
        // After a cut, the page continues after the last frame it received.
        const next = isCut ? cursor.replace(/[^.]+$/, String(last.event_id)) : cursor;
        const texts = passed.map((frame) => JSON.stringify(frame));
        page.send(JSON.stringify({ ...rest, frames: texts, cursor: next }));
      }
      if (isCut) await page.close();
    };
    page.connectToServer().onMessage((text) => (work = work.then(() => forward(String(text)))));
  });
}
