/** Button that opens the strategy settings of the chosen agent. Not shown for agents without such settings. */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Icon, useWords } from "../../../src/react/page-parts.ts";
import { usePageState } from "../shell/page-context.tsx";
import type { ChosenAgent } from "../store/agents.ts";
import type { PageState } from "../store/page-state.ts";
import { findStrategy, type Strategies } from "../store/strategy.ts";
import { AGENT_WORDS } from "./agent-words.ts";

const StrategyDialog = lazy(async () => ({ default: (await import("./strategy-dialog.tsx")).StrategyDialog }));

const selectStrategies = ({ settings }: PageState): Strategies | undefined => settings.strategies;

export function StrategyPicker({ chosen }: { readonly chosen: ChosenAgent }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const strategies = usePageState(selectStrategies);
  const [isOpen, setOpen] = useState(false);
  const { settings = [] } = chosen.agent;
  if (settings.length === 0) return null;
  const count = Object.keys(findStrategy(chosen, strategies)).length;
  const label = words.strategy(count);
  return (
    <>
      <button
        type="button"
        className="loom-menu-button page-picker"
        aria-haspopup="dialog"
        aria-label={label}
        title={label}
        onClick={() => setOpen(true)}
      >
        <Icon name="sliders" />
        {count === 0 ? null : <span>{count}</span>}
      </button>
      {isOpen ? (
        <Suspense>
          <StrategyDialog chosen={chosen} settings={settings} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
