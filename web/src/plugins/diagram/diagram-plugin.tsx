/**
 * Draws the diagram of a Mermaid code block. A sandboxed frame computes it; the page shows the result as an image, which
 * cannot run scripts or load anything. Loaded with the first such block; the frame starts when a block comes near the
 * view.
 */
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button, type DiagramProps } from "loom-agent/react";
import {
  defineWords,
  ImageViewer,
  Spinner,
  useCachedState,
  useUi,
  useWords,
} from "../../../../src/react/page-parts.ts";
import {
  type DiagramDrawing,
  type DiagramOutcome,
  type DiagramRequest,
  MAX_SOURCE,
  readDiagramOutcome,
} from "../../diagram-frame/diagram-messages.ts";
import { readChartStyle } from "../chart/chart-style.ts";
import { createDrawingQueue, type DrawingFailure, type Renderer, type RendererEvents } from "../drawing-queue.ts";
import { useTheme } from "../use-theme.ts";

const WORDS = defineWords({
  en: {
    diagram: "Diagram",
    code: "Code",
    show: "Show as",
    drawing: "Drawing diagram…",
    view: (name: string) => `View ${name}`,
    named: (name: string) => (name === "" ? "Diagram" : `Diagram: ${name}`),
    too_large: "Diagram not drawn: too large.",
    timeout: "Diagram not drawn: timed out.",
    unavailable: "Diagram not drawn: failed to load.",
    invalid: (why: string) => `Diagram not drawn${why === "" ? "." : `: ${why}`}`,
    line: (line: string) => `syntax error in line ${line}.`,
  },
  zh: {
    diagram: "图",
    code: "代码",
    show: "显示方式",
    drawing: "正在绘制…",
    view: (name: string) => `查看${name}`,
    named: (name: string) => (name === "" ? "图" : `图：${name}`),
    too_large: "未绘制：图过大。",
    timeout: "未绘制：超时。",
    unavailable: "未绘制：加载失败。",
    invalid: (why: string) => `未绘制${why === "" ? "。" : `：${why}`}`,
    line: (line: string) => `第 ${line} 行有语法错误。`,
  },
});

type DiagramResult = DiagramOutcome | DrawingFailure;

const queue = createDrawingQueue({ create: createDiagramFrame, drawMs: 8000 });

const MAX_KEPT = 50;
/** By style and source, oldest first, so that a diagram scrolled back into view is drawn at once. */
const kept = new Map<string, DiagramResult>();

function keep(key: string, result: DiagramResult): void {
  kept.set(key, result);
  const oldest = kept.keys().next();
  if (kept.size > MAX_KEPT && oldest.done !== true) kept.delete(oldest.value);
}

export function Diagram({ code, renderBlock }: DiagramProps): ReactNode {
  const words = useWords(WORDS);
  const tools = useRef<HTMLSpanElement>(null);
  const [view, setView] = useCachedState<"diagram" | "code">(`diagram ${code}`, "diagram");
  const result = useDiagram(code, tools);
  if (result === undefined || "failure" in result)
    return renderBlock(
      <span className="page-diagram-tools" ref={tools} role="status">
        {result === undefined ? (
          <>
            <Spinner /> {words.drawing}
          </>
        ) : (
          describeFailure(result, words)
        )}
      </span>,
    );
  const choose = (
    <span className="page-diagram-tools" ref={tools} role="group" aria-label={words.show}>
      {(["diagram", "code"] as const).map((each) => (
        <Button key={each} aria-pressed={view === each} onClick={() => setView(each)}>
          {words[each]}
        </Button>
      ))}
    </span>
  );
  return view === "code" ? renderBlock(choose) : renderBlock(choose, <Drawing {...result} />);
}

function describeFailure(result: Exclude<DiagramResult, DiagramDrawing>, words: (typeof WORDS)["en"]): string {
  if (result.failure !== "invalid") return words[result.failure];
  const line = /^(?:Parse|Lexical) error on line (\d+)/.exec(result.message)?.[1];
  return words.invalid(line === undefined ? result.message : words.line(line));
}

function Drawing({ svg, width, height, name }: DiagramDrawing): ReactNode {
  const words = useWords(WORDS);
  const [isViewed, setViewed] = useState(false);
  const source = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  const title = words.named(name);
  return (
    <div className="page-diagram">
      <button type="button" aria-haspopup="dialog" title={words.view(title)} onClick={() => setViewed(true)}>
        <img src={source} alt={title} width={width} height={height} />
      </button>
      {isViewed ? <ImageViewer url="" source={source} name={title} onClose={() => setViewed(false)} /> : null}
    </div>
  );
}

/** Undefined until the diagram is drawn or has failed. `element` shows whether the block is near the view. */
function useDiagram(source: string, element: RefObject<HTMLElement | null>): DiagramResult | undefined {
  const { language } = useUi();
  const theme = useTheme();
  const isNear = useIsNear(element);
  const [result, setResult] = useState<DiagramResult | undefined>(
    source.length > MAX_SOURCE ? { failure: "too_large" } : undefined,
  );
  useLayoutEffect(() => {
    if (element.current === null || source.length > MAX_SOURCE) return undefined;
    const controller = new AbortController();
    const { width: _, language: __, ...colors } = readChartStyle(element.current, 0, language);
    const style = { ...colors, isDark: isDarkColor(colors.paper) };
    const key = `${JSON.stringify(style)}\n${source}`;
    const known = kept.get(key);
    if (known !== undefined) setResult(known);
    else if (isNear)
      queue.request({ source, style }, controller.signal, (next) => {
        // Loading may succeed later.
        if (!("failure" in next) || next.failure !== "unavailable") keep(key, next);
        setResult(next);
      });
    return () => controller.abort();
  }, [source, isNear, theme, language, element]);
  return result;
}

/** Tells a dark background, in the form that browsers compute: `rgb(0, 0, 0)`. */
function isDarkColor(color: string): boolean {
  const [red = 255, green = 255, blue = 255] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return red + green + blue < 384;
}

const NEAR = "600px";

function useIsNear(element: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (element.current === null || isNear) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true);
      },
      { rootMargin: NEAR },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, isNear]);
  return isNear;
}

/**
 * The frame that draws diagrams. It is sandboxed without `allow-same-origin`, so its scripts cannot reach the page, and
 * the page accepts only messages of the expected form from this frame.
 */
function createDiagramFrame({ onMessage, onError }: RendererEvents<DiagramOutcome>): Renderer<DiagramRequest> {
  const frame = document.createElement("iframe");
  let number = 0;
  const receive = ({ source, origin, data }: MessageEvent<unknown>): void => {
    if (source !== frame.contentWindow || origin !== "null") return;
    if (data === "ready") return onMessage(data);
    const message = readDiagramOutcome(data);
    // Late outcomes have another number.
    if (message?.number !== number) return;
    onMessage(message);
  };
  addEventListener("message", receive);
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = new URL("assets/diagram-frame.html", document.baseURI).href;
  frame.className = "page-diagram-frame";
  frame.title = "Mermaid";
  frame.inert = true;
  frame.ariaHidden = "true";
  frame.tabIndex = -1;
  frame.addEventListener("error", onError);
  document.body.append(frame);
  return {
    // A sandboxed frame has no origin to name; the policy of the page loads only its own documents into frames.
    send: (request) => frame.contentWindow?.postMessage({ ...request, number: ++number }, "*"),
    end() {
      removeEventListener("message", receive);
      frame.remove();
    },
  };
}
