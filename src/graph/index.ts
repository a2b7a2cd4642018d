/**
 * Graphs: channels that hold a state, nodes that change it, edges that say what comes next; run within a session, from
 * which they can be resumed, or by themselves.
 */
export { append, custom, merge, replace } from "./channels.ts";
export { defineGraph, fanOut, subgraph, type SubgraphMapping } from "./define-graph.ts";
export {
  type AnyNode,
  type Channel,
  type Channels,
  type Edge,
  END,
  type Graph,
  type GraphDefinition,
  type GraphLimits,
  type InterruptAnswer,
  type NodeContext,
  type NodeDefinition,
  type NodeFunction,
  type NodeOptions,
  type OnceOptions,
  type Part,
  type RetryPolicy,
  type StateOf,
  type SubgraphDefinition,
  type Target,
  type Targets,
  type Task,
  type WritesOf,
} from "./graph.ts";
export type { NextTask } from "./graph-events.ts";
export type { GraphHost } from "./graph-host.ts";
export { resumeGraph, type ResumeOptions } from "./resume-graph.ts";
export { invokeGraph, type InvokeOptions, runGraph, type RunGraphOptions, type Snapshot } from "./run-graph.ts";
