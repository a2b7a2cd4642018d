/**
 * The interface through which a graph writes its events. A `Run` of the engine implements it; graphs without a session
 * use a standalone host that stores nothing. It does not know graphs.
 */
import type { ApprovalAnswer, ApprovalRequest } from "../engine/index.ts";
import { describeError, NodeRun } from "../engine/node-run.ts";
import type { PushResult } from "../engine/sequencer.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";

/** Writes the events of a graph. A `Run` is one. */
export interface GraphHost {
  readonly runId: string;
  /** Undefined for a standalone host. */
  readonly sessionId: string | undefined;
  /** Aborted when nothing more can be written. Nodes then get no grace period. */
  readonly signal: AbortSignal;
  /** True if the log is behind. Await `ready` before writing more. */
  readonly isBehind: boolean;
  /** True if nothing reads the events, so that none need to be created. */
  readonly isSilent?: boolean;
  /**
   * What was written so far. A run with a checkpoint cannot start another graph, because their IDs would collide.
   *
   * @internal
   */
  readonly work?: { readonly checkpoint: unknown };
  /** The clock, in milliseconds since 1970. */
  now(): number;
  /** Starts a node run, optionally inside the node run `parent`. */
  enter(name: string, parent?: string): NodeRun;
  /**
   * Writes events of one node run, or of none, in one append. With `isHandled`, events that cannot be stored do not end
   * the run.
   *
   * @internal
   */
  postUnit(
    events: readonly AnyEvent[],
    options?: { readonly nodeId?: string; readonly isHandled?: boolean },
  ): PushResult;
  /** Resolves when the log has room for more events. */
  ready(): Promise<void>;
  /** Asks the user and resolves to the answer. */
  requestApproval(request: ApprovalRequest, options: { readonly nodeId: string }): Promise<ApprovalAnswer>;
}

/** Options of `invokeGraph`. */
export interface InvokeOptions {
  /** Stops the graph at once. */
  readonly signal?: AbortSignal;
  /** Called for every event. Without it, no events are created. */
  readonly onEvent?: (event: AnyEvent, nodeId: string | undefined) => void;
  /** Answers the questions of nodes. Without it, they throw `unsupported`. */
  readonly onInterrupt?: (request: ApprovalRequest) => Promise<ApprovalAnswer>;
}

const NEVER = new AbortController().signal;
const NOT_STORED: PushResult = { lastId: 0, ts: 0, durable: Promise.resolve(0) };

/** Creates a host without a session. Events go to `onEvent` and are not stored. */
export function createStandaloneHost(options: InvokeOptions): GraphHost {
  const { signal = NEVER, onEvent, onInterrupt } = options;
  let nodeRuns = 0;
  const notify = onEvent ?? (() => undefined);
  const nodeHost: ConstructorParameters<typeof NodeRun>[0] = {
    emit(event, { nodeId }) {
      notify(event, nodeId);
      return NOT_STORED.durable;
    },
    exit(nodeId, id, result, { before = [], after = [] }) {
      if (onEvent === undefined) return NOT_STORED;
      for (const event of before) onEvent(event, nodeId);
      onEvent({ type: "node_exit", id, result }, nodeId);
      for (const event of after) onEvent(event, undefined);
      return NOT_STORED;
    },
    describe: (error) => describeError(error),
  };
  return {
    runId: "run",
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
      for (const event of events) notify(event, nodeId);
      return NOT_STORED;
    },
    ready: () => Promise.resolve(),
    async requestApproval(request, { nodeId }) {
      const { callId: call_id, name, arguments: question } = request;
      if (onInterrupt === undefined)
        throw new LoomError("unsupported", "This graph asks the user, but no `onInterrupt` is set");
      notify({ type: "tool_approval", call_id, name, arguments: question }, nodeId);
      const answer = await onInterrupt(request);
      const { decision, arguments: given, ...rest } = answer;
      const edited = decision === "approved" ? { arguments: given } : {};
      notify({ type: "tool_approval_result", call_id, name, decision, ...edited, ...rest }, nodeId);
      return answer;
    },
  };
}
