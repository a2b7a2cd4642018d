/** Icons on a 16-pixel grid. They use the current text colour and are hidden from screen readers. */
import type { ReactNode } from "react";

const PATHS = {
  add: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  less: "M3 8h10",
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  edit: "M3 13l.6-2.6L10.8 3.2l2 2L5.6 12.4z",
  retry: "M12.5 8A4.5 4.5 0 1 1 11 4.6M12.5 2.5v3h-3",
  remove: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5",
  fork: "M4.5 3v10M4.5 9c4 0 7-1.5 7-5M9.5 5.5l2-2 2 2",
  search: "M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.3 10.3 13.5 13.5",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  open: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  up: "M3.5 10 8 5.5 12.5 10",
  back: "M10 3.5 5.5 8 10 12.5",
  first: "M12 3.5 7.5 8 12 12.5M4.5 3.5v9",
  last: "M4 3.5 8.5 8 4 12.5M11.5 3.5v9",
  attach: "M12.5 7.5 8 12a2.8 2.8 0 0 1-4-4l5-5a1.9 1.9 0 0 1 2.7 2.7l-4.9 4.9a.9.9 0 0 1-1.3-1.3L10 5",
  book: "M8 4.5C6.5 3.5 4.5 3.3 2.5 3.5v8.5c2-.2 4 0 5.5 1 1.5-1 3.5-1.2 5.5-1V3.5c-2-.2-4 0-5.5 1zM8 4.5V13",
  tool: "M10.5 2.8a3.2 3.2 0 0 0-3.3 4.4L2.8 11.6l1.6 1.6 4.4-4.4a3.2 3.2 0 0 0 4.4-3.3l-2 1.2-1.7-1.7z",
  think: "M8 2.5a4 4 0 0 1 2.3 7.3v1.4H5.7V9.8A4 4 0 0 1 8 2.5zM6.3 13.5h3.4",
  alert: "M8 2.8 14 13H2zM8 6.5v3M8 11.3h.01",
  list: "M6.5 4.5h6.5M6.5 8h6.5M6.5 11.5h6.5M3 4.5h.01M3 8h.01M3 11.5h.01",
  chart: "M3 13V7.5M6.5 13V3M10 13V9.5M13.5 13V5.5M2 13.5h12.5",
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6",
  image: "M2.5 3.5h11v9h-11zM2.5 11l3-3 2.5 2.5L11 7l2.5 3M5.5 6h.01",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  tree: "M6.5 2.5h3v3h-3zM2 10.5h3v3H2zM11 10.5h3v3h-3zM8 5.5V8M3.5 10.5V8h9v2.5M8 8v5.5",
  graph:
    "M5.5 4a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0zM13.9 4a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0zM9.7 12a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0zM5.5 4h5M4.7 5.5l2.5 5M11.3 5.5l-2.5 5",
  expand: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM11.5 9v5M9 11.5h5",
  bolt: "M9 1.8 3.8 9H8l-1 5.2L12.2 7H8z",
  agent: "M4 6h8v6.5H4zM8 6V3.5M7 3.5h2M6.4 8.8h.01M9.6 8.8h.01M2.3 8.5v2M13.7 8.5v2",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  return: "M6 4 3 7l3 3M3 7h6.5a3 3 0 0 1 0 6H7",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2 1.3",
  skip: "M3.5 3.5 8.5 8l-5 4.5zM12 3.5v9",
  star: "M8 2.5l1.6 3.5 3.9.4-2.9 2.6.8 3.8L8 10.9l-3.4 1.9.8-3.8L2.5 6.4l3.9-.4z",
  inspect: "M2 8h3l1.5-4 3 8L11 8h3",
  play: "M5 3.5 12 8l-7 4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  download: "M8 3v7M4.8 7 8 10.2 11.2 7M3 13h10",
  upload: "M8 10V3M4.8 6 8 2.8 11.2 6M3 13h10",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z",
  language: "M2.5 4h6M5.5 2.5V4M7.5 4c-.7 2.7-2.3 4.5-5 5.5M4 6c.8 1.6 2 2.7 3.7 3.4M8.5 13.5l2.5-6 2.5 6M9.3 11.7h3.4",
  settings: "M2.5 5h11M2.5 11h11M6 3.2v3.6M10 9.2v3.6",
  good: "M5.5 7.5 8 2.8c1 0 1.6.7 1.4 1.8L9 6.8h3.2c.8 0 1.3.7 1.1 1.4l-1 4c-.1.5-.6.8-1.1.8H5.5zM3 7.5h2.5V13H3z",
  bad: "M5.5 8.5 8 13.2c1 0 1.6-.7 1.4-1.8L9 9.2h3.2c.8 0 1.3-.7 1.1-1.4l-1-4c-.1-.5-.6-.8-1.1-.8H5.5zM3 8.5h2.5V3H3z",
  user: "M8 8a2.7 2.7 0 1 1 0-5.4A2.7 2.7 0 0 1 8 8zM2.8 13.5c.5-2.5 2.6-3.6 5.2-3.6s4.7 1.1 5.2 3.6",
  leave: "M9.5 3.5v-1h-6v11h6v-1M6.5 8h7M11 5.5 13.5 8 11 10.5",
  pin: "M5.5 2.5h5M6.5 2.5v4L4 9.5h8l-2.5-3v-4M8 9.5v4",
  archive: "M2.5 3.5h11v3h-11zM3.5 6.5V13h9V6.5M6.5 9.2h3",
  terminal: "M3 4.5 6.5 8 3 11.5M8.5 12h4.5",
  link: "M7 9a2.6 2.6 0 0 0 3.7 0l2-2A2.6 2.6 0 0 0 9 3.3l-1 1M9 7a2.6 2.6 0 0 0-3.7 0l-2 2A2.6 2.6 0 0 0 7 12.7l1-1",
} as const satisfies { readonly [name: string]: string };

/** Names of the available icons. */
export type IconName = keyof typeof PATHS;

/** Draws an icon in the current text colour. */
export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="loom-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
