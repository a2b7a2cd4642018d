/**
 * What a graph needs of whoever carries its events: a `Run` of the engine is one, and for graphs without a session there
 * is a light one that keeps nothing. It knows no graph.
 */
import { type ApprovalAnswer, type ApprovalRequest, describeError, NodeRun, type Pushed } from "../engine/index.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";

export interface GraphHost {
  readonly runId: string;
  /** The session; undefined where there is none. */
  readonly sessionId: string | undefined;
  /** Aborted when nothing may be written any more: nodes are not waited for. */
  readonly signal: AbortSignal;
  /** Whoever writes more should wait for `ready` first. */
  readonly isBehind: boolean;
  /** Nobody sees the events: none need be made. */
  readonly isSilent?: boolean;
  /** What was written so far: a graph that has made a checkpoint has used up the ids of one. */
  readonly work?: { readonly checkpoint: unknown };
  now(): number;
  /** `parent` is the node run it is inside of. */
  enter(name: string, parent?: string): NodeRun;
  /** Events of one node run, or of none, in one append. With `isTold`, one that cannot be stored does not end the run. */
  postUnit(events: readonly AnyEvent[], options?: { readonly nodeId?: string; readonly isTold?: boolean }): Pushed;
  ready(): Promise<void>;
  requestApproval(request: ApprovalRequest, options: { readonly nodeId: string }): Promise<ApprovalAnswer>;
}

export interface LightHostOptions {
  readonly runId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: ((event: AnyEvent, nodeId: string | undefined) => void) | undefined;
  readonly onInterrupt?: ((request: ApprovalRequest) => Promise<ApprovalAnswer>) | undefined;
}

const NEVER = new AbortController().signal;
const TAKEN: Pushed = { lastId: 0, ts: 0, durable: Promise.resolve(0) };

/** A host without a session: events are told, or nobody hears of them. */
export function createLightHost(options: LightHostOptions): GraphHost {
  const { runId = "run", signal = NEVER, onEvent, onInterrupt } = options;
  let nodeRuns = 0;
  const tell = onEvent ?? (() => undefined);
  const nodeHost: ConstructorParameters<typeof NodeRun>[0] = {
    emit(event, { nodeId }) {
      tell(event, nodeId);
      return TAKEN.durable;
    },
    leave(nodeId, id, result, { before = [], after = [] }) {
      if (onEvent === undefined) return TAKEN;
      for (const event of before) onEvent(event, nodeId);
      onEvent({ type: "node_exit", id, result }, nodeId);
      for (const event of after) onEvent(event, undefined);
      return TAKEN;
    },
    describe: (error) => describeError(error),
  };
  return {
    runId,
    sessionId: undefined,
    signal,
    isBehind: false,
    isSilent: onEvent === undefined,
    now: Date.now,
    enter(id, parent) {
      const nodeId = `run-${id}-${++nodeRuns}`;
      onEvent?.(parent === undefined ? { type: "node_enter", id } : { type: "node_enter", id, parent }, nodeId);
      return new NodeRun(nodeHost, nodeId, id);
    },
    postUnit(events, { nodeId } = {}) {
      for (const event of events) tell(event, nodeId);
      return TAKEN;
    },
    ready: () => Promise.resolve(),
    async requestApproval(request, { nodeId }) {
      const { callId: call_id, name, arguments: asked } = request;
      if (onInterrupt === undefined) throw new LoomError("unsupported", "there is nobody to ask");
      tell({ type: "tool_approval", call_id, name, arguments: asked }, nodeId);
      const answer = await onInterrupt(request);
      const { decision, arguments: given, ...rest } = answer;
      const edited = decision === "approved" ? { arguments: given } : {};
      tell({ type: "tool_approval_result", call_id, name, decision, ...edited, ...rest }, nodeId);
      return answer;
    },
  };
}
