/** Renders Markdown blocks as React elements. */
import { memo, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { useWords } from "../ui/words.ts";
import { CodeBlock } from "./code-block.tsx";
import { HtmlFragment } from "./html-text.tsx";
import { buildInline } from "./inline-elements.tsx";
import { Footnote } from "./footnote.tsx";
import type { FootnoteToken, MathToken } from "./lex-markdown.ts";
import type { FeedBlock } from "./markdown-feed.ts";
import { MathText } from "./math-text.tsx";
import { TextTable } from "./text-table.tsx";
import { TEXT_WORDS } from "./text-words.ts";

/** Deeper blocks are shown as source. */
const MAX_DEPTH = 20;

export interface MarkdownBlockProps {
  readonly block: FeedBlock;
  /** More content may follow. */
  readonly isOpen: boolean;
}

export const MarkdownBlock = memo(function MarkdownBlock({ block, isOpen }: MarkdownBlockProps): ReactNode {
  switch (block.kind) {
    case "token":
      return buildBlock(block.token, 0, { depth: 0, isOpen });
    case "code":
      return <CodeBlock code={block.text} language={block.language} isComplete={false} />;
    case "list":
      return (
        <List isOrdered={block.isOrdered} start={block.start}>
          {block.pieces.map((items, index) => (
            <Items
              key={index}
              items={items}
              isLoose={block.isLoose}
              isOpen={isOpen && index === block.pieces.length - 1}
              depth={0}
            />
          ))}
        </List>
      );
    case "table":
      return (
        <TextTable>
          <Head cells={block.header} />
          <tbody>
            {block.pieces.map((rows, index) => (
              <Rows key={index} rows={rows} />
            ))}
          </tbody>
        </TextTable>
      );
    default:
      return block satisfies never;
  }
});

interface BlockContext {
  readonly depth: number;
  readonly isOpen: boolean;
}

function buildBlocks(tokens: readonly Token[], context: BlockContext): ReactNode[] {
  const last = tokens.length - 1;
  return tokens.map((token, index) =>
    buildBlock(token, index, { ...context, isOpen: context.isOpen && index === last }),
  );
}

function buildBlock(token: Token, key: number, context: BlockContext): ReactNode {
  if (context.depth > MAX_DEPTH) return <p key={key}>{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "paragraph":
      return <p key={key}>{buildInline((token as Tokens.Paragraph).tokens)}</p>;
    case "text":
      return <span key={key}>{buildInline(token.tokens ?? [token])}</span>;
    case "heading":
      return <Heading key={key} token={token as Tokens.Heading} />;
    case "hr":
      return <hr key={key} />;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock key={key} code={text} language={lang} isComplete={!context.isOpen} />;
    }
    case "blockquote":
      return (
        <blockquote key={key}>
          {buildBlocks((token as Tokens.Blockquote).tokens, { ...context, depth: context.depth + 1 })}
        </blockquote>
      );
    case "list": {
      const { ordered, start, loose, items } = token as Tokens.List;
      return (
        <List key={key} isOrdered={ordered} start={start === "" ? 1 : start}>
          <Items items={items} isLoose={loose} isOpen={context.isOpen} depth={context.depth + 1} />
        </List>
      );
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <TextTable key={key}>
          <Head cells={header} />
          <tbody>
            <Rows rows={rows} />
          </tbody>
        </TextTable>
      );
    }
    case "html":
      return <HtmlFragment key={key} html={(token as Tokens.HTML).text} />;
    case "footnote": {
      const { label, tokens } = token as unknown as FootnoteToken;
      return (
        <Footnote key={key} label={label}>
          {buildInline(tokens)}
        </Footnote>
      );
    }
    case "math": {
      const { source, isBlock } = token as unknown as MathToken;
      return <MathText key={key} source={source} isBlock={isBlock} isComplete={!context.isOpen} />;
    }
    default:
      return <p key={key}>{token.raw}</p>;
  }
}

/**
 * Heading levels start at 2, below the heading of the page. Most answers start with level 2, so levels 1 and 2 share
 * it.
 */
function Heading({ token }: { readonly token: Tokens.Heading }): ReactNode {
  const Tag = (["h2", "h2", "h3", "h4", "h5"] as const)[token.depth - 1] ?? "h6";
  return <Tag className={`loom-heading-${Math.min(token.depth, 4)}`}>{buildInline(token.tokens)}</Tag>;
}

interface ListProps {
  readonly isOrdered: boolean;
  readonly start: number;
  readonly children: ReactNode;
}

function List({ isOrdered, start, children }: ListProps): ReactNode {
  return isOrdered ? <ol start={start === 1 ? undefined : start}>{children}</ol> : <ul>{children}</ul>;
}

interface ItemsProps {
  readonly items: readonly Tokens.ListItem[];
  readonly isLoose: boolean;
  readonly isOpen: boolean;
  readonly depth: number;
}

const Items = memo(function Items({ items, isLoose, isOpen, depth }: ItemsProps): ReactNode {
  const last = items.length - 1;
  return items.map((item, index) => (
    <Item key={index} item={item} isLoose={isLoose} context={{ depth, isOpen: isOpen && index === last }} />
  ));
});

interface ItemProps {
  readonly item: Tokens.ListItem;
  readonly isLoose: boolean;
  readonly context: BlockContext;
}

function Item({ item, isLoose, context }: ItemProps): ReactNode {
  const words = useWords(TEXT_WORDS);
  // A piece of a list cannot know whether the whole list is loose, so the token type is set here.
  const type = isLoose ? "paragraph" : "text";
  const tokens = item.tokens.map((token) =>
    token.type === "text" || token.type === "paragraph" ? { ...token, type } : token,
  );
  const isDone = item.checked === true;
  return (
    <li className={item.task ? "loom-task" : undefined}>
      {item.task ? (
        <input type="checkbox" disabled readOnly checked={isDone} aria-label={isDone ? words.done : words.notDone} />
      ) : null}
      {buildBlocks(tokens, context)}
    </li>
  );
}

function Head({ cells }: { readonly cells: readonly Tokens.TableCell[] }): ReactNode {
  return (
    <thead>
      <tr>
        {cells.map((cell, index) => (
          <th key={index} scope="col" data-align={cell.align ?? undefined}>
            {buildInline(cell.tokens)}
          </th>
        ))}
      </tr>
    </thead>
  );
}

const Rows = memo(function Rows({ rows }: { readonly rows: readonly Tokens.TableCell[][] }): ReactNode {
  return rows.map((cells, row) => (
    <tr key={row}>
      {cells.map((cell, index) => (
        <td key={index} data-align={cell.align ?? undefined}>
          {buildInline(cell.tokens)}
        </td>
      ))}
    </tr>
  ));
});
