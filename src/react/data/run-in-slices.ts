/**
 * Work that is cut into steps, done in slices: in between the page does whatever else there is to do. Each step takes a
 * millisecond or less, or a slice would be longer than it says.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Work at a stretch; a frame has 16. */
const SLICE_MS = 8;

/** The first slice is done at once. Returns what stops it. */
export function runInSlices<T>(steps: Steps<T>, onDone: (made: T) => void): () => void {
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

/** What comes of it; where one slice is enough, at once. */
export function makeInSlices<T>(steps: Steps<T>): T | Promise<T> {
  const made: T[] = [];
  let tell: (value: T) => void = (value) => void made.push(value);
  runInSlices(steps, (value) => tell(value));
  if (made.length > 0) return made[0] as T;
  return new Promise((resolve) => (tell = resolve));
}
