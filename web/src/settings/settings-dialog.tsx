/** Settings dialog: appearance, keys, notifications, defaults of new messages, the system prompt and data. */
import { type ReactNode, useId, useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import { Dialog, useSession, useWords } from "../../../src/react/page-parts.ts";
import { AGENT_WORDS, describeKind } from "../composer/agent-words.ts";
import { Notices } from "../shell/notices.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import { SHELL_WORDS } from "../shell/shell-words.ts";
import { LANGUAGES, THEMES } from "../shell/theme-menu.tsx";
import { findAgent, listAgentOptions } from "../store/agents.ts";
import { findInstructions, MAX_INSTRUCTIONS, type WrittenPrompt } from "../store/instructions.ts";
import type { PageState } from "../store/page-state.ts";
import { type PageSettings, REASONING_LEVELS, type SendKey } from "../store/settings.ts";
import { DataSettings, Section } from "./data-settings.tsx";
import { SETTINGS_WORDS } from "./settings-words.ts";

const selectSettings = ({ settings }: PageState): PageSettings => settings;
const selectAgents = ({ agents }: PageState): PageState["agents"] => agents;
const selectWritten = ({ instructions, sessions }: PageState): WrittenPrompt | undefined =>
  instructions.get(sessions.current ?? "");
const selectCurrent = ({ sessions }: PageState): string | undefined => sessions.current;

export function SettingsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const mayRun = useMay("run");
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="page-settings">
        <GeneralSettings />
        {mayRun ? <DefaultSettings /> : null}
        {mayRun ? <SessionSettings /> : null}
        <DataSettings />
      </div>
      {/* The notices of the page are behind the dialog. */}
      <Notices />
    </Dialog>
  );
}

function GeneralSettings(): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const shell = useWords(SHELL_WORDS);
  const page = usePage();
  const settings = usePageState(selectSettings);
  const change = (changed: Partial<PageSettings>): void =>
    page.dispatch({ type: "settings/changed", settings: changed });
  const mayRun = useMay("run");
  return (
    <Section title={words.general}>
      <Choice
        label={words.language}
        value={settings.language}
        options={[
          ["en", LANGUAGES.en],
          ["zh", LANGUAGES.zh],
        ]}
        onChange={(language) => change({ language })}
      />
      <Choice
        label={words.theme}
        value={settings.theme}
        options={THEMES.map((theme) => [theme, shell[theme]] as const)}
        onChange={(theme) => change({ theme })}
      />
      {mayRun ? (
        <Choice<SendKey>
          label={words.sendKey}
          value={settings.sendKey ?? "enter"}
          options={[
            ["enter", words.enter],
            ["ctrl-enter", words.ctrlEnter],
          ]}
          onChange={(sendKey) => change({ sendKey })}
        />
      ) : null}
      <Switch
        label={words.motion}
        isOn={settings.hasReducedMotion === true}
        onChange={(hasReducedMotion) => change({ hasReducedMotion })}
      />
      <NotificationSetting isOn={settings.hasNotifications === true} />
    </Section>
  );
}

function NotificationSetting({ isOn }: { readonly isOn: boolean }): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const page = usePage();
  const state = typeof Notification === "undefined" ? "unsupported" : Notification.permission;
  const hint =
    state === "unsupported" ? words.unsupported : state === "denied" ? words.blocked : words.notificationsHint;
  return (
    <Switch
      label={words.notifications}
      hint={hint}
      isOn={isOn && state === "granted"}
      isDisabled={state === "unsupported" || state === "denied"}
      onChange={(wanted) => void page.setNotifications(wanted)}
    />
  );
}

function DefaultSettings(): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const composer = useWords(AGENT_WORDS);
  const page = usePage();
  const { kind, model, reasoning } = usePageState(selectSettings);
  const agents = usePageState(selectAgents);
  const options = useMemo(() => listAgentOptions(agents), [agents]);
  const chosen = findAgent(options, kind, model);
  if (chosen === undefined) return null;
  const models = chosen.option.agents.flatMap((agent) => (agent.model === undefined ? [] : [agent.model]));
  const change = (changed: Partial<PageSettings>): void =>
    page.dispatch({ type: "settings/changed", settings: changed });
  return (
    <Section title={words.defaults}>
      <Choice
        label={words.agent}
        value={chosen.option.name}
        options={options.map((option) => [option.name, describeKind(composer, option).label] as const)}
        onChange={(name) => change({ kind: name })}
      />
      {models.length < 2 || chosen.agent.model === undefined ? null : (
        <Choice
          label={words.model}
          value={chosen.agent.model}
          options={models.map((name) => [name, name] as const)}
          onChange={(name) => change({ model: name })}
        />
      )}
      <Choice
        label={words.reasoning}
        value={reasoning ?? "auto"}
        options={REASONING_LEVELS.map((level) => [level, composer[level]] as const)}
        onChange={(level) => change({ reasoning: level })}
      />
    </Section>
  );
}

function SessionSettings(): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const page = usePage();
  const session = usePageState(selectCurrent) ?? "";
  const written = usePageState(selectWritten);
  const isWritten = written !== undefined && written.runId === undefined;
  const select = useMemo(
    () => (view: SessionView | undefined) => findInstructions(written, view?.turns ?? []),
    [written],
  );
  const found = useSession(page.receiver, session, select);
  const [id, hint] = [useId(), useId()];
  return (
    <Section title={words.session}>
      <div className="page-setting page-setting-tall">
        <label htmlFor={id}>{words.prompt}</label>
        <textarea
          id={id}
          className="page-field"
          dir="auto"
          rows={3}
          // What the user types, also spaces.
          value={isWritten ? written.text : found}
          maxLength={MAX_INSTRUCTIONS}
          aria-describedby={hint}
          onChange={(event) => page.dispatch({ type: "instructions/written", session, text: event.target.value })}
        />
        <p id={hint} className="page-soft">
          {words.promptHint}
        </p>
      </div>
    </Section>
  );
}

interface ChoiceProps<V extends string> {
  readonly label: string;
  readonly value: V;
  readonly options: readonly (readonly [value: V, label: string])[];
  readonly onChange: (value: V) => void;
}

function Choice<V extends string>({ label, value, options, onChange }: ChoiceProps<V>): ReactNode {
  const id = useId();
  return (
    <div className="page-setting">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="page-field"
        value={value}
        onChange={({ target }) => {
          const found = options.find(([name]) => name === target.value);
          if (found !== undefined) onChange(found[0]);
        }}
      >
        {options.map(([name, shown]) => (
          <option key={name} value={name}>
            {shown}
          </option>
        ))}
      </select>
    </div>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly hint?: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Switch({ label, hint, isOn, isDisabled = false, onChange }: SwitchProps): ReactNode {
  const [id, hintId] = [useId(), useId()];
  return (
    <div className="page-setting">
      <div>
        <label htmlFor={id}>{label}</label>
        {hint === undefined ? null : (
          <p id={hintId} className="page-soft">
            {hint}
          </p>
        )}
      </div>
      <input
        id={id}
        type="checkbox"
        role="switch"
        checked={isOn}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : hintId}
        onChange={(event) => onChange(event.target.checked)}
      />
    </div>
  );
}
