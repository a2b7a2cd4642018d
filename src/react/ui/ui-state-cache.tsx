/**
 * Cache for UI state such as open panels and drafts. Virtual lists unmount rows that are out of view; this state
 * survives the unmount. Least recently used entries are evicted first.
 */
import { createContext, type ReactNode, use, useState } from "react";

const MAX_ENTRIES = 1000;

/** Least-recently-used cache of UI state by key. Holds 1,000 entries by default. */
export class UiStateCache {
  readonly #entries = new Map<string, unknown>();
  readonly #limit: number;

  constructor(limit: number = MAX_ENTRIES) {
    this.#limit = limit;
  }

  /** Returns the stored value, or undefined. */
  read(key: string): unknown {
    const value = this.#entries.get(key);
    if (value !== undefined) this.write(key, value);
    return value;
  }

  /** Stores a value; undefined removes the entry. */
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

const CacheContext = createContext<UiStateCache | undefined>(undefined);

export interface UiStateCacheProviderProps {
  /** Pass a cache to keep the state longer than this provider is mounted. Default: a new cache. */
  readonly cache?: UiStateCache | undefined;
  readonly children: ReactNode;
}

/** Provides a cache to `useCachedState`. Use one per session: keys are unique only within a session. */
export function UiStateCacheProvider({ cache: states, children }: UiStateCacheProviderProps): ReactNode {
  const [own] = useState(() => states ?? new UiStateCache());
  return <CacheContext value={states ?? own}>{children}</CacheContext>;
}

/** Like `useState`, but also stored in the nearest `UiStateCache` under `key`. Without a provider it is plain state. */
export function useCachedState<T>(key: string, initial: T): readonly [T, (value: T) => void] {
  const states = use(CacheContext);
  const [value, setValue] = useState<T>(() => (states?.read(key) as T | undefined) ?? initial);
  const change = (next: T): void => {
    states?.write(key, next);
    setValue(() => next);
  };
  return [value, change];
}
