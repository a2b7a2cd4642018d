/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * How grave each rule is and which section it comes from.
 */
import type { GradeTable } from "./rules.ts";

export const FRAME_GRADES = {
  "frame-too-long": { level: "error", section: "001 §3", perFrame: true },
  "frame-utf8": { level: "error", section: "001 §3", perFrame: true },
  "frame-unfinished": { level: "error", section: "001 §3", perFrame: true },
  "frame-json": { level: "error", section: "001 §3", perFrame: true },
  "frame-object": { level: "error", section: "001 §3", perFrame: true },
  "frame-kind": { level: "error", section: "001 §4.1", perFrame: true },
  "field-missing": { level: "error", section: "001 §4.2", perFrame: true },
  "field-type": { level: "error", section: "001 §4.2", perFrame: true },
  "field-value": { level: "error", section: "001 §4.2", perFrame: true },
  "field-depth": { level: "error", section: "001 §3", perFrame: true },
  "field-unlisted": { level: "warning", section: "001 §4.2", perFrame: true },
} as const satisfies GradeTable;
