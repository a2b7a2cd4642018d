/**
 * A code block with its language and a copy button. Once it is complete, plugins highlight its syntax or draw its
 * diagram.
 */
import { memo, type ReactNode, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { TextPieces } from "./plain-text.tsx";
import { PluginGuard } from "./plugin-guard.tsx";
import { TEXT_WORDS } from "./text-words.ts";

export interface CodeBlockProps {
  readonly code: string;
  /** Info string of the code fence; its first word is the language. */
  readonly language?: string | undefined;
  /** False while the code streams; it is not highlighted then. Default: true. */
  readonly isComplete?: boolean | undefined;
}

/** Longer code is not highlighted. */
const MAX_HIGHLIGHTED = 100_000;
const MAX_NAME = 40;

/** Shows a code block, highlighted by `UiPlugins.Code` if there is one. */
export const CodeBlock = memo(function CodeBlock({
  code,
  language = "",
  isComplete = true,
}: CodeBlockProps): ReactNode {
  const words = useWords(TEXT_WORDS);
  const { Code, Diagram } = useUi().plugins;
  const name = (/^[^\s{,]*/.exec(language.trim())?.[0] ?? "").slice(0, MAX_NAME);
  const [hasFailed, setFailed] = useState(false);
  const plain = <TextPieces text={code} />;
  const isColoured = Code !== undefined && isComplete && name !== "" && code.length <= MAX_HIGHLIGHTED;
  const body = (
    <pre
      className="loom-code-body"
      // Scrollable content must be reachable by keyboard.
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
  );
  const renderBlock = (tools?: ReactNode, drawing: ReactNode = body): ReactNode => (
    <div className="loom-code">
      <div className="loom-code-head">
        <span className="loom-code-language">{name === "" ? words.code : name}</span>
        {isColoured && hasFailed ? <span className="loom-text-failed">{words.noColours}</span> : null}
        {tools}
        <CopyButton getText={() => code} label={words.copyCode} />
      </div>
      {drawing}
    </div>
  );
  if (Diagram === undefined || !isComplete || name !== "mermaid") return renderBlock();
  return (
    <PluginGuard plain={renderBlock()}>
      <Diagram code={code} renderBlock={renderBlock} />
    </PluginGuard>
  );
});
