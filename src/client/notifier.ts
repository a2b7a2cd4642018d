/**
 * Tells listeners of changes, many changes at a time (003 §4.1): once per frame of the screen, once per interval, or at
 * once. It knows nothing of what changed.
 */
export type NotifyMode = "frame" | "sync" | { readonly everyMs: number };

export type Listener = () => void;

const FRAME_MS = 16;
/** A page nobody looks at gets no frames of the screen, and may be hidden while one is awaited. */
const HIDDEN_MS = 200;

interface Screen {
  requestAnimationFrame?(callback: () => void): number;
}

export class Notifier {
  readonly #mode: NotifyMode;
  readonly #deliver: () => void;
  #isScheduled = false;
  /** A change came while listeners were being told. */
  #isDelivering = false;

  constructor(mode: NotifyMode, deliver: () => void) {
    this.#mode = mode;
    this.#deliver = deliver;
  }

  get isScheduled(): boolean {
    return this.#isScheduled;
  }

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#mode === "sync") {
      if (!this.#isDelivering) this.flush();
      return;
    }
    runLater(this.#mode, () => this.flush());
  }

  /** Tells of what is waiting to be told, now. */
  flush(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      while (this.#isScheduled) {
        this.#isScheduled = false;
        this.#deliver();
        if (this.#mode !== "sync") return;
      }
    } finally {
      this.#isDelivering = false;
    }
  }
}

function runLater(mode: Exclude<NotifyMode, "sync">, run: () => void): void {
  if (mode !== "frame") {
    setTimeout(run, mode.everyMs);
    return;
  }
  const screen = globalThis as Screen;
  if (typeof screen.requestAnimationFrame !== "function") {
    setTimeout(run, FRAME_MS);
    return;
  }
  const timer = setTimeout(run, HIDDEN_MS);
  screen.requestAnimationFrame(() => {
    clearTimeout(timer);
    run();
  });
}
