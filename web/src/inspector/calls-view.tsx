/** The model calls of the run: tokens, latency and cost of each, the prompt and response of one, and prices. */
import { type ReactNode, useMemo, useState } from "react";
import type { TurnView } from "loom-agent/client";
import { Button, Disclosure, formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { CallContent } from "./call-content.tsx";
import { CALLS_WORDS } from "./calls-words.ts";
import { formatSpan } from "./format-offset.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { findCall, type ListedCall, listCalls } from "./list-calls.ts";
import { nameModel } from "./name-model.ts";
import { computeCost, formatCost, type ModelPrices } from "./prices.ts";
import { PriceTable } from "./price-table.tsx";
import type { RunRecording } from "./run-recording.ts";

export interface CallsViewProps {
  readonly recording: RunRecording;
  readonly turn: TurnView | undefined;
  readonly usageCount: number;
  /** Current frame; -1 before the first. */
  readonly frame: number;
  readonly api: InspectorApi;
  readonly prices: ModelPrices;
  readonly onPrices: (prices: ModelPrices) => void;
  readonly onSelect: (frame: number) => void;
}

const PAGE = 100;

export function CallsView(props: CallsViewProps): ReactNode {
  const { recording, turn, usageCount, frame, api, prices, onPrices, onSelect } = props;
  const words = useWords(CALLS_WORDS);
  const common = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(PAGE);
  const calls = useMemo(
    () => listCalls(turn, recording.index, recording.usage.slice(0, usageCount)),
    [recording, turn?.modelCalls, usageCount],
  );
  const selected = findCall(calls, frame);
  if (selected === undefined) return <p className="page-inspector-note">{words.none}</p>;
  const number = (value: number): string => formatNumber(value, language);
  const costOf = (call: ListedCall): number | undefined => (call.hasUsage ? computeCost(call, prices) : undefined);
  const costs = calls.filter(({ hasUsage }) => hasUsage).map(costOf);
  // A sum without some of the calls would look complete.
  const isPriced = costs.length > 0 && costs.every((cost) => cost !== undefined);
  const total = isPriced ? costs.reduce((sum, cost) => sum + cost, 0) : undefined;
  return (
    <div className="page-inspector-scroll">
      <div className="page-inspector-table-box" tabIndex={0} role="region" aria-label={common.calls}>
        <table className="page-inspector-table">
          <thead>
            <tr>
              <th scope="col">{words.model}</th>
              <th scope="col">{words.prompt}</th>
              <th scope="col">{words.completion}</th>
              <th scope="col">{words.latency}</th>
              <th scope="col">{words.cost}</th>
            </tr>
          </thead>
          <tbody>
            {calls.slice(0, limit).map((call, i) => {
              const cost = costOf(call);
              return (
                <tr key={`${call.id} ${i}`} data-ahead={call.frame > frame} data-selected={call === selected}>
                  <th scope="row">
                    <button
                      type="button"
                      className="page-inspector-link"
                      aria-current={call === selected}
                      onClick={() => onSelect(call.frame)}
                    >
                      {number(i + 1)} · {call.model === undefined ? common.call : nameModel(call.model)}
                    </button>
                  </th>
                  <td>
                    {call.hasUsage ? number(call.prompt) : "—"}
                    {call.cached === 0 ? null : (
                      <span className="page-inspector-soft"> ({words.ofCache(number(call.cached))})</span>
                    )}
                  </td>
                  <td>{call.hasUsage ? number(call.completion) : "—"}</td>
                  <td>{call.durationMs === undefined ? "—" : formatSpan(call.durationMs, language)}</td>
                  <td>
                    {cost === undefined ? (
                      <span className="page-inspector-soft">{words.noPrice}</span>
                    ) : (
                      formatCost(cost)
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
          {total === undefined ? null : (
            <tfoot>
              <tr>
                <th scope="row" colSpan={4}>
                  {words.total}
                </th>
                <td>{formatCost(total)}</td>
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {calls.length > limit ? <Button onClick={() => setLimit(limit + PAGE)}>{common.more}</Button> : null}
      <Disclosure summary={words.prices}>
        <PriceTable models={calls.flatMap(({ model }) => model ?? [])} prices={prices} onPrices={onPrices} />
      </Disclosure>
      <section>
        <h3 className="page-inspector-heading">
          {number(calls.indexOf(selected) + 1)} ·{" "}
          {selected.model === undefined ? common.call : nameModel(selected.model)}
          {selected.finishReason === undefined ? null : (
            <span className="page-inspector-soft">
              {words.finish}: {selected.finishReason}
            </span>
          )}
        </h3>
        {selected.error === undefined ? null : <p className="page-inspector-note">{selected.error}</p>}
        <CallContent
          key={selected.id}
          session={recording.session}
          runId={recording.runId}
          callId={selected.id}
          isOver={selected.status !== "running"}
          api={api}
        />
      </section>
    </div>
  );
}
