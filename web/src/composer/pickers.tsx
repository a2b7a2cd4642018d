/** Menus that choose the agent kind, the model and how much it reasons. */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Icon, Menu, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { AgentChoice, ChosenAgent } from "../store/agents.ts";
import type { PageState } from "../store/page-state.ts";
import { REASONING_LEVELS } from "../store/settings.ts";
import { AGENT_WORDS, chooseAgentIcon, describeKind } from "./agent-words.ts";
import { useChosenAgent } from "./use-chosen-agent.ts";
import { findStrategy } from "../store/strategy.ts";

const selectModels = ({ models }: PageState): PageState["models"] => models;

export function Pickers({ session }: { readonly session: string | undefined }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const page = usePage();
  const { options, chosen } = useChosenAgent(session);
  if (chosen === undefined) return null;
  const choose = (next: AgentChoice): void => page.dispatch({ type: "agent/chosen", choice: next, session });
  const named = describeKind(words, chosen.option);
  return (
    <>
      <Menu
        label={words.agent(named.label)}
        className="page-picker"
        side="above"
        items={options.map((option) => ({
          key: option.name,
          ...describeKind(words, option),
          icon: chooseAgentIcon(option.kind),
          isChosen: option === chosen.option,
          onSelect: () => choose({ kind: option.name }),
        }))}
      >
        <Icon name={chooseAgentIcon(chosen.option.kind)} />
        <PickerName name={named.label} />
      </Menu>
      <ModelPicker
        models={chosen.option.agents.flatMap((agent) => (agent.model === undefined ? [] : [agent.model]))}
        chosen={chosen.agent.model}
        onChoose={(model) => choose({ model })}
      />
      <StrategyPicker key={chosen.option.name} chosen={chosen} />
      <ReasoningPicker model={chosen.agent.model} />
    </>
  );
}

function PickerName({ name }: { readonly name: string }): ReactNode {
  return (
    <>
      <span className="page-picker-name">{name}</span>
      <Icon name="down" />
    </>
  );
}

function ModelPicker({
  models,
  chosen,
  onChoose,
}: {
  readonly models: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (model: string) => void;
}): ReactNode {
  const words = useWords(AGENT_WORDS);
  const known = usePageState(selectModels);
  if (chosen === undefined) return null;
  const isOffline = isOfflineModel(chosen, known);
  const hasOthers = models.some((model) => !isOfflineModel(model, known));
  const hint = hasOthers ? words.chooseModel : <KeysNote known={known} />;
  const nameModel = (model: string): string => (isOfflineModel(model, known) ? words.offline : model);
  return (
    <Menu
      label={words.model(nameModel(chosen))}
      className={isOffline ? "page-picker page-picker-offline" : "page-picker"}
      side="above"
      note={isOffline ? hint : undefined}
      items={models.map((model) => ({
        key: model,
        label: nameModel(model),
        isChosen: model === chosen,
        onSelect: () => onChoose(model),
      }))}
    >
      <PickerName name={isOffline ? words.offline : chosen.replace(/^[^/]+\//, "")} />
    </Menu>
  );
}

/** Not for the offline model, which does not reason. */
function ReasoningPicker({ model }: { readonly model: string | undefined }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const page = usePage();
  const known = usePageState(selectModels);
  const chosen = usePageState(({ settings }) => settings.reasoning);
  if (model === undefined || isOfflineModel(model, known)) return null;
  const name = words[chosen ?? "auto"];
  return (
    <Menu
      label={words.reasoning(name)}
      className="page-picker"
      side="above"
      items={REASONING_LEVELS.map((reasoning) => ({
        key: reasoning,
        label: words[reasoning],
        isChosen: reasoning === (chosen ?? "auto"),
        onSelect: () => page.dispatch({ type: "settings/changed", settings: { reasoning } }),
      }))}
    >
      <Icon name="think" />
      <PickerName name={name} />
    </Menu>
  );
}

/** Lists the API key variables that enable other models. */
function KeysNote({ known }: { readonly known: PageState["models"] }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const missing = (known?.providers ?? []).flatMap(({ key_variable, needs_key, has_key, in_use }) =>
    needs_key && !has_key && !in_use && key_variable !== undefined ? [key_variable] : [],
  );
  if (missing.length === 0) return words.noKeys;
  return (
    <>
      {words.offlineText}
      <ul className="page-keys">
        {missing.map((name) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Whether the provider of a model is a program instead of a language model. */
export function isOfflineModel(model: string, known: PageState["models"]): boolean {
  const provider = model.split("/", 1)[0] ?? "";
  return known?.providers.some(({ name, is_offline }) => name === provider && is_offline) ?? false;
}

const StrategyDialog = lazy(async () => ({ default: (await import("./strategy-dialog.tsx")).StrategyDialog }));

/** Button that opens the strategy settings of the chosen agent. Not shown for agents without such settings. */
function StrategyPicker({ chosen }: { readonly chosen: ChosenAgent }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const strategies = usePageState(({ settings }) => settings.strategies);
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
