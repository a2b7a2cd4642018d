/** A block of code: its language, a button to copy it, and colours once it is complete and the page can give them. */
import { memo, type ReactNode, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { TextPieces } from "./plain-text.tsx";
import { PluginGuard } from "./plugin-guard.tsx";
import { TEXT_WORDS } from "./text-words.ts";

export interface CodeBlockProps {
  readonly code: string;
  /** As it stands behind the fence; its first word counts. */
  readonly language?: string | undefined;
  /** False while more may come; then it is shown without colours. */
  readonly isComplete?: boolean | undefined;
}

/** Longer code is shown without colours: they would cost more than they tell. */
const LONGEST_COLOURED = 100_000;
const LONGEST_NAME = 40;

export const CodeBlock = memo(function CodeBlock({
  code,
  language = "",
  isComplete = true,
}: CodeBlockProps): ReactNode {
  const words = useWords(TEXT_WORDS);
  const { Code } = useUi().plugins;
  const name = (/^[^\s{,]*/.exec(language.trim())?.[0] ?? "").slice(0, LONGEST_NAME);
  const [hasFailed, setFailed] = useState(false);
  const plain = <TextPieces text={code} />;
  const isColoured = Code !== undefined && isComplete && name !== "" && code.length <= LONGEST_COLOURED;
  return (
    <div className="loom-code">
      <div className="loom-code-head">
        <span className="loom-code-language">{name === "" ? words.code : name}</span>
        {isColoured && hasFailed ? <span className="loom-text-failed">{words.noColours}</span> : null}
        <CopyButton getText={() => code} label={words.copyCode} />
      </div>
      <pre
        className="loom-code-body"
        // What scrolls must be reachable by keyboard.
        tabIndex={0}
        role="group"
        aria-label={name === "" ? words.code : words.codeIn(name)}
      >
        <code>
          {isColoured ? (
            <PluginGuard plain={plain} onFail={() => setFailed(true)}>
              <Code code={code} language={name} isComplete />
            </PluginGuard>
          ) : (
            plain
          )}
        </code>
      </pre>
    </div>
  );
});
