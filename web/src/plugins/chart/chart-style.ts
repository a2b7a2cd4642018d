/** Chart style from the page: theme colors, font and language. */
import type { JsonObject } from "loom-agent/protocol";
import type { UiLanguage } from "loom-agent/react";

export interface ChartStyle {
  readonly width: number;
  readonly language: UiLanguage;
  readonly font: string;
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly strong: string;
  readonly paper: string;
  /** Start of single-color scales. */
  readonly wash: string;
  readonly series: readonly string[];
}

const SERIES = 8;
/** Legend width per entry, in pixels. */
const LEGEND_PX = 130;
const CHINESE_TIME = {
  dateTime: "%Y年%-m月%-d日 %H:%M:%S",
  date: "%Y/%-m/%-d",
  time: "%H:%M:%S",
  periods: ["上午", "下午"],
  days: ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
  shortDays: ["周日", "周一", "周二", "周三", "周四", "周五", "周六"],
  months: ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"],
  shortMonths: ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
};

/** Resolves the CSS tokens at this element. A token may have a value per theme. */
export function readChartStyle(element: HTMLElement, width: number, language: UiLanguage): ChartStyle {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const computed = getComputedStyle(probe);
  const read = (token: string): string => {
    probe.style.color = `var(${token})`;
    return computed.color;
  };
  const style: ChartStyle = {
    width,
    language,
    font: computed.fontFamily,
    ink: read("--loom-ink"),
    soft: read("--loom-ink-soft"),
    line: read("--loom-line"),
    strong: read("--loom-line-strong"),
    paper: read("--loom-paper"),
    wash: read("--loom-accent-wash"),
    series: Array.from({ length: SERIES }, (_, index) => read(`--loom-chart-${index + 1}`)),
  };
  probe.remove();
  return style;
}

export function toVegaConfig({
  width,
  language,
  font,
  ink,
  soft,
  line,
  strong,
  paper,
  wash,
  series,
}: ChartStyle): JsonObject {
  const main = series[0] ?? ink;
  const text = { labelColor: soft, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
  return {
    background: "transparent",
    font,
    padding: 4,
    view: { stroke: null },
    mark: { color: main },
    text: { color: ink, fontSize: 12 },
    bar: { cornerRadiusEnd: 2 },
    line: { strokeWidth: 2 },
    point: { size: 45 },
    arc: { stroke: paper, strokeWidth: 1.5 },
    rule: { color: soft },
    title: { color: ink, subtitleColor: soft, anchor: "start", fontSize: 14 },
    axis: {
      ...text,
      gridColor: line,
      domainColor: strong,
      tickColor: strong,
      labelLimit: 180,
      labelOverlap: true,
      labelFlush: false,
      labelSeparation: 8,
    },
    axisX: { grid: false },
    header: { labelColor: ink, titleColor: soft },
    legend: {
      ...text,
      orient: "bottom",
      columns: Math.max(1, Math.floor(width / LEGEND_PX)),
      symbolLimit: 24,
      labelLimit: 120,
    },
    range: { category: [...series], ramp: [wash, main], heatmap: [wash, main], ordinal: [wash, main] },
    ...(language === "zh" ? { locale: { time: CHINESE_TIME } } : {}),
  };
}
