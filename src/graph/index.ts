/**
 * Graphs: channels hold the state, nodes change it, edges choose the next nodes. A graph runs in a session, from which
 * it can be resumed, or standalone.
 */
export { defineGraph, fanOut, subgraph, type SubgraphMapping } from "./define-graph.ts";
export {
  append,
  type Channel,
  type Channels,
  custom,
  type Edge,
  END,
  type Graph,
  type GraphDefinition,
  type GraphLimits,
  type InterruptAnswer,
  merge,
  type NodeContext,
  type NodeFunction,
  type NodeOptions,
  type OnceOptions,
  type PartContext,
  replace,
  type RetryPolicy,
  type StateOf,
  type SubgraphDefinition,
  type EdgeTarget,
  type EdgeTargets,
  type GraphTask,
  type WritesOf,
} from "./graph.ts";
export type { InvokeOptions } from "./graph-host.ts";
export { invokeGraph, resumeGraph, type ResumeOptions, runGraph, type RunGraphOptions } from "./run-graph.ts";
