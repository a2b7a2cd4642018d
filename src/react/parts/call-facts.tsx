/** The exact tool of a call: its name, and the MCP server that has it. */
import type { ReactNode } from "react";
import type { ToolCall } from "../../client/index.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { defineWords, useWords } from "../ui/words.ts";
import { revealHidden } from "./reveal-hidden.ts";

const WORDS = defineWords({
  en: { tool: "Tool", server: "Server", claims: "The title is this server’s own description." },
  zh: { tool: "工具", server: "服务器", claims: "标题是该服务器自己的说明。" },
});

const MAX_NAME = 100;

export interface CallFactsProps {
  readonly call: Pick<ToolCall, "toolName" | "server" | "description">;
  /** Further `CallFact`s. */
  readonly children?: ReactNode;
}

export function CallFacts({ call: { toolName, server, description = "" }, children }: CallFactsProps): ReactNode {
  const words = useWords(WORDS);
  return (
    <dl className="loom-arguments-list">
      {toolName === "" ? null : <CallFact name={words.tool} value={revealHidden(cutText(toolName, MAX_NAME))} />}
      {server === undefined ? null : (
        <CallFact
          name={words.server}
          value={revealHidden(cutText(server, MAX_NAME))}
          note={description === "" ? undefined : words.claims}
        />
      )}
      {children}
    </dl>
  );
}

export interface CallFactProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
}

export function CallFact({ name, value, note }: CallFactProps): ReactNode {
  return (
    <div className="loom-argument">
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
        {note === undefined ? null : <div className="loom-arguments-note">{note}</div>}
      </dd>
    </div>
  );
}
