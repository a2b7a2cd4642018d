/**
 * Prometheus metrics that are read at the time of a scrape: the stores and parts of servers, and this process. They exist
 * from the first server on, so that a program without one does not export zeros.
 */
import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { LogSizes } from "../../log/log-monitor.ts";
import { configureMetric, type PrometheusTarget } from "./prometheus-metrics.ts";
import type { ServerGauges } from "./server-meter.ts";

type DelayHistogram = ReturnType<typeof monitorEventLoopDelay>;
type Sample = readonly [labels: { [name: string]: string }, value: number];

const QUANTILES = [50, 99, 100];
const NANOSECONDS = 1e9;
/** Interval of the timer that measures the delay of the event loop. */
const DELAY_RESOLUTION_MS = 20;

/** Returns `watchServer` of a meter. */
export function createServerGauges(target: PrometheusTarget): (server: ServerGauges) => () => void {
  const servers = new Set<ServerGauges>();
  const delay = { histogram: undefined as DelayHistogram | undefined };
  let isRegistered = false;
  return (server) => {
    servers.add(server);
    if (delay.histogram === undefined) {
      delay.histogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
      delay.histogram.enable();
    }
    if (!isRegistered) {
      registerStores(target, servers);
      registerProcess(target, delay);
      isRegistered = true;
    }
    return () => {
      servers.delete(server);
      if (servers.size > 0) return;
      delay.histogram?.disable();
      delay.histogram = undefined;
    };
  };
}

function registerStores(target: PrometheusTarget, servers: ReadonlySet<ServerGauges>): void {
  const monitors = () => [...servers].flatMap(({ log }) => (log === undefined ? [] : [log]));
  const ofStores = (size: keyof LogSizes) => (): Sample[] => {
    const sizes = monitors().flatMap((log) => log.measure()[size] ?? []);
    return sizes.length === 0 ? [] : [[{}, sum(sizes)]];
  };
  const heldBytes = (): Sample[] => {
    const bytes = new Map<string, number>();
    const add = (part: string, count: number): unknown => bytes.set(part, (bytes.get(part) ?? 0) + count);
    for (const server of servers) for (const [part, read] of Object.entries(server.heldBytes)) add(part, read());
    for (const { feedBytes, queuedBytes } of monitors().map((log) => log.measure())) {
      add("feeds", feedBytes);
      add("write_queue", queuedBytes);
    }
    return [...bytes].map(([part, count]) => [{ part }, count]);
  };
  const { gauge, counter } = createSampledMetrics(target);
  gauge("store_writable", "1 if the store can be written, 0 if not", [], () =>
    monitors().length === 0 ? [] : [[{}, monitors().every(({ fault }) => fault === undefined) ? 1 : 0]],
  );
  counter("store_writer_restarts_total", "Restarts of the writer thread", ofStores("restarts"));
  gauge("store_queued_operations", "Changes that wait to be written", [], ofStores("queuedOperations"));
  gauge("store_groups_in_flight", "Groups of changes that are being written", [], ofStores("sentGroups"));
  gauge("store_pending_commands", "Messages and other commands that no run has taken", [], ofStores("pendingCommands"));
  gauge("store_wal_bytes", "Size of the write-ahead log in bytes", [], ofStores("walBytes"));
  gauge("held_bytes", "Bytes that parts of the server hold in memory", ["part"], heldBytes);
  gauge("held_sessions", "Sessions this process holds to run their messages", [], () => [
    [{}, sum([...servers].map((server) => server.heldSessions()))],
  ]);
  gauge("sockets_open", "WebSockets open now", [], () => [
    [{}, sum([...servers].map((server) => server.openSockets()))],
  ]);
}

function registerProcess(target: PrometheusTarget, delay: { readonly histogram: DelayHistogram | undefined }): void {
  const { gauge } = createSampledMetrics(target);
  gauge("event_loop_delay_seconds", "Delay of the event loop since the last scrape", ["quantile"], () => {
    const { histogram } = delay;
    if (histogram === undefined) return [];
    const samples = QUANTILES.map((percent): Sample => {
      const { count } = histogram;
      const late = count === 0 ? 0 : histogram.percentile(percent) / NANOSECONDS - DELAY_RESOLUTION_MS / 1000;
      return [{ quantile: String(percent / 100) }, Math.max(0, late)];
    });
    histogram.reset();
    return samples;
  });
  gauge("process_memory_bytes", "Memory of the process in bytes", ["kind"], () => {
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
    const kinds = { rss, heap_used: heapUsed, external, array_buffers: arrayBuffers };
    return Object.entries(kinds).map(([kind, bytes]) => [{ kind }, bytes]);
  });
  // Only Linux has these files; elsewhere the metrics do not exist.
  if (countOpenFiles() === undefined) return;
  gauge("open_files", "Files and sockets that the process has open", [], () => [[{}, countOpenFiles() ?? 0]]);
  gauge("open_files_limit", "Files and sockets that the process may have open", [], () => [[{}, readFileLimit()]]);
}

/** Creates metrics whose samples are replaced with every scrape. */
function createSampledMetrics(target: PrometheusTarget) {
  const { client } = target;
  return {
    gauge: (name: string, help: string, labelNames: string[], read: () => readonly Sample[]): void => {
      const metric = new client.Gauge({
        ...configureMetric(target, name, help, labelNames),
        collect() {
          metric.reset();
          for (const [labels, value] of read()) metric.set(labels, value);
        },
      });
    },
    counter: (name: string, help: string, read: () => readonly Sample[]): void => {
      const metric = new client.Counter({
        ...configureMetric(target, name, help, []),
        collect() {
          metric.reset();
          for (const [labels, value] of read()) metric.inc(labels, value);
        },
      });
    },
  };
}

function countOpenFiles(): number | undefined {
  try {
    // Without the file that lists them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

function readFileLimit(): number {
  const found = /^Max open files\s+(?<soft>\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return Number(found?.groups?.["soft"] ?? Number.POSITIVE_INFINITY);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
