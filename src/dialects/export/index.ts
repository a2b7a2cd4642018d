/**
 * The `export` dialect (000/001 §6): one key per frame and no envelope. Each of the 23 types of 001 has its key,
 * extension types are sent as `Custom` with `$loom`, and the reply is `{"reply": …}`.
 */
import { EVENT_TYPES, type EventType } from "../../protocol/index.ts";
import { EVENTS } from "../../protocol/events/index.ts";
import { isSpecified } from "../../protocol/record.ts";
import type { Dialect } from "../dialect.ts";
import type { LedgerEntry } from "../ledger.ts";
import { loom } from "../loom/index.ts";
import { EXPORT_DECODING } from "./decode.ts";
import { createExportEncoder } from "./encode.ts";
import { createExportSchemas } from "./schema.ts";

const ledger = Object.fromEntries(
  EVENT_TYPES.map((type): [EventType, LedgerEntry] => {
    if (type === "reply") return [type, { support: "carried", frame: "{reply}", lostFields: [] }];
    if (isSpecified(type)) {
      const note =
        type === "message_chunk" ? { note: "texts of parallel tasks of one name are sent one after the other" } : {};
      const frame = EVENTS[type].exportKey;
      return [type, { support: "carried", frame, ...note, lostFields: [] }];
    }
    return [type, { support: "converted", frame: "Custom", note: "with `$loom`", lostFields: [] }];
  }),
) as { readonly [T in EventType]: LedgerEntry };

export const exportDialect: Dialect = {
  ...EXPORT_DECODING,
  name: "export",
  title: "Single-key form of EXPORT_SPEC (000/001 §6)",
  createEncoder: createExportEncoder,
  options: ["strict"],
  isStateful: true,
  carriesUnknown: true,
  carriesDeltas: false,
  ledger,
  rules: {},
  unendedRule: loom.unendedRule,
  ignoredRules: ["envelope-missing"],
  frames: undefined,
  createSchemas: createExportSchemas,
};
