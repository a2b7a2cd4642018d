/** Runs long work in time slices, so that the page stays responsive. Each step should take at most a millisecond. */
export type SlicedTask<T> = Generator<undefined, T, undefined>;

/** Length of a slice; an animation frame has 16 ms. */
const SLICE_MS = 8;

/** Runs the first slice synchronously. Returns a function that cancels the rest. */
export function runInSlices<T>(steps: SlicedTask<T>, onDone: (made: T) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const work = (): void => {
    const end = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done === true) return onDone(step.value);
    } while (performance.now() < end);
    timer = setTimeout(work, 0);
    return undefined;
  };
  work();
  return () => clearTimeout(timer);
}

/** Returns the result directly if one slice is enough, else a promise. */
export function computeInSlices<T>(steps: SlicedTask<T>): T | Promise<T> {
  const made: T[] = [];
  let resolveTask: (value: T) => void = (value) => void made.push(value);
  runInSlices(steps, (value) => resolveTask(value));
  if (made.length > 0) return made[0] as T;
  return new Promise((resolve) => (resolveTask = resolve));
}
