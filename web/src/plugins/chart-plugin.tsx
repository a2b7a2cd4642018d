/**
 * Charts of the page: computed beside it from a Vega-Lite specification, drawn here in the colours of the theme. Nothing
 * heavy comes with it: the worker is loaded when the first chart is there to be seen.
 */
import { type PointerEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { JsonObject } from "loom-agent/protocol";
import { type ChartProps, defineWords, Spinner, useUi, useWords } from "loom-agent/react";
import { buildSvg } from "./chart/build-svg.ts";
import { type ChartResult, createChartQueue } from "./chart/chart-queue.ts";
import { readLook } from "./chart/chart-look.ts";
import { createChartWorker } from "./chart/create-chart-worker.ts";
import type { LeftOut } from "./chart/harden-specification.ts";
import { useTheme } from "./chart/use-theme.ts";
import { useWidth } from "./chart/use-width.ts";

const WORDS = defineWords({
  en: {
    drawing: "The chart is being drawn",
    fetch: "Data or images of elsewhere were left out: nothing is fetched.",
    link: "Links were left out.",
    generate: "Rows that were to be made up were left out: there were too many.",
    too_large: "its specification is too large.",
    too_many: "there is more to draw than can be seen. All numbers are below.",
    no_data: "its data is elsewhere, and nothing is fetched.",
    timeout: "it took too long.",
    unavailable: "what draws charts could not be loaded.",
    invalid: (why: string) => `its specification is not valid${why === "" ? "" : ` (${why})`}.`,
  },
  zh: {
    drawing: "正在绘制图表",
    fetch: "已忽略外部数据或图片：页面不会从外部获取内容。",
    link: "已忽略其中的链接。",
    generate: "已忽略自动生成的数据：行数过多。",
    too_large: "图表定义过大。",
    too_many: "要绘制的内容过多，全部数据见下方表格。",
    no_data: "数据位于外部，页面不会从外部获取内容。",
    timeout: "绘制耗时过长。",
    unavailable: "绘图组件加载失败。",
    invalid: (why: string) => `图表定义无效${why === "" ? "" : `（${why}）`}。`,
  },
});

const queue = createChartQueue({ createWorker: createChartWorker });

/** By specification, so that a chart that is scrolled out of sight and back is there at once. */
const drawn = new WeakMap<JsonObject, { readonly key: string; readonly result: ChartResult }>();

export function Chart(props: ChartProps): ReactNode {
  const { data, title } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const width = useWidth(frame);
  const theme = useTheme();
  const [result, setResult] = useState(() => drawn.get(data)?.result);
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (frame.current === null || width === 0) return undefined;
    const withdrawal = new AbortController();
    const look = readLook(frame.current, width, language);
    const key = JSON.stringify(look);
    const known = drawn.get(data);
    if (known?.key === key) setResult(known.result);
    else
      queue.request({ specification: data, look }, withdrawal.signal, (next) => {
        // What could not be loaded now may be later.
        if (!("failure" in next) || next.failure !== "unavailable") drawn.set(data, { key, result: next });
        setResult(next);
      });
    return () => withdrawal.abort();
  }, [data, width, theme, language]);

  useLayoutEffect(() => {
    if (result === undefined) return;
    if ("drawing" in result) canvas.current?.replaceChildren(buildSvg(result.drawing, prefix));
    else
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
      <Hints>
        <div role="img" aria-label={title} ref={canvas} className="loom-chart-canvas" />
      </Hints>
      {result !== undefined && "leftOut" in result ? <Notes leftOut={result.leftOut} /> : null}
    </div>
  );
}

function Notes({ leftOut }: { readonly leftOut: readonly LeftOut[] }): ReactNode {
  const words = useWords(WORDS);
  return leftOut.map((what) => (
    <p key={what} className="loom-data-note">
      {words[what]}
    </p>
  ));
}

interface Hint {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly isLeft: boolean;
}

/** Says of the mark under the pointer what it stands for; the table beside the chart says it to everybody else. */
function Hints({ children }: { readonly children: ReactNode }): ReactNode {
  const [hint, setHint] = useState<Hint>();
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
