/** The strategy settings of an agent: a control for each, as the server lists them. */
import { type ReactNode, useId, useState } from "react";
import { Button, defineWords, Dialog, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { ChosenAgent } from "../store/agents.ts";
import { type AgentSetting, changeStrategy, findStrategy, isAccepted, type Strategies } from "../store/strategy.ts";
import { AGENT_WORDS, describeKind } from "./agent-words.ts";

export function StrategyDialog({
  chosen,
  settings,
  onClose,
}: {
  readonly chosen: ChosenAgent;
  readonly settings: readonly AgentSetting[];
  readonly onClose: () => void;
}): ReactNode {
  const words = useWords(STRATEGY_WORDS);
  const composer = useWords(AGENT_WORDS);
  const page = usePage();
  const strategies = usePageState(({ settings }) => settings.strategies);
  const { name } = chosen.option;
  const values = findStrategy(chosen, strategies);
  const save = (next: Strategies): void => page.dispatch({ type: "settings/changed", settings: { strategies: next } });
  return (
    <Dialog title={words.strategyOf(describeKind(composer, chosen.option).label)} onClose={onClose}>
      <div className="page-strategy">
        {settings.map((setting) => (
          <SettingRow
            key={setting.name}
            setting={setting}
            value={values[setting.name]}
            onChange={(value) => save(changeStrategy(strategies, name, setting.name, value))}
          />
        ))}
        <div className="page-setting-buttons">
          <Button disabled={Object.keys(values).length === 0} onClick={() => save({ ...strategies, [name]: {} })}>
            {words.resetStrategy}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

interface SettingRowProps {
  readonly setting: AgentSetting;
  readonly value: string | number | undefined;
  readonly onChange: (value: string | number | undefined) => void;
}

function SettingRow({ setting, value, onChange }: SettingRowProps): ReactNode {
  const language = usePageState(({ settings }) => settings.language);
  const [id, hint] = [useId(), useId()];
  return (
    <div className="page-setting">
      <div>
        <label htmlFor={id}>{setting.label[language]}</label>
        {/* The words of a choice speak for themselves. */}
        {setting.values === undefined ? (
          <p id={hint} className="page-setting-hint">
            {setting.about[language].replaceAll("`", "")}
          </p>
        ) : null}
      </div>
      {setting.values === undefined ? (
        <NumberField id={id} hint={hint} setting={setting} value={value} onChange={onChange} />
      ) : (
        <WordField id={id} setting={setting} value={value} onChange={onChange} />
      )}
    </div>
  );
}

type FieldProps = SettingRowProps & { readonly id: string };

function WordField({ id, setting, value, onChange }: FieldProps): ReactNode {
  const words = useWords(STRATEGY_WORDS);
  const byDefault = describeValue(words, String(setting.value ?? ""));
  return (
    <select
      id={id}
      className="page-field"
      value={value ?? ""}
      onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
    >
      <option value="">{words.byDefault(byDefault)}</option>
      {(setting.values ?? []).map((word) => (
        <option key={word} value={word}>
          {describeValue(words, word)}
        </option>
      ))}
    </select>
  );
}

/** Keeps what is typed, and applies it once it is in the range. */
function NumberField({ id, hint, setting, value, onChange }: FieldProps & { readonly hint: string }): ReactNode {
  const words = useWords(STRATEGY_WORDS);
  const [typed, setTyped] = useState<string>();
  const { least, most, is_fraction } = setting;
  const shown = typed ?? String(value ?? "");
  const isWrong = shown !== "" && !isAccepted(setting, Number(shown));
  return (
    <input
      id={id}
      type="number"
      className="page-field"
      aria-describedby={hint}
      aria-invalid={isWrong}
      title={words.range(least ?? 0, most ?? 0)}
      min={least}
      max={most}
      step={is_fraction === true ? 0.05 : 1}
      placeholder={setting.value === undefined ? words.auto : String(setting.value)}
      value={shown}
      onChange={({ target }) => {
        setTyped(target.value);
        if (target.value === "") onChange(undefined);
        else if (isAccepted(setting, Number(target.value))) onChange(Number(target.value));
      }}
      // A value out of the range was not applied.
      onBlur={() => setTyped(undefined)}
    />
  );
}

/** UI strings of the strategy settings, and the names of their words. */
const STRATEGY_WORDS = defineWords({
  en: {
    strategyOf: (agent: string) => `${agent}: search settings`,
    resetStrategy: "Reset",
    byDefault: (value: string) => `Default (${value})`,
    range: (least: number, most: number) => `${least} to ${most}`,
    breadth: "Breadth",
    depth: "Depth",
    propose: "Propose",
    sample: "Sample",
    value: "Rate",
    vote: "Vote",
    auto: "Auto",
  },
  zh: {
    strategyOf: (agent: string) => `${agent}：搜索设置`,
    resetStrategy: "恢复默认",
    byDefault: (value: string) => `默认（${value}）`,
    range: (least: number, most: number) => `${least} 到 ${most}`,
    breadth: "广度优先",
    depth: "深度优先",
    propose: "一次列出",
    sample: "逐个采样",
    value: "评分",
    vote: "投票",
    auto: "自动",
  },
});

const VALUES = ["breadth", "depth", "propose", "sample", "value", "vote"] as const;

/** Returns the localized name of a word of a strategy setting; other words stay as they are. */
function describeValue(words: { readonly [K in (typeof VALUES)[number]]: string }, word: string): string {
  const known = VALUES.find((one) => one === word);
  return known === undefined ? word : words[known];
}
