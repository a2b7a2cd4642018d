/**
 * The parts of the peers' interfaces that the benchmarks use. The peers are installed only when a benchmark runs, so
 * types and lint are checked against these declarations, with or without the packages.
 */
declare module "lmdb" {
  interface Database {
    put(key: readonly [number, number], value: string): Promise<boolean>;
    /** Resolves when everything written so far is on disk. */
    readonly flushed: Promise<boolean>;
    close(): Promise<void>;
  }
  export function open(options: { readonly path: string; readonly encoding: "string" }): Database;
}

declare module "@langchain/langgraph" {
  interface Channel<T> {
    readonly value: T;
  }
  interface Reducer<T> {
    readonly reducer: (current: T, update: T) => T;
    readonly default: () => T;
  }
  type Channels = Readonly<Record<string, Channel<unknown>>>;
  type StateOf<C extends Channels> = { readonly [Name in keyof C]: C[Name]["value"] };
  interface CompiledGraph<S> {
    stream(input: S, config: object): Promise<AsyncIterable<unknown>>;
  }
  export const START: "__start__";
  export const END: "__end__";
  export class MemorySaver {
    readonly storage: object;
  }
  export const Annotation: {
    <T>(reducer?: Reducer<T>): Channel<T>;
    Root<C extends Channels>(channels: C): C;
  };
  export class StateGraph<C extends Channels> {
    constructor(channels: C);
    addNode(name: string, work: (state: StateOf<C>) => Partial<StateOf<C>> | Promise<Partial<StateOf<C>>>): this;
    addEdge(from: string | readonly string[], to: string): this;
    addConditionalEdges(from: string, choose: (state: StateOf<C>) => string): this;
    compile(options?: { readonly checkpointer?: MemorySaver }): CompiledGraph<StateOf<C>>;
  }
}
