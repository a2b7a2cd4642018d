/**
 * What a reader chose or wrote, kept while its component is not there: a list that shows only what can be seen lets go of
 * everything else. It holds so many entries and no more; the one not used for longest goes first.
 */
import { createContext, type ReactNode, use, useState } from "react";

const MAX_ENTRIES = 1000;

export class KeptStates {
  readonly #entries = new Map<string, unknown>();
  readonly #limit: number;

  constructor(limit = MAX_ENTRIES) {
    this.#limit = limit;
  }

  read(key: string): unknown {
    const value = this.#entries.get(key);
    if (value !== undefined) this.write(key, value);
    return value;
  }

  /** Undefined forgets it. */
  write(key: string, value: unknown): void {
    this.#entries.delete(key);
    if (value === undefined) return;
    this.#entries.set(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(oldest);
    }
  }
}

const KeptContext = createContext<KeptStates | undefined>(undefined);

export interface KeptStatesProviderProps {
  /** Where somebody keeps them for longer than this is there. */
  readonly states?: KeptStates | undefined;
  readonly children: ReactNode;
}

/** One for each session: keys are unique within one only. */
export function KeptStatesProvider({ states, children }: KeptStatesProviderProps): ReactNode {
  const [own] = useState(() => states ?? new KeptStates());
  return <KeptContext value={states ?? own}>{children}</KeptContext>;
}

/** As `useState`, and remembered by its key where there is somebody to remember it. One key keeps one kind of value. */
export function useKeptState<T>(key: string, initial: T): readonly [T, (value: T) => void] {
  const states = use(KeptContext);
  const [value, setValue] = useState<T>(() => (states?.read(key) as T | undefined) ?? initial);
  const change = (next: T): void => {
    states?.write(key, next);
    setValue(() => next);
  };
  return [value, change];
}
