/**
 * Renders a conversation as elements: for a file of HTML, and for printing. The page shows only the visible rows of a
 * conversation, so its own elements cannot be used.
 */
import { type ReactNode, useMemo } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { CitationProvider, RichText, type UiLanguage, UiProvider, useUi } from "../../../src/react/page-parts.ts";
import { describeSource, type ExportedConversation, type ExportedMessage } from "./describe-conversation.ts";
import { EXPORT_WORDS } from "./export-words.ts";

/** Renders into an element and returns a function that removes it again. */
export function renderConversation(
  conversation: ExportedConversation,
  language: UiLanguage,
  target: HTMLElement,
): () => void {
  const root = createRoot(target);
  flushSync(() =>
    root.render(
      <UiProvider language={language}>
        <Conversation conversation={conversation} />
      </UiProvider>,
    ),
  );
  return () => root.unmount();
}

function Conversation({ conversation }: { readonly conversation: ExportedConversation }): ReactNode {
  const { title, subtitle, note, messages } = conversation;
  return (
    <main className="page-export">
      <h1 dir="auto">{title}</h1>
      <p className="page-export-note">{subtitle}</p>
      {note === undefined ? null : <p className="page-export-note">{note}</p>}
      {messages.map((message, index) => (
        <Message key={index} message={message} position={index + 1} />
      ))}
    </main>
  );
}

interface MessageProps {
  readonly message: ExportedMessage;
  /** Makes the ids of sources unique in the document. */
  readonly position: number;
}

function Message({ message, position }: MessageProps): ReactNode {
  const { role, heading, time, texts, lists, sources, note } = message;
  const cited = useMemo(() => new Map(sources.map((source) => [source.ref ?? 0, source])), [sources]);
  const idOf = (ref: number): string => `source-${position}-${ref}`;
  const { language } = useUi();
  return (
    <section data-role={role}>
      <h2>
        {heading} {time === undefined ? null : <small>{time}</small>}
      </h2>
      <CitationProvider sources={cited} hrefOf={(ref) => `#${idOf(ref)}`}>
        {texts.map(({ text, format }, index) => (
          <RichText key={index} text={text} format={format} isComplete />
        ))}
      </CitationProvider>
      {lists.map(({ title, entries }) => (
        <div key={title} className="page-export-list">
          <h3>{title}</h3>
          <ul>
            {entries.map((entry, index) => (
              <li key={index}>{entry}</li>
            ))}
          </ul>
        </div>
      ))}
      {sources.length === 0 ? null : (
        <div className="page-export-list">
          <h3>{EXPORT_WORDS[language].sources}</h3>
          <ul>
            {sources.map((source, index) => (
              <li key={index} id={source.ref === undefined ? undefined : idOf(source.ref)}>
                {describeSource(source, language)}
              </li>
            ))}
          </ul>
        </div>
      )}
      {note === undefined ? null : <p className="page-export-note">{note}</p>}
    </section>
  );
}

/** Style of the exported file, which has no other resources. */
const STYLE = `:root{color-scheme:light dark}body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.6 system-ui,sans-serif}
h1{font-size:1.5rem}h2{margin:2rem 0 .5rem;font-size:1rem}h2 small,h3,.page-export-note{font-weight:400;font-size:.85rem;opacity:.7}
section[data-role=user]{padding:.25rem 1rem;border-left:3px solid #8886}pre{overflow:auto;padding:.75rem;background:#8881;white-space:pre-wrap}
table{border-collapse:collapse}td,th{padding:.25rem .5rem;border:1px solid #8886}img{max-width:100%}button{display:none}`;

/** Elements that only work on the page. */
const CONTROLS = "button, input:not([type=checkbox]), [hidden], script, style, iframe, object, embed";

/** Writes a conversation as one HTML file without scripts, styles of the page, or requests. */
export function writeHtml(conversation: ExportedConversation, language: UiLanguage): string {
  const target = document.createElement("div");
  const remove = renderConversation(conversation, language, target);
  for (const control of target.querySelectorAll(CONTROLS)) control.remove();
  const body = target.innerHTML;
  remove();
  const title = document.createElement("title");
  title.textContent = conversation.title;
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;
  return `<!doctype html>
<html lang="${language === "zh" ? "zh-CN" : "en"}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${policy}${title.outerHTML}<style>${STYLE}</style></head>
<body>${body}</body>
</html>
`;
}
