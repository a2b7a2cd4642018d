/** Token usage per model call and over the run, and context compressions. */
import { type ReactNode, useState } from "react";
import type { TurnView } from "loom-agent/client";
import { Button, formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { nameModel } from "./name-model.ts";
import type { RunRecording, UsageStep } from "./run-recording.ts";
import { drawUsage } from "./draw-usage.ts";

export interface TokensViewProps {
  readonly recording: RunRecording;
  readonly count: number;
  readonly turn: TurnView | undefined;
  readonly usageCount: number;
  /** Current frame; -1 before the first. */
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
}

const PAGE = 100;

export function TokensView({ recording, count, turn, usageCount, frame, onSelect }: TokensViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(PAGE);
  const number = (value: number): string => formatNumber(value, language);
  const steps = recording.usage.slice(0, Math.min(limit, usageCount));
  const models = new Map(turn?.modelCalls.map(({ id, model }) => [id, model]));
  const compressions = turn?.compressions ?? [];
  const total = recording.usage[usageCount - 1]?.sum ?? turn?.usage.totalTokens ?? 0;
  return (
    <div className="page-inspector-scroll">
      <dl className="page-inspector-facts">
        <div>
          <dt>{words.usageHere}</dt>
          <dd>{number(recording.findUsage(frame)?.sum ?? 0)}</dd>
        </div>
        <div>
          <dt>{words.usageAll}</dt>
          <dd>{number(total)}</dd>
        </div>
      </dl>
      {usageCount === 0 ? <p className="page-inspector-note">{words.noTokens}</p> : null}
      {usageCount === 0 ? null : (
        <>
          <UsageDrawing steps={recording.usage.slice(0, usageCount)} count={count} frame={frame} />
          <div className="page-inspector-table-box" tabIndex={0} role="region" aria-label={words.tokens}>
            <table className="page-inspector-table">
              <thead>
                <tr>
                  <th scope="col">{words.model}</th>
                  <th scope="col">{words.prompt}</th>
                  <th scope="col">{words.completion}</th>
                  <th scope="col">{words.total}</th>
                  <th scope="col">{words.sum}</th>
                </tr>
              </thead>
              <tbody>
                {steps.map((step, i) => (
                  <tr key={step.frame} data-ahead={step.frame > frame}>
                    <th scope="row">
                      <button type="button" className="page-inspector-link" onClick={() => onSelect(step.frame)}>
                        {number(i + 1)} · {nameCall(step, models, words.call)}
                      </button>
                    </th>
                    <td>{number(step.prompt)}</td>
                    <td>{number(step.completion)}</td>
                    <td>{number(step.total)}</td>
                    <td>{number(step.sum)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {usageCount > limit ? <Button onClick={() => setLimit(limit + PAGE)}>{words.more}</Button> : null}
        </>
      )}
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
    </div>
  );
}

/** A call of an agent of another framework may not name its model. */
function nameCall({ callId }: UsageStep, models: ReadonlyMap<string, string | undefined>, unnamed: string): string {
  if (callId === undefined) return "—";
  const model = models.get(callId);
  return model === undefined ? unnamed : nameModel(model);
}

interface UsageDrawingProps {
  readonly steps: readonly UsageStep[];
  readonly count: number;
  readonly frame: number;
}

/** Cumulative usage by frame. The table has the same numbers. */
function UsageDrawing({ steps, count, frame }: UsageDrawingProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  return (
    <svg
      className="page-inspector-usage"
      viewBox="0 0 100 100"
      preserveAspectRatio="none"
      role="img"
      aria-label={words.tokensAlong}
    >
      <path className="page-inspector-usage-area" d={drawUsage(steps, count)} />
      <path className="page-inspector-usage-now" d={`M${((frame + 1) / Math.max(count, 1)) * 100} 0V100`} />
    </svg>
  );
}
