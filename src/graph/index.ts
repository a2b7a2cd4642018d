/**
 * Graphs: channels hold the state, nodes change it, edges choose the next nodes. A graph runs in a session, from which
 * it can be resumed, or standalone.
 */
export { defineGraph, fanOut, subgraph } from "./define-graph.ts";
export {
  append,
  type Channel,
  type Channels,
  custom,
  END,
  type Graph,
  type GraphDefinition,
  type InterruptAnswer,
  merge,
  type NodeContext,
  type NodeFunction,
  type NodeOptions,
  replace,
  type StateOf,
  type GraphTask,
  type WritesOf,
} from "./graph.ts";
export type { InvokeOptions } from "./graph-host.ts";
export { invokeGraph, resumeGraph, runGraph } from "./run-graph.ts";
