/**
 * The model calls of the run: its token usage, tokens, latency and cost of each call, prices, context compressions, and
 * the prompt and response of one call.
 */
import { type ReactNode, useMemo, useState } from "react";
import type { TurnView } from "loom-agent/client";
import { Button, Disclosure, formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { CallContent } from "./call-content.tsx";
import { CALLS_WORDS } from "./calls-words.ts";
import { formatSpan } from "./format.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { findCall, listCalls, type ListedCall, nameModel } from "./list-calls.ts";
import { computeCost, formatCost, type ModelPrices } from "./prices.ts";
import { PriceTable } from "./price-table.tsx";
import type { RunRecording, UsageStep } from "./run-recording.ts";

export interface CallsViewProps {
  readonly recording: RunRecording;
  readonly count: number;
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
  const { recording, count, turn, usageCount, frame, api, prices, onPrices, onSelect } = props;
  const words = useWords(CALLS_WORDS);
  const common = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(PAGE);
  const calls = useMemo(
    () => listCalls(turn, recording.index, recording.usage.slice(0, usageCount)),
    [recording, turn?.modelCalls, usageCount],
  );
  const selected = findCall(calls, frame);
  const compressions = turn?.compressions ?? [];
  if (calls.length + compressions.length === 0) return <p className="page-inspector-note">{words.none}</p>;
  const number = (value: number): string => formatNumber(value, language);
  const used = recording.usage[usageCount - 1]?.sum ?? turn?.usage.totalTokens ?? 0;
  const nameCall = ({ model }: ListedCall, at: number): string =>
    `${number(at + 1)} · ${model === undefined ? common.call : nameModel(model)}`;
  const costOf = (call: ListedCall): number | undefined => (call.hasUsage ? computeCost(call, prices) : undefined);
  const costs = calls.filter(({ hasUsage }) => hasUsage).map(costOf);
  // A sum without some of the calls would look complete.
  const isPriced = costs.length > 0 && costs.every((cost) => cost !== undefined);
  const cost = isPriced ? costs.reduce((sum, cost) => sum + cost, 0) : undefined;
  return (
    <div className="page-inspector-scroll">
      <dl className="page-inspector-facts">
        <div>
          <dt>{words.usageHere}</dt>
          <dd>{number(recording.findUsage(frame)?.sum ?? 0)}</dd>
        </div>
        <div>
          <dt>{words.usageAll}</dt>
          <dd>{number(used)}</dd>
        </div>
      </dl>
      {usageCount === 0 ? (
        <p className="page-inspector-note">{words.noTokens}</p>
      ) : (
        <UsageDrawing steps={recording.usage.slice(0, usageCount)} count={count} frame={frame} />
      )}
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
              const price = costOf(call);
              return (
                <tr key={`${call.id} ${i}`} data-ahead={call.frame > frame} data-selected={call === selected}>
                  <th scope="row">
                    <button
                      type="button"
                      className="page-inspector-link"
                      aria-current={call === selected}
                      onClick={() => onSelect(call.frame)}
                    >
                      {nameCall(call, i)}
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
                    {price === undefined ? (
                      <span className="page-inspector-soft">{words.noPrice}</span>
                    ) : (
                      formatCost(price)
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
          {cost === undefined ? null : (
            <tfoot>
              <tr>
                <th scope="row" colSpan={4}>
                  {words.total}
                </th>
                <td>{formatCost(cost)}</td>
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {calls.length > limit ? <Button onClick={() => setLimit(limit + PAGE)}>{common.more}</Button> : null}
      <Disclosure summary={words.prices}>
        <PriceTable models={calls.flatMap(({ model }) => model ?? [])} prices={prices} onPrices={onPrices} />
      </Disclosure>
      {compressions.length === 0 ? null : (
        <section>
          <h3 className="page-inspector-heading">{words.compressions}</h3>
          <ul className="page-inspector-list">
            {compressions.slice(0, limit).map(({ beforeTokens, afterTokens, method }, i) => (
              <li key={i}>
                <button
                  type="button"
                  className="page-inspector-link"
                  onClick={() => onSelect(recording.index.compressions[i] ?? 0)}
                >
                  {words.compressed(number(beforeTokens), number(afterTokens))}
                </button>
                {method === undefined ? null : <span className="page-inspector-soft"> · {method}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
      {selected === undefined ? null : (
        <section>
          <h3 className="page-inspector-heading">
            {nameCall(selected, calls.indexOf(selected))}
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
      )}
    </div>
  );
}

interface UsageDrawingProps {
  readonly steps: readonly UsageStep[];
  readonly count: number;
  readonly frame: number;
}

/** Total usage by frame, as a step chart of 100 by 100. */
function UsageDrawing({ steps, count, frame }: UsageDrawingProps): ReactNode {
  const words = useWords(CALLS_WORDS);
  return (
    <svg
      className="page-inspector-usage"
      viewBox="0 0 100 100"
      preserveAspectRatio="none"
      role="img"
      aria-label={words.usage}
    >
      <path className="page-inspector-usage-area" d={drawUsage(steps, count)} />
      <path className="page-inspector-usage-now" d={`M${((frame + 1) / Math.max(count, 1)) * 100} 0V100`} />
    </svg>
  );
}

/** More steps would not be visible. */
const MAX_STEPS = 400;

/** Returns the SVG path of the area, or an empty string if nothing was used. */
export function drawUsage(steps: readonly UsageStep[], count: number): string {
  const total = steps.at(-1)?.sum ?? 0;
  if (total === 0 || count === 0) return "";
  const every = Math.ceil(steps.length / MAX_STEPS);
  const shown = steps.filter((_, i) => i % every === every - 1 || i === steps.length - 1);
  const x = ({ frame }: UsageStep): string => (((frame + 1) / count) * 100).toFixed(2);
  const y = ({ sum }: UsageStep): string => (100 - (sum / total) * 96).toFixed(2);
  return `M0 100${shown.map((step) => `H${x(step)}V${y(step)}`).join("")}H100V100Z`;
}
