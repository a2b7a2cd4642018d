/**
 * The `export` dialect (000/001 §6): one key per frame, no envelope. It follows from the declarations: each of the 23
 * types has its key, types of ours travel as `Custom` with `$loom`, and the reply is `{"reply": …}` unchanged.
 */
import { EVENT_TYPES, EVENTS, type EventType, isSpecified } from "../../protocol/index.ts";
import type { Dialect } from "../dialect.ts";
import type { Fate } from "../ledger.ts";
import { loom } from "../loom/index.ts";
import { EXPORT_DECODING } from "./decode.ts";
import { createExportEncoder } from "./encode.ts";

const ledger = Object.fromEntries(
  EVENT_TYPES.map((type): [EventType, Fate] => {
    if (type === "reply") return [type, { fate: "carried", as: "{reply}", loses: [], back: (event) => event }];
    if (isSpecified(type))
      return [type, { fate: "carried", as: EVENTS[type].exportKey, loses: [], back: (event) => event }];
    return [type, { fate: "as", as: "Custom", note: "with `$loom`", loses: [], back: (event) => event }];
  }),
) as { readonly [T in EventType]: Fate };

export const exportDialect: Dialect = {
  ...EXPORT_DECODING,
  name: "export",
  title: "EXPORT_SPEC single-key form (000/001 §6)",
  createEncoder: createExportEncoder,
  folds: false,
  ledger,
  rules: {},
  unended: loom.unended,
  unsaid: ["envelope-missing"],
};
