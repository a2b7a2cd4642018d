/**
 * Draws simple shapes as SVG, side by side, each in a square of 100 units. It accepts only fixed names, so user input
 * never gets into the image.
 */

export interface Drawing {
  readonly shape: DrawnShape;
  readonly colour: Colour;
}

const SHAPES = {
  circle: (fill) => `<circle cx="50" cy="50" r="40" fill="${fill}"/>`,
  square: (fill) => `<rect x="12" y="12" width="76" height="76" fill="${fill}"/>`,
  rectangle: (fill) => `<rect x="6" y="26" width="88" height="48" fill="${fill}"/>`,
  triangle: (fill) => `<polygon points="50,10 92,88 8,88" fill="${fill}"/>`,
  star: (fill) => `<polygon points="50,6 61,38 95,38 68,58 78,92 50,71 22,92 32,58 5,38 39,38" fill="${fill}"/>`,
  heart: (fill) =>
    `<path d="M50 88 C10 60 6 36 22 22 C36 11 48 20 50 32 C52 20 64 11 78 22 C94 36 90 60 50 88 Z" fill="${fill}"/>`,
  house: (fill) =>
    `<rect x="20" y="45" width="60" height="45" fill="${fill}"/><polygon points="50,12 90,47 10,47" fill="#8a3b2b"/>` +
    `<rect x="43" y="64" width="14" height="26" fill="#5b3a1e"/><rect x="27" y="54" width="12" height="12" fill="#cfe8ff"/>` +
    `<rect x="61" y="54" width="12" height="12" fill="#cfe8ff"/>`,
  tree: (fill) =>
    `<rect x="44" y="60" width="12" height="32" fill="#6b4423"/><circle cx="50" cy="38" r="30" fill="${fill}"/>`,
  sun: (fill) =>
    `<circle cx="50" cy="50" r="22" fill="${fill}"/><path d="M50 6V20M50 80V94M6 50H20M80 50H94M19 19L29 29M71 71L81 81M81 19L71 29M29 71L19 81" stroke="${fill}" stroke-width="5" stroke-linecap="round"/>`,
  flower: (fill) =>
    `<path d="M50 50V94" stroke="#2e8b57" stroke-width="5"/>` +
    [
      [50, 24],
      [72, 38],
      [64, 62],
      [36, 62],
      [28, 38],
    ]
      .map(([x, y]) => `<circle cx="${x}" cy="${y}" r="14" fill="${fill}"/>`)
      .join("") +
    `<circle cx="50" cy="45" r="12" fill="#f5c518"/>`,
  smiley: (fill) =>
    `<circle cx="50" cy="50" r="40" fill="${fill}"/><circle cx="36" cy="42" r="5" fill="#222222"/><circle cx="64" cy="42" r="5" fill="#222222"/>` +
    `<path d="M30 60Q50 82 70 60" fill="none" stroke="#222222" stroke-width="4" stroke-linecap="round"/>`,
} as const satisfies { readonly [name: string]: (fill: string) => string };

export type DrawnShape = keyof typeof SHAPES;

const COLOURS = {
  red: "#d62828",
  orange: "#f77f00",
  yellow: "#f5c518",
  green: "#2e8b57",
  blue: "#1d6fd1",
  purple: "#7b2cbf",
  pink: "#f28ab2",
  brown: "#6b4423",
  black: "#222222",
  white: "#ffffff",
  grey: "#8d99ae",
} as const;

export type Colour = keyof typeof COLOURS;

const SIZE = 100;

export function drawSvg(drawings: readonly Drawing[]): string {
  const parts = drawings.map(({ shape, colour }, index) => {
    const drawn = SHAPES[shape](COLOURS[colour]);
    return index === 0 ? drawn : `<g transform="translate(${index * SIZE} 0)">${drawn}</g>`;
  });
  const width = drawings.length * SIZE;
  // White shapes need a background that is not white.
  const ground = drawings.some(({ colour }) => colour === "white") ? "#dfe7ef" : "#ffffff";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${SIZE}" width="${width * 2}" height="${SIZE * 2}">` +
    `<rect width="${width}" height="${SIZE}" fill="${ground}"/>${parts.join("")}</svg>`
  );
}
