import { expect, test } from "vitest";
import { ErrorReporter } from "../../engine/error-reporter.ts";
import { describeFailure } from "../../engine/run-executor.ts";
import type { LogMonitor } from "../../log/log-monitor.ts";
import { LoomError } from "../../protocol/index.ts";
import { OutageReporter } from "./outage-reporter.ts";

const away = () => new LoomError("store_unavailable", "The database is not available");

test("reports an outage once, with one ID for the requests, runs and agents that fail because of it", () => {
  const reports: [unknown, string][] = [];
  const monitor: { fault: LoomError | undefined } = { fault: undefined };
  const outages = new OutageReporter(monitor as LogMonitor, (error, errorId) => reports.push([error, errorId]));
  const failRun = () => describeFailure(away(), new ErrorReporter(outages.onError)).details?.["error_id"];
  for (const first of [away(), away()]) {
    monitor.fault = first;
    expect([outages.reportFault(first), outages.reportFault(first)]).toEqual([true, false]);
    const ids = [outages.report(away()), outages.reportOrWarn(away()), failRun()];
    monitor.fault = undefined;
    // What fails a moment later.
    ids.push(outages.report(away()), failRun());
    outages.onError?.(away(), "reported by a part on its own");
    const [report, ...rest] = reports.splice(0);
    expect([report?.[0], rest]).toEqual([first, []]);
    expect(new Set(ids)).toEqual(new Set([report?.[1]]));
  }
  const other = new LoomError("store_corrupt", "damaged");
  const errorId = outages.report(other);
  expect(reports).toEqual([[other, errorId]]);
});
