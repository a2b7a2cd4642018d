/** What a drawing shows: boxes in columns joined by lines. The box in the conversation and the canvas both draw it. */
import { type KeyboardEvent, type ReactNode, useCallback, useState } from "react";
import type { Region } from "./drawn-region.ts";
import type { GridItem } from "./find-neighbour.ts";

/** Colour of a box in a small picture. */
export type BoxMark = "path" | "kept" | "dead" | "busy" | "bad";

export interface DrawnBox extends GridItem {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly height: number;
  readonly mark?: BoxMark | undefined;
}

export interface DrawnLine {
  readonly key: string;
  readonly d: string;
  /** Bounding box of its points. */
  readonly region: Region;
  readonly className: string;
}

/** Boxes and lines in pixels. */
export interface DrawingShape {
  readonly boxes: readonly DrawnBox[];
  readonly boxWidth: number;
  readonly lines: readonly DrawnLine[];
  readonly width: number;
  readonly height: number;
}

export interface DrawingContent extends DrawingShape {
  readonly label: string;
  readonly role: "tree" | "listbox";
  /** Available size as last reported by `onViewport`. */
  readonly viewport: ViewportSize;
  /** The available size changed. */
  readonly onViewport: (size: ViewportSize) => void;
  /** Index of the box kept in view. */
  readonly followed: number;
  readonly isLive: boolean;
  /** Index of the box in the tab order. */
  readonly current: number;
  readonly onMove: (position: number) => void;
  /** The user closed the details, or chose to follow the latest box again. */
  readonly onDeselect: () => void;
  /** A key that does not move the focus. */
  readonly onKey: (event: KeyboardEvent, position: number) => void;
  readonly renderBox: (position: number) => ReactNode;
}

export interface ViewportSize {
  readonly width: number;
  readonly height: number;
}

/** Assumed until the first measurement: a wide column on a laptop. */
const ASSUMED: ViewportSize = { width: 766, height: 464 };

/** Returns the available size of a drawing and the function to report it. */
export function useViewport(): readonly [ViewportSize, (size: ViewportSize) => void] {
  const [viewport, setViewport] = useState(ASSUMED);
  const report = useCallback(
    (size: ViewportSize) =>
      setViewport((before) => (before.width === size.width && before.height === size.height ? before : size)),
    [],
  );
  return [viewport, report];
}
