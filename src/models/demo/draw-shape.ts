/** Draws one simple shape as SVG. It uses only fixed texts, so the words of a user never get into the image. */
import type { Say } from "./language.ts";

const SHAPES = [
  [/circle|sun|圆|太阳/i, "circle", "圆", `circle cx="50" cy="50" r="40"`],
  [/square|box|正方形|方块/i, "square", "正方形", `rect x="12" y="12" width="76" height="76"`],
  [/triangle|三角/i, "triangle", "三角形", `polygon points="50,10 92,88 8,88"`],
  [/star|星/i, "star", "星星", `polygon points="50,6 61,38 95,38 68,58 78,92 50,71 22,92 32,58 5,38 39,38"`],
] as const;

const COLOURS = [
  [/\bred\b|红/i, "red", "红色", "#d62828"],
  [/\byellow\b|黄/i, "yellow", "黄色", "#f5c518"],
  [/\bgreen\b|绿/i, "green", "绿色", "#2e8b57"],
  [/\bblue\b|蓝/i, "blue", "蓝色", "#1d6fd1"],
  [/./, "grey", "灰色", "#8d99ae"],
] as const;

/** The first shape and colour that the words name; undefined without a shape. */
export function drawShape(words: string, say: Say): { readonly svg: string; readonly alt: string } | undefined {
  const [, shape, shapeZh, element] = SHAPES.find(([names]) => names.test(words)) ?? [];
  const [, colour, colourZh, fill] = COLOURS.find(([names]) => names.test(words)) ?? [];
  if (shape === undefined) return undefined;
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="200" height="200"><${element} fill="${fill}"/></svg>`,
    alt: say(`a ${colour} ${shape}`, `${colourZh}的${shapeZh}`),
  };
}
