/**
 * Chart plugin. A worker computes the chart from a Vega-Lite specification; the page draws it in the colors of the
 * theme. The worker and its libraries are loaded with the first chart.
 */
import {
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { JsonObject } from "loom-agent/protocol";
import {
  type ChartProps,
  defineWords,
  Spinner,
  useHiddenSides,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { readChartStyle } from "./chart/chart-style.ts";
import type { ChartOutcome } from "./chart/compute-chart.ts";
import { createChartWorker } from "./chart/create-chart-worker.ts";
import type { OmittedPart } from "./chart/harden-specification.ts";
import type { SvgElement } from "./chart/read-svg.ts";
import { createDrawingQueue, type DrawingFailure } from "./drawing-queue.ts";
import { useTheme } from "./use-theme.ts";

const SVG = "http://www.w3.org/2000/svg";
const SETTLE_MS = 150;

const WORDS = defineWords({
  en: {
    drawing: "Drawing chart…",
    scroll: "Chart, scrollable",
    fetch: "External data and images were removed.",
    link: "Links were removed.",
    generate: "Generated data was removed: too many rows.",
    too_large: "the specification is too large.",
    too_many: "too many elements. See the data below.",
    no_data: "external data is not loaded.",
    timeout: "drawing timed out.",
    unavailable: "the chart library failed to load.",
    invalid: (why: string) => `invalid specification${why === "" ? "" : ` (${why})`}.`,
  },
  zh: {
    drawing: "正在绘制图表…",
    scroll: "图表，可滚动",
    fetch: "已移除外部数据和图片。",
    link: "已移除链接。",
    generate: "已移除自动生成的数据：行数过多。",
    too_large: "图表定义过大。",
    too_many: "元素过多，请查看下方数据。",
    no_data: "不加载外部数据。",
    timeout: "绘制超时。",
    unavailable: "图表库加载失败。",
    invalid: (why: string) => `图表定义无效${why === "" ? "" : `（${why}）`}。`,
  },
});

type ChartResult = ChartOutcome | DrawingFailure;

const queue = createDrawingQueue({ create: createChartWorker });

/** Results by specification, so that a chart scrolled back into view is drawn at once. */
const drawn = new WeakMap<JsonObject, { readonly key: string; readonly result: ChartResult }>();

export function Chart(props: ChartProps): ReactNode {
  const { data, title } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  useHiddenSides(scroller);
  const prefix = useId();
  const width = useWidth(frame);
  const theme = useTheme();
  const [result, setResult] = useState(() => drawn.get(data)?.result);
  const [isScrolled, setScrolled] = useState(false);
  // Charts of several views keep their widths and are scaled; others were drawn for the width of the page or a wider one.
  const isWide = result !== undefined && "drawing" in result && result.isWide;
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (frame.current === null || width === 0) return undefined;
    const controller = new AbortController();
    const style = readChartStyle(frame.current, width, language);
    const key = JSON.stringify(style);
    const known = drawn.get(data);
    if (known?.key === key) setResult(known.result);
    else
      queue.request({ specification: data, style }, controller.signal, (next) => {
        // Loading may succeed later.
        if (!("failure" in next) || next.failure !== "unavailable") drawn.set(data, { key, result: next });
        setResult(next);
      });
    return () => controller.abort();
  }, [data, width, theme, language]);

  useLayoutEffect(() => {
    if (result === undefined) return;
    if ("drawing" in result) {
      canvas.current?.replaceChildren(buildSvg(result.drawing, prefix));
      const { scrollWidth = 0, clientWidth = 0, scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
      setScrolled(scrollWidth > clientWidth || scrollHeight > clientHeight);
    } else
      latest.current.onFail?.(
        result.failure === "invalid" ? words.invalid(result.message ?? "") : words[result.failure],
      );
  }, [result, prefix, words]);

  return (
    <div className="loom-chart-drawing" ref={frame} data-drawn={result !== undefined}>
      {result === undefined ? (
        <p className="loom-data-note">
          <Spinner /> {words.drawing}
        </p>
      ) : null}
      <ChartHints>
        <div
          className="loom-chart-scroller"
          ref={scroller}
          data-wide={isWide}
          {...(isScrolled ? { tabIndex: 0, role: "group", "aria-label": words.scroll } : {})}
        >
          <div role="img" aria-label={title} ref={canvas} className="loom-chart-canvas" />
        </div>
      </ChartHints>
      {result !== undefined && "omitted" in result ? <Notes omitted={result.omitted} /> : null}
    </div>
  );
}

function Notes({ omitted }: { readonly omitted: readonly OmittedPart[] }): ReactNode {
  const words = useWords(WORDS);
  return omitted.map((what) => (
    <p key={what} className="loom-data-note">
      {words[what]}
    </p>
  ));
}

interface ChartHint {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly isLeft: boolean;
}

/** Shows the values of the mark under the pointer. Without a pointer, the table has the same values. */
function ChartHints({ children }: { readonly children: ReactNode }): ReactNode {
  const [hint, setHint] = useState<ChartHint>();
  const point = (event: PointerEvent<HTMLDivElement>): void => {
    const mark = event.target instanceof Element ? event.target.closest<SVGElement>("[data-said]") : null;
    const text = mark?.dataset["said"];
    const { left, top, width } = event.currentTarget.getBoundingClientRect();
    const x = event.clientX - left;
    setHint(text === undefined ? undefined : { text, x, y: event.clientY - top, isLeft: x > width / 2 });
  };
  return (
    <div className="loom-chart-hints" onPointerMove={point} onPointerLeave={() => setHint(undefined)}>
      {children}
      {hint === undefined ? null : (
        <span
          className="loom-chart-hint"
          aria-hidden="true"
          style={{ left: hint.x, top: hint.y, translate: hint.isLeft ? "calc(-100% - 12px) -50%" : "12px -50%" }}
        >
          {hint.text.replaceAll("; ", "\n")}
        </span>
      )}
    </div>
  );
}

/** Builds SVG elements from a parsed drawing. No text is parsed as markup. `prefix` keeps IDs of several drawings apart. */
function buildSvg({ tag, attributes, children }: SvgElement, prefix: string): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === "aria-label") element.dataset["said"] = value;
    else if (name === "id") element.setAttribute(name, prefix + value);
    else
      element.setAttribute(
        name,
        value.replace(/^url\(#/, () => `url(#${prefix}`),
      );
  for (const child of children) element.append(typeof child === "string" ? child : buildSvg(child, prefix));
  return element;
}

/** Returns the width of an element, updated after resizing has settled: each new width redraws the chart. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(([entry]) => {
      const next = Math.floor(entry?.contentRect.width ?? 0);
      clearTimeout(timer);
      timer = setTimeout(() => setWidth(next), SETTLE_MS);
    });
    observer.observe(element.current);
    setWidth(Math.floor(element.current.clientWidth));
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [element]);
  return width;
}
