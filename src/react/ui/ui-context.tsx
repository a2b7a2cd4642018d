/**
 * What every component may ask of the page it stands in: the language, what a user's action leads to, and the parts that
 * are too heavy to come with the first view. A component fetches nothing itself.
 */
import { type ComponentType, createContext, type ReactNode, use, useMemo } from "react";
import type { CommandOutcome, TurnView } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Language } from "./words.ts";

/** Something on the page that frames of the wire have made, to be found among them. */
export interface ElementPlace {
  readonly turn: string;
  readonly kind: "turn" | "part" | "node" | "thought" | "graph-node";
  /** The key or id of that kind; empty for the turn itself. */
  readonly key: string;
}

export interface ApprovalAnswer {
  readonly callId: string;
  readonly runId?: string | undefined;
  readonly decision: "approved" | "rejected";
  /** Of the question that was seen, where it has one. */
  readonly digest?: string | undefined;
  /** Where they were edited. */
  readonly arguments?: JsonObject | undefined;
  readonly reason?: string | undefined;
}

export interface TodoChange {
  readonly listId: string;
  readonly itemId: string;
  readonly completed: boolean;
}

/** What a user may do. What is not given is not offered. */
export interface UiActions {
  approve?(answer: ApprovalAnswer): Promise<CommandOutcome>;
  changeTodo?(change: TodoChange): Promise<CommandOutcome>;
  /** The same message once more. */
  retry?(turn: TurnView): void;
  /** Another message in place of this one, in a session of its own that shares what came before. Whether it was sent. */
  edit?(turn: TurnView, text: string): Promise<boolean>;
  /** Shows the frames something was made of. */
  inspect?(place: ElementPlace): void;
}

export interface CodeProps {
  readonly code: string;
  /** As it stands behind the fence; empty where there is none. */
  readonly language: string;
  readonly isComplete: boolean;
}

export interface MathProps {
  readonly source: string;
  readonly isBlock: boolean;
}

export interface ChartProps {
  /** A Vega-Lite specification, its values inside. */
  readonly data: JsonObject;
  /** What it shows, for those who do not see it. */
  readonly title?: string | undefined;
  /** It cannot be drawn, and why, for people; its numbers are shown instead. */
  onFail?(reason: string): void;
}

/** Loaded when first needed; without one its content is shown plainly. */
export interface UiPlugins {
  readonly Code?: ComponentType<CodeProps>;
  readonly Math?: ComponentType<MathProps>;
  readonly Chart?: ComponentType<ChartProps>;
}

export interface Ui {
  readonly language: Language;
  readonly actions: UiActions;
  readonly plugins: UiPlugins;
  /** Where an image from elsewhere is fetched instead: the server's proxy. Undefined: it is not shown. */
  imageUrl(url: string): string | undefined;
  /** Where a file of the session is, as a message names it. Without it files are shown by their names alone. */
  blobUrl?(blobId: string): string | undefined;
  /** The time it is, in milliseconds; that of the clock unless given. Another function is another time. */
  now?(): number;
  /** Nothing is announced: what is shown is not going on. */
  readonly isQuiet?: boolean;
  /** Called for each message that is rendered, for those who count. */
  onRenderMessage?(messageId: string): void;
}

const PLAIN: Ui = {
  language: "en",
  actions: {},
  plugins: {},
  // Without a proxy nothing is fetched from elsewhere: whoever writes the answer must not learn who reads it.
  imageUrl: () => undefined,
};

const UiContext = createContext<Ui>(PLAIN);

export function useUi(): Ui {
  return use(UiContext);
}

/** What is not given is as it is without: English, nothing can be done, nothing is loaded from elsewhere. */
export function UiProvider({ children, ...given }: Partial<Ui> & { readonly children: ReactNode }): ReactNode {
  const { language, actions, plugins, imageUrl, blobUrl, now, isQuiet, onRenderMessage } = given;
  // The same while all that is in it is: else whoever renders this would render every component within.
  const ui = useMemo(
    (): Ui => ({ ...PLAIN, ...given }),
    [language, actions, plugins, imageUrl, blobUrl, now, isQuiet, onRenderMessage],
  );
  return <UiContext value={ui}>{children}</UiContext>;
}
