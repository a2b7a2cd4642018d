/** Empty session: introduction and suggested prompts. */
import type { ReactNode } from "react";
import { Icon, useUi, useWords } from "../../../src/react/page-parts.ts";
import { chooseAgentIcon, AGENT_WORDS, describeKind } from "../composer/agent-words.ts";
import { Mark } from "../shell/brand.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import { focusConversation } from "../shell/use-shortcuts.ts";
import { listAgentOptions } from "../store/agents.ts";
import type { PageState } from "../store/page-state.ts";
import { PROMPTS, START_WORDS } from "./start-words.ts";

/** Undefined until the agents are loaded. */
const selectNames = ({ agents }: PageState): readonly string[] | undefined =>
  agents.length === 0 ? undefined : listAgentOptions(agents).map(({ name }) => name);

/** `hasPrompts`: false if they are shown below the message box. */
export function Start({ hasPrompts }: { readonly hasPrompts: boolean }): ReactNode {
  const words = useWords(START_WORDS);
  const mayRun = useMay("run");
  return (
    <section className="page-start" aria-labelledby="page-start-title">
      <Mark />
      <h2 id="page-start-title">{mayRun ? words.title : words.nothing}</h2>
      <p>{mayRun ? words.text : words.readOnly}</p>
      {mayRun && hasPrompts ? <Prompts /> : null}
    </section>
  );
}

export function Prompts(): ReactNode {
  const words = useWords(START_WORDS);
  const kinds = useWords(AGENT_WORDS);
  const page = usePage();
  const { language } = useUi();
  const names = usePageState(selectNames);
  const prompts = PROMPTS[language].filter(({ agent }) => names?.includes(agent) ?? true);
  if (prompts.length === 0) return null;
  return (
    <ul className="page-prompts" aria-label={words.prompts}>
      {prompts.map(({ title, text, agent }) => (
        <li key={text}>
          <button
            type="button"
            className="page-prompt"
            // Until the agents are loaded, the prompt would go to the default agent.
            disabled={names === undefined}
            onClick={() => {
              page.sendPrompt(text, agent);
              // The clicked button is removed.
              focusConversation();
            }}
          >
            <span className="page-prompt-title">
              <span className="page-prompt-name">
                <Icon name={chooseAgentIcon(agent)} />
                {title}
              </span>
              <span className="page-prompt-agent">
                {describeKind(kinds, { name: agent, kind: agent, description: undefined }).label}
              </span>
            </span>
            <span className="page-prompt-text">{text}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
