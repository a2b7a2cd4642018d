/**
 * Runs in Chromium: a conversation of ten thousand messages with a live run. Counts renders and elements, and measures
 * the scroll position.
 */
import { createRoot } from "react-dom/client";
import { createLoomReceiver } from "../../src/client/index.ts";
import { Conversation, UiProvider } from "../../src/react/index.ts";

export interface ConversationOutcome {
  readonly turns: number;
  /** Elements in the document at the end, and after scrolling through it. */
  readonly elements: readonly number[];
  /** Renders per message while tokens arrive. */
  readonly renders: { readonly [messageId: string]: number };
  readonly tokens: number;
  readonly streamed: string;
  /** Distance from the end: at first, while streaming, in a lower window, and after scrolling up. */
  readonly fromEnd: readonly number[];
  /** How far the visible content moved while tokens arrived below. */
  readonly moved: number;
  /** How far an opened part moved, and how much its row grew. */
  readonly opened: readonly [moved: number, grown: number];
  /** Whether focus was kept while scrolling away. */
  readonly isFocusKept: boolean;
  /** Frames of fast scrolling in which the visible part has no messages. */
  readonly blankFrames: number;
  readonly texts: readonly (string | undefined)[];
}

const SESSION = "long";
const TURNS = 5000;
const TOKENS = 60;

const receiver = createLoomReceiver();
const source = receiver.open({ dialect: "loom" });
let eventId = 0;
const send = (runId: string, frame: object): void =>
  source.push(
    JSON.stringify({ session_id: SESSION, run_id: runId, event_id: ++eventId, ts: 1000 + eventId, ...frame }),
  );

function begin(runId: string): void {
  send(runId, { type: "run_start", message: `question ${runId}`, agent: "react", contiguous: true });
  send(runId, { type: "node_enter", node_id: "run-think-1", id: "think" });
}

const say = (runId: string, content: string): void =>
  send(runId, { type: "message_chunk", node_id: "run-think-1", id: "think", content });

function sendTurn(runId: string, answer: string): void {
  const first = eventId + 1;
  begin(runId);
  say(runId, answer);
  send(runId, { type: "node_exit", node_id: "run-think-1", id: "think", result: "Ok" });
  const proof = { first_event_id: first, last_event_id: first + 5, frame_count: 6 };
  send(runId, { type: "run_end", status: "completed", summary: {}, ...proof });
  send(runId, { node_id: "run-think-1", reply: answer });
}

const renders: { [messageId: string]: number } = {};
let isCounting = false;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nextFrame = (): Promise<void> => new Promise((resolve) => void requestAnimationFrame(() => resolve()));
const settle = async (): Promise<void> => {
  for (let frames = 0; frames < 10; frames++) await nextFrame();
  await pause(50);
};

const scroller = (): Element => document.querySelector(".loom-conversation-scroller") as Element;
const fromEnd = (): number => {
  const { scrollHeight, scrollTop, clientHeight } = scroller();
  return scrollHeight - scrollTop - clientHeight;
};
const countElements = (): number => document.querySelectorAll("*").length;

async function stream(tokens: number): Promise<void> {
  for (let i = 0; i < tokens; i++) {
    say("live", i % 10 === 9 ? `word${i}\n\n` : `word${i} `);
    await nextFrame();
  }
  await settle();
}

/** Opens a collapsed part at the end of the last run. */
async function openThought(): Promise<readonly [moved: number, grown: number]> {
  send("live", { type: "reasoning_chunk", node_id: "run-think-1", id: "think", content: "hm\n\n".repeat(60) });
  say("live", "\n\nso it is");
  scroller().scrollTop = scroller().scrollHeight;
  await settle();
  const summary = [...document.querySelectorAll<HTMLElement>("[data-turn] [aria-expanded=false]")].at(-1);
  const { top = 0 } = summary?.getBoundingClientRect() ?? {};
  const before = scroller().scrollHeight;
  summary?.click();
  await settle();
  return [Math.abs((summary?.getBoundingClientRect().top ?? 1e6) - top), scroller().scrollHeight - before];
}

/** Scrolls by two screens per frame. Between two frames, as a user does: the next frame handles the event, then paints. */
async function countBlankFrames(): Promise<number> {
  let blank = 0;
  for (let frames = 0; frames < 40; frames++) {
    await pause(0);
    scroller().scrollTop -= 1400;
    await nextFrame();
    const box = scroller().getBoundingClientRect();
    const tops = [...document.querySelectorAll("[data-turn]")].map((turn) => turn.getBoundingClientRect());
    const shown = tops.filter(({ top, bottom }) => bottom > box.top && top < box.bottom);
    const reach = Math.max(...shown.map(({ bottom }) => bottom)) - Math.min(...shown.map(({ top }) => top));
    if (shown.length === 0 || reach < box.height * 0.8) blank++;
  }
  return blank;
}

async function run(): Promise<ConversationOutcome> {
  for (let i = 1; i <= TURNS; i++) sendTurn(`turn-${i}`, `answer ${i}\n\n${"a longer line of text. ".repeat(i % 7)}`);
  begin("live");
  say("live", "begin ");
  const root = document.getElementById("root") as HTMLElement;
  root.style.cssText = "display: flex; height: 700px";
  const count = (messageId: string): void => {
    if (isCounting) renders[messageId] = (renders[messageId] ?? 0) + 1;
  };
  createRoot(root).render(
    <UiProvider onRenderMessage={count}>
      <Conversation receiver={receiver} sessionId={SESSION} />
    </UiProvider>,
  );
  await settle();
  const distances = [fromEnd()];
  const elements = [countElements()];
  isCounting = true;
  await stream(TOKENS);
  isCounting = false;
  distances.push(fromEnd());
  root.style.height = "450px";
  await settle();
  distances.push(fromEnd());
  root.style.height = "700px";
  await settle();
  // The scroll position must not change while reading further up.
  scroller().scrollTop -= 3000;
  await settle();
  const top = scroller().getBoundingClientRect().top;
  const row = [...document.querySelectorAll("[data-turn]")].find((one) => one.getBoundingClientRect().top >= top);
  const before = row?.getBoundingClientRect().top ?? 0;
  const stood = fromEnd();
  await stream(20);
  const moved = Math.abs((row?.getBoundingClientRect().top ?? 1e6) - before);
  distances.push(stood);
  const opened = await openThought();
  const focused = [...document.querySelectorAll<HTMLElement>("[data-turn] button")].at(-1);
  focused?.focus();
  for (const place of [0, 0.25, 0.5, 0.75]) {
    scroller().scrollTop = scroller().scrollHeight * place;
    await settle();
    elements.push(countElements());
  }
  const isFocusKept = focused !== undefined && document.activeElement === focused;
  scroller().scrollTop = scroller().scrollHeight * 0.5;
  await settle();
  const blankFrames = await countBlankFrames();
  const turns = receiver.session(SESSION).getSnapshot()?.turns ?? [];
  const first = document.querySelector("[data-turn]")?.textContent ?? undefined;
  scroller().scrollTop = scroller().scrollHeight;
  await settle();
  return {
    turns: turns.length,
    elements,
    renders,
    tokens: TOKENS,
    streamed: turns.at(-1)?.messages.at(-1)?.messageId ?? "",
    fromEnd: distances,
    moved,
    opened,
    isFocusKept,
    blankFrames,
    texts: [first?.slice(0, 40), [...document.querySelectorAll("[data-turn]")].at(-1)?.textContent ?? undefined],
  };
}

(globalThis as { outcome?: unknown }).outcome = run();
