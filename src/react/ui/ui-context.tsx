/**
 * `Ui`: what components need from the page around them: the language, the actions a user may take, and plugins loaded
 * on demand. Components fetch nothing themselves.
 */
import { type ComponentType, createContext, type ReactNode, use, useMemo } from "react";
import type { CommandResult, Reference, TurnView } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";

/** A supported UI language. */
export type UiLanguage = "en" | "zh";

/** Identifies an element of the page, to find the frames it came from. */
export interface ElementTarget {
  /** Key of the run, as in `TurnView.key`. */
  readonly turn: string;
  readonly kind: "turn" | "part" | "node" | "thought" | "graph-node";
  /** Key or ID of the element; empty for `turn`. */
  readonly key: string;
}

/** The user's answer to an approval request. */
export interface ApprovalResponse {
  readonly callId: string;
  readonly runId?: string | undefined;
  readonly decision: "approved" | "rejected";
  /** Digest of the approval request that the user saw, if it has one. */
  readonly digest?: string | undefined;
  /** The edited arguments; absent if unchanged. */
  readonly arguments?: JsonObject | undefined;
  /** Why the call was rejected; sent to the model. */
  readonly reason?: string | undefined;
}

/** The user's feedback about the answer of a run. */
export interface FeedbackResponse {
  readonly runId: string;
  readonly rating: "good" | "bad" | "none";
  readonly comment?: string | undefined;
}

/** A change to one item of a to-do list. */
export interface TodoChange {
  readonly listId: string;
  readonly itemId: string;
  readonly completed: boolean;
}

/** The versions of a conversation that differ from a run on, such as before and after the user edited its message. */
export interface RunVersions {
  /** Position of the shown version, from 1. */
  readonly position: number;
  readonly count: number;
  /** What differs first: the switcher is there. Default: the message. */
  readonly changed?: "message" | "answer";
  /** ID of the session with the previous version; absent if the first is shown. */
  readonly previous?: string;
  /** ID of the session with the next version; absent if the last is shown. */
  readonly next?: string;
}

/** Actions a user may take. Components hide the controls of actions that are not given. */
export interface UiActions {
  /** Sends the user's answer to an approval request. */
  approve?(answer: ApprovalResponse): Promise<CommandResult>;
  /** Allows all calls of a tool in the session, or ends that. */
  allowTool?(name: string, rule: "allow" | "ask"): Promise<CommandResult>;
  /** Rates the answer of a run; `none` removes the rating. */
  rate?(feedback: FeedbackResponse): Promise<CommandResult>;
  /** Ticks or unticks an item of a to-do list. */
  changeTodo?(change: TodoChange): Promise<CommandResult>;
  /** Sends the message of this run again. */
  retry?(turn: TurnView): void;
  /** Sends an edited message in a new session forked before this run. Resolves to whether it was sent. */
  edit?(turn: TurnView, text: string): Promise<boolean>;
  /** Opens the session with another version of the conversation, at the run where they differ. */
  openVersion?(sessionId: string, turnKey: string): void;
  /** Opens a source that an answer cites: its document, at the passage. */
  openSource?(source: Reference): void;
  /** Shows the frames an element came from. */
  inspect?(target: ElementTarget): void;
}

/** Props of a syntax highlighting plugin. */
export interface CodeProps {
  readonly code: string;
  /** Info string of the code fence; empty if there is none. */
  readonly language: string;
  /** False while the code streams. */
  readonly isComplete: boolean;
}

/** Props of a math plugin. */
export interface MathProps {
  /** TeX source without delimiters. */
  readonly source: string;
  /** True for display math, false for math within a line. */
  readonly isBlock: boolean;
}

/** Props of a chart plugin. */
export interface ChartProps {
  /** Vega-Lite specification with inline values. */
  readonly data: JsonObject;
  /** Text alternative for screen readers. */
  readonly title?: string | undefined;
  /** Reports that the chart cannot be drawn, with a readable reason. The data table is shown instead. */
  onFail?(reason: string): void;
}

/** Props of a plugin that draws the diagram of a code block in the language `mermaid`. */
export interface DiagramProps {
  readonly code: string;
  /** Renders the code block with `tools` in its head; `drawing` replaces the code. */
  readonly renderBlock: (tools?: ReactNode, drawing?: ReactNode) => ReactNode;
}

/** Props of a menu with further actions on a run. */
export interface TurnMenuProps {
  readonly turn: TurnView;
}

/** Components loaded on demand. Without a plugin its content is shown as plain text or a table. */
export interface UiPlugins {
  /** Syntax highlighting. */
  readonly Code?: ComponentType<CodeProps>;
  /** Math rendering. */
  readonly Math?: ComponentType<MathProps>;
  /** Chart drawing. */
  readonly Chart?: ComponentType<ChartProps>;
  /** Diagram drawing. */
  readonly Diagram?: ComponentType<DiagramProps>;
  /** Menu with further actions on a run, shown in its footer. */
  readonly TurnMenu?: ComponentType<TurnMenuProps>;
}

/** What the page provides to the components inside a `UiProvider`. */
export interface Ui {
  /** Language of all UI strings. Default: `en`. */
  readonly language: UiLanguage;
  /** Actions offered to the user. Default: none. */
  readonly actions: UiActions;
  /** Runs from which versions of the conversation differ, by key of the run. Default: none. */
  readonly versions?: ReadonlyMap<string, RunVersions>;
  /** Components loaded on demand. */
  readonly plugins: UiPlugins;
  /** Returns the proxy URL for a remote image; undefined blocks the image. Default: all remote images are blocked. */
  imageUrl(url: string): string | undefined;
  /** Returns the URL of a session's file. Without it, attachments show only their names. */
  blobUrl?(blobId: string): string | undefined;
  /** Loads a file of the session, if a request for it needs a token. Used for files without a `blobUrl`. */
  loadBlob?(blobId: string, signal: AbortSignal): Promise<Blob>;
  /** Key that sends an edited message. Shift and Enter always begin a new line. Default: `ctrl-enter`. */
  readonly sendKey?: "enter" | "ctrl-enter" | undefined;
  /** Current time in milliseconds. Default: the system clock. Pass a new function when the time changes. */
  now?(): number;
  /** Turns off screen reader announcements, for example in a replay. Default: false. */
  readonly isQuiet?: boolean;
  /** Called for every message that renders, for measurements. */
  onRenderMessage?(messageId: string): void;
}

const DEFAULT_UI: Ui = {
  language: "en",
  actions: {},
  plugins: {},
  // Blocked by default: loading an image would reveal the reader's address to the author of the answer.
  imageUrl: () => undefined,
};

const UiContext = createContext<Ui>(DEFAULT_UI);

/** Returns the `Ui` of the nearest provider, or the defaults. */
export function useUi(): Ui {
  return use(UiContext);
}

/** Provides `Ui` to the components inside. Defaults: English, no actions, no plugins, remote images blocked. */
export function UiProvider({ children, ...given }: Partial<Ui> & { readonly children: ReactNode }): ReactNode {
  const { language, actions, versions, plugins, imageUrl, blobUrl, loadBlob, sendKey, now, isQuiet, onRenderMessage } =
    given;
  // Memoized, so that a re-render of the parent does not re-render every component.
  const ui = useMemo(
    (): Ui => ({ ...DEFAULT_UI, ...given }),
    [language, actions, versions, plugins, imageUrl, blobUrl, loadBlob, sendKey, now, isQuiet, onRenderMessage],
  );
  return <UiContext value={ui}>{children}</UiContext>;
}
