/** Renders Markdown blocks as React elements. */
import { memo, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { useWords } from "../ui/words.ts";
import { CodeBlock } from "./code-block.tsx";
import { HtmlFragment } from "./html-text.tsx";
import { buildInline } from "./inline-elements.tsx";
import { Footnote } from "./footnote.tsx";
import type { FootnoteToken, MathToken } from "./lex-markdown.ts";
import type { FeedBlock, ListBlock } from "./markdown-feed.ts";
import { MathText } from "./math-text.tsx";
import { TextTable } from "./text-link.tsx";
import { TEXT_WORDS } from "./text-words.ts";

/** Deeper blocks are shown as source. */
const MAX_DEPTH = 20;
/** Items of a list after which a new group begins. */
const GROUP = 100;

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
        <List isOrdered={block.isOrdered} start={block.start} isLong={countItems(block.pieces) > GROUP}>
          {groupPieces(block.pieces).map((pieces, index) => (
            <ItemGroup
              key={index}
              pieces={pieces}
              isFirst={index === 0}
              isLoose={block.isLoose}
              isOpen={isOpen && pieces.at(-1) === block.pieces.at(-1)}
            />
          ))}
        </List>
      );
    case "table":
      return (
        <TextTable>
          <Head cells={block.header} />
          {block.pieces.map((rows, index) => (
            <Rows key={index} rows={rows} />
          ))}
        </TextTable>
      );
    default:
      return block satisfies never;
  }
});

type ItemPieces = ListBlock["pieces"];

/** Groups that are full keep their pieces when the list grows. */
function groupPieces(pieces: ItemPieces): readonly ItemPieces[] {
  const groups: (readonly Tokens.ListItem[])[][] = [[]];
  let count = 0;
  for (const items of pieces) {
    if (count >= GROUP) {
      groups.push([]);
      count = 0;
    }
    groups.at(-1)?.push(items);
    count += items.length;
  }
  return groups;
}

function countItems(pieces: ItemPieces): number {
  return pieces.reduce((sum, items) => sum + items.length, 0);
}

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
          {rows.length === 0 ? null : <Rows rows={rows} />}
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
  /** Its items are in groups. Default: false. */
  readonly isLong?: boolean;
  readonly children: ReactNode;
}

function List({ isOrdered, start, isLong = false, children }: ListProps): ReactNode {
  // The explicit role says that the items inside groups belong to the list.
  const role = isLong ? "list" : undefined;
  return isOrdered ? (
    <ol dir="auto" start={start === 1 ? undefined : start} role={role}>
      {children}
    </ol>
  ) : (
    <ul dir="auto" role={role}>
      {children}
    </ul>
  );
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

interface ItemGroupProps {
  readonly pieces: ItemPieces;
  readonly isFirst: boolean;
  readonly isLoose: boolean;
  readonly isOpen: boolean;
}

/** Later groups are elements, so that the browser lays out and paints only the one that grows. */
const ItemGroup = memo(
  function ItemGroup({ pieces, isFirst, isLoose, isOpen }: ItemGroupProps): ReactNode {
    const shown = pieces.map((items, index) => (
      <Items key={index} items={items} isLoose={isLoose} isOpen={isOpen && index === pieces.length - 1} depth={0} />
    ));
    if (isFirst) return shown;
    return (
      <div className="loom-text-group" role="presentation">
        {shown}
      </div>
    );
  },
  (before, now) =>
    before.isLoose === now.isLoose &&
    before.isOpen === now.isOpen &&
    before.pieces.length === now.pieces.length &&
    before.pieces.every((items, index) => items === now.pieces[index]),
);

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

/** Each piece of a table has its own body, so that the browser lays out and paints only the one that grows. */
const Rows = memo(function Rows({ rows }: { readonly rows: readonly Tokens.TableCell[][] }): ReactNode {
  return (
    <tbody>
      {rows.map((cells, row) => (
        <tr key={row}>
          {cells.map((cell, index) => (
            <td key={index} data-align={cell.align ?? undefined}>
              {buildInline(cell.tokens)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
});
