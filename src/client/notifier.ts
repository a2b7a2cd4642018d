/**
 * Notifies listeners of changes in batches (003 §4.1): once per animation frame, once per interval, or synchronously.
 * It knows nothing about the changes themselves.
 */

/**
 * When listeners are notified: `frame` once per animation frame, `everyMs` once per interval in milliseconds, `sync`
 * after every change.
 */
export type NotifyMode = "frame" | "sync" | { readonly everyMs: number };

/** Called after a change, without arguments. */
export type ChangeListener = () => void;

const FRAME_MS = 16;
/** Fallback delay: a hidden page gets no animation frames. */
const HIDDEN_MS = 200;

interface AnimationFrameHost {
  requestAnimationFrame?(callback: () => void): number;
}

/** Schedules calls of `deliver` according to the mode. */
export class Notifier {
  readonly #mode: NotifyMode;
  readonly #deliver: () => void;
  #isScheduled = false;
  /** Set while listeners run; changes they cause are delivered afterwards. */
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

  /** Delivers pending changes now. */
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
  const screen = globalThis as AnimationFrameHost;
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
