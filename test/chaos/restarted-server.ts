/** A server of the chaos tests at one address, in one process after the other. */
import { type Child, startChild } from "../durability/child.ts";

export class RestartedServer {
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #onCrash: (error: unknown) => void;
  #child: Child | undefined;
  isUp = false;

  /** `onCrash` is called if the server ends by itself after it has listened. */
  constructor(program: string, args: readonly string[], onCrash: (error: unknown) => void) {
    this.#program = program;
    this.#args = args;
    this.#onCrash = onCrash;
  }

  get child(): Child {
    if (this.#child === undefined) throw new Error("the server was never started");
    return this.#child;
  }

  /** Starts the process, again if it ends before it listens, as on a full disk. */
  async start(): Promise<void> {
    while (!this.isUp) {
      this.#child = startChild(this.#program, this.#args);
      // A killed process does not read its commands.
      this.#child.process.stdin?.on("error", () => undefined);
      this.isUp = (await this.#child.next("listening")) !== undefined;
      if (this.isUp) this.#child.ended.catch(this.#onCrash);
    }
  }

  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    if (name === "SIGKILL" || name === "SIGTERM") this.isUp = false;
    this.child.process.kill(name);
  }

  /** Sends a command to the process. */
  tell(line: string): void {
    this.child.process.stdin?.write(`${line}\n`);
  }
}
