/**
 * The metrics that Prometheus is shown, each declared once: name, help, labels. Names follow its conventions: base units,
 * `_total` for what only grows. It knows only as much of prom-client as it uses, so that nobody needs its types.
 */
export interface PrometheusRegister {
  readonly contentType: string;
  /** All metrics as text. */
  metrics(): Promise<string>;
}

interface MetricConfiguration {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  /** What is given here is of the same package: nothing else can be said without its types. */
  readonly registers: never[];
}

type Labels = { [name: string]: string };

/** What is used of the package `prom-client`. */
export interface PrometheusClient {
  readonly Registry: new () => PrometheusRegister;
  readonly Counter: new (configuration: MetricConfiguration) => { inc(labels: Labels, value?: number): void };
  readonly Gauge: new (configuration: MetricConfiguration) => { inc(labels: Labels, value?: number): void };
  readonly Histogram: new (configuration: MetricConfiguration & { readonly buckets: number[] }) => {
    observe(labels: Labels, value: number): void;
  };
}

interface Maker {
  readonly client: PrometheusClient;
  readonly register: PrometheusRegister;
  readonly prefix: string;
}

/** Seconds. A tool may take a millisecond, and an answer minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** People take their time. */
const WAIT_SECONDS = [1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600];

/** Throws where the register has metrics of the same names. */
export function createPrometheusMetrics({ client, register, prefix }: Maker) {
  const describe = (name: string, help: string, labelNames: string[]): MetricConfiguration => ({
    name: prefix + name,
    help,
    labelNames,
    registers: [register as never],
  });
  const counter = (name: string, help: string, ...labels: string[]) => new client.Counter(describe(name, help, labels));
  const gauge = (name: string, help: string, ...labels: string[]) => new client.Gauge(describe(name, help, labels));
  const seconds = (name: string, help: string, buckets: number[], ...labels: string[]) =>
    new client.Histogram({ ...describe(name, help, labels), buckets });
  return {
    runsStarted: counter("runs_started_total", "Runs that were started", "agent"),
    runs: counter("runs_total", "Runs that ended, by how they ended", "agent", "status"),
    runsInProgress: gauge("runs_in_progress", "Runs that this process writes now"),
    runDuration: seconds("run_duration_seconds", "From the start of a run to its end", SECONDS, "agent"),
    firstAnswer: seconds(
      "run_time_to_first_answer_seconds",
      "From the start of a run to the first piece of its answer",
      SECONDS,
      "agent",
    ),
    iterations: counter("iterations_total", "Rounds of agents"),
    llmCalls: counter("llm_calls_total", "Calls of models, every try", "model"),
    llmErrors: counter("llm_errors_total", "Calls of models that failed", "model"),
    llmDuration: seconds("llm_duration_seconds", "How long calls of models took", SECONDS, "model"),
    firstToken: seconds(
      "llm_time_to_first_token_seconds",
      "From the start of a call to the first piece of its output",
      SECONDS,
      "model",
    ),
    llmTokens: counter("llm_tokens_total", "Tokens sent to models and received from them", "model", "direction"),
    toolCalls: counter("tool_calls_total", "Calls of tools that models asked for", "tool"),
    toolErrors: counter("tool_errors_total", "Calls of tools that failed", "tool"),
    toolDuration: seconds("tool_duration_seconds", "How long tools ran", SECONDS, "tool"),
    errors: counter("errors_total", "Errors that runs told of", "stage", "code"),
    retrievals: counter("retrievals_total", "Retrievals"),
    documents: counter("retrieved_documents_total", "Documents that retrievals brought"),
    compressions: counter("compressions_total", "Contexts that were compressed"),
    savedTokens: counter("compression_saved_tokens_total", "Tokens that compression saved"),
    approvalsAsked: counter("approvals_asked_total", "Calls that waited for consent"),
    approvals: counter("approvals_answered_total", "Answers to those that asked for consent", "decision"),
    approvalWait: seconds("approval_wait_seconds", "From asking for consent to the answer", WAIT_SECONDS),
    untracked: counter("untracked_calls_total", "Calls forgotten before they ended, since too many were open"),
    streamsOpened: counter("streams_opened_total", "Streams that were opened, of every kind", "transport"),
    streamResumes: counter("stream_resumes_total", "Streams opened at a place the reader had come to", "transport"),
    streamGaps: counter("stream_gaps_total", "Requests for a range of frames that the reader had missed", "transport"),
    streamsOpen: gauge("streams_open", "Streams that are open now", "transport"),
    streamsClosed: counter("streams_closed_total", "Streams that were closed, by reason", "transport", "reason"),
    streamsRefused: counter("streams_refused_total", "Streams that were refused", "code"),
    slowReaders: counter("slow_readers_closed_total", "Connections closed since their reader did not read"),
    streamFrames: counter("stream_frames_total", "Frames that were sent", "transport"),
    streamBytes: counter("stream_bytes_total", "Bytes of the frames that were sent", "transport"),
    replayedBytes: counter(
      "stream_replayed_bytes_total",
      "Bytes of frames that were in the log already when their stream was opened",
      "transport",
    ),
  };
}

export type PrometheusMetrics = ReturnType<typeof createPrometheusMetrics>;
