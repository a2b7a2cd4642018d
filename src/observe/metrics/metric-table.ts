/**
 * All metrics of runs, streams, stores and servers: name, help and labels. Names follow the Prometheus conventions: base
 * units, and `_total` for counters. A `MetricSink` stores their values.
 */
import type { StreamMeter } from "./server-meter.ts";

/** Bucket limits in seconds. A tool may take a millisecond, an answer minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** Bucket limits in seconds for the store, from a read of a cached page to a disk that hangs. */
const STORE_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Bucket limits in seconds for approvals by users. */
const WAIT_SECONDS = [1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600];

const counter = <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
  ({ kind: "counter", name, help, labels }) as const;
const gauge = <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
  ({ kind: "gauge", name, help, labels }) as const;
const seconds = <Label extends string = never>(name: string, help: string, buckets: number[], ...labels: Label[]) =>
  ({ kind: "seconds", name, help, buckets, labels }) as const;
/** A counter that is not exported. */
const hidden = <Label extends string>(...labels: Label[]) => ({ kind: "hidden", labels }) as const;

export const METRICS = {
  runsStarted: counter("runs_started_total", "Runs started", "agent"),
  runs: counter("runs_total", "Runs ended, by status", "agent", "status"),
  runsInProgress: gauge("runs_in_progress", "Runs this process is executing now"),
  runDuration: seconds("run_duration_seconds", "Run duration in seconds", SECONDS, "agent"),
  firstAnswer: seconds(
    "run_time_to_first_answer_seconds",
    "Time from the start of a run to the first part of its answer, in seconds",
    SECONDS,
    "agent",
  ),
  iterations: counter("iterations_total", "Agent iterations"),
  llmCalls: counter("llm_calls_total", "Model calls, including retries", "model"),
  llmErrors: counter("llm_errors_total", "Model calls that failed", "model"),
  llmDuration: seconds("llm_duration_seconds", "Model call duration in seconds", SECONDS, "model"),
  firstToken: seconds(
    "llm_time_to_first_token_seconds",
    "Time from the start of a model call to its first output, in seconds",
    SECONDS,
    "model",
  ),
  llmTokens: counter(
    "llm_tokens_total",
    "Tokens sent to models (prompt) and received from them (completion)",
    "model",
    "direction",
  ),
  /** As reported by the provider; can be more than both directions together. */
  llmReportedTokens: hidden("model"),
  toolCalls: counter("tool_calls_total", "Tool calls requested by models", "tool"),
  toolErrors: counter("tool_errors_total", "Tool calls that failed", "tool"),
  toolDuration: seconds("tool_duration_seconds", "Tool run time in seconds", SECONDS, "tool"),
  errors: counter("errors_total", "Errors reported by runs", "stage", "code"),
  retrievals: counter("retrievals_total", "Retrievals"),
  documents: counter("retrieved_documents_total", "Documents found by retrievals"),
  compressions: counter("compressions_total", "Prompts compressed"),
  savedTokens: counter("compression_saved_tokens_total", "Tokens saved by compression"),
  approvalsAsked: counter("approvals_asked_total", "Tool calls that required approval"),
  approvals: counter("approvals_answered_total", "Approval decisions", "decision"),
  approvalWait: seconds(
    "approval_wait_seconds",
    "Time from an approval request to its decision, in seconds",
    WAIT_SECONDS,
  ),
  untracked: counter(
    "untracked_calls_total",
    "Calls forgotten before they ended because too many were open in one run",
  ),
  streamsOpened: counter(
    "streams_opened_total",
    "Streams opened, including resumed streams and gap requests",
    "transport",
  ),
  streamResumes: counter("stream_resumes_total", "Streams resumed at a cursor of the client", "transport"),
  streamGaps: counter("stream_gaps_total", "Requests for a range of missed frames", "transport"),
  streamsOpen: gauge("streams_open", "Streams open now", "transport"),
  streamsClosed: counter("streams_closed_total", "Streams closed, by reason", "transport", "reason"),
  streamsRefused: counter("streams_refused_total", "Stream requests rejected, by error code", "code"),
  slowReaders: counter("slow_readers_closed_total", "Connections closed because the client did not read"),
  streamFrames: counter("stream_frames_total", "Frames sent", "transport"),
  streamBytes: counter("stream_bytes_total", "Bytes of frames sent", "transport"),
  replayedBytes: counter(
    "stream_replayed_bytes_total",
    "Bytes of frames sent that were already in the log when the stream was opened",
    "transport",
  ),
  storeDuration: seconds(
    "store_duration_seconds",
    "Time of a call to the store in seconds; a change lasts until it is durable",
    STORE_SECONDS,
    "operation",
  ),
  storeFaults: counter("store_faults_total", "Times the store could not be written any more, by code", "code"),
  auditFailures: counter("audit_failures_total", "Entries of the audit log that could not be written"),
  authentications: counter("authentications_total", "Requests by kind of credential and outcome", "kind", "outcome"),
};

type Metrics = typeof METRICS;
export type MetricName = keyof Metrics;
type NamesOf<Kind> = { [M in MetricName]: Metrics[M]["kind"] extends Kind ? M : never }[MetricName];
export type TimeName = NamesOf<"seconds">;
export type CountName = Exclude<MetricName, TimeName>;
export type LabelsOf<M extends MetricName> = { readonly [L in Metrics[M]["labels"][number]]: string };

/** Stores the values of metrics. Labels can have any text and number of values: the sink must limit them. */
export interface MetricSink {
  /** Adds 1 or `count` to a counter or gauge. */
  add<M extends CountName>(metric: M, labels: LabelsOf<M>, count?: number): void;
  /** Returns a function that adds to one series without looking it up again: for what is counted with every chunk. */
  adder<M extends CountName>(metric: M, labels: LabelsOf<M>): (count: number) => void;
  /** Does nothing if the time is unknown. */
  time<M extends TimeName>(metric: M, labels: LabelsOf<M>, elapsedMs: number | undefined): void;
}

export function createStreamMeter(sink: MetricSink): StreamMeter {
  return {
    openStream({ transport, kind }) {
      sink.add("streamsOpened", { transport });
      sink.add("streamsOpen", { transport });
      if (kind === "resume") sink.add("streamResumes", { transport });
      if (kind === "gap") sink.add("streamGaps", { transport });
      const addFrames = sink.adder("streamFrames", { transport });
      const addBytes = sink.adder("streamBytes", { transport });
      const addReplayed = sink.adder("replayedBytes", { transport });
      return {
        send(frames, bytes, replayedBytes) {
          addFrames(frames);
          addBytes(bytes);
          if (replayedBytes > 0) addReplayed(replayedBytes);
        },
        close(reason) {
          sink.add("streamsClosed", { transport, reason });
          sink.add("streamsOpen", { transport }, -1);
        },
      };
    },
    refuseStream: (code) => sink.add("streamsRefused", { code }),
    closeSlowReader: () => sink.add("slowReaders", {}),
  };
}
