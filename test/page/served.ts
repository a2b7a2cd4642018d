/**
 * `loom serve` as a process of its own that can be killed and started again, at one address and on one store. The page it
 * serves is that of the source as it stands, not the one that was built last: its files are put before a browser here.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { BrowserContext } from "playwright-core";
import type { FramesControl } from "../../src/protocol/index.ts";
import { createPage } from "../../src/server/index.ts";
import { COMMAND, environment } from "../cli-run.ts";
import { buildPage } from "./build-page.ts";

export class Served {
  readonly url: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(port: number, store: string, ...args: readonly string[]) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = ["serve", "--port", String(port), "--store", store, "--kb", "none", "--log-level", "error", ...args];
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [COMMAND, ...this.#args], {
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let told = "";
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: string): void => {
        told += chunk;
        if (told.includes("listening on ")) resolve();
      };
      child.stdout.setEncoding("utf8").on("data", hear);
      child.stderr.setEncoding("utf8").on("data", hear);
      child.once("close", (code) => reject(new Error(`it ended with ${String(code)}: ${told}`)));
    });
  }

  /** As by `kill -9`. Resolves when nothing of it is left. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}

/** What the server would send of the page, with the same headers. Everything else is asked of the server. */
export async function putPage(context: BrowserContext): Promise<void> {
  const page = createPage({ folder: await buildPage() });
  // A document that no server sent is from nowhere, and may ask nothing of this machine by itself.
  await context.grantPermissions(["local-network-access"]);
  const isOfPage = ({ pathname }: URL): boolean => pathname === "/" || pathname.startsWith("/assets/");
  await context.route(isOfPage, async (route) => {
    const answer = await page(new Request(route.request().url()));
    const headers = Object.fromEntries(answer.headers);
    await route.fulfill({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) });
  });
}

/** Frames that the server sends down a socket of the page, before it has them. */
interface Passing {
  /** The sockets of the page are counted from 0. */
  readonly socket: number;
  readonly frames: readonly { readonly event_id: number }[];
  /** After what is given of these, the socket is closed. */
  cut(): void;
}

/** Stands between the page and its server: `pass` gives what the page gets. All else passes as it is. */
export async function meddle(
  context: BrowserContext,
  pass: (passing: Passing) => Passing["frames"] | Promise<Passing["frames"]>,
): Promise<void> {
  let count = 0;
  await context.routeWebSocket(/\/v1\/ws$/, (page) => {
    const socket = count++;
    let work = Promise.resolve();
    const give = async (text: string): Promise<void> => {
      const { frames, cursor, ...rest } = JSON.parse(text) as Partial<FramesControl>;
      if (frames === undefined || cursor === undefined) {
        page.send(text);
        return;
      }
      let isCut = false;
      const left = await pass({
        socket,
        frames: frames.map((frame) => JSON.parse(frame) as Passing["frames"][number]),
        cut: () => (isCut = true),
      });
      const last = left.at(-1);
      if (last !== undefined) {
        // Whoever was cut off goes on after the last that came.
        const place = isCut ? cursor.replace(/[^.]+$/, String(last.event_id)) : cursor;
        const texts = left.map((frame) => JSON.stringify(frame));
        page.send(JSON.stringify({ ...rest, frames: texts, cursor: place }));
      }
      if (isCut) await page.close();
    };
    page.connectToServer().onMessage((text) => (work = work.then(() => give(String(text)))));
  });
}
