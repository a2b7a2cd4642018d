/** The `loom` dialect: the protocol of 000/001. It carries every event. */
import { EVENT_TYPES, type EventType } from "../../protocol/index.ts";
import { isSpecified } from "../../protocol/record.ts";
import type { Dialect } from "../dialect.ts";
import type { LedgerEntry } from "../ledger.ts";
import { LOOM_DECODING } from "./decode.ts";
import { createLoomEncoder } from "./encode.ts";
import { LOOM_RULES } from "./rules.ts";
import { createLoomSchemas } from "./schema.ts";

const ledger = Object.fromEntries(
  EVENT_TYPES.map((type): [EventType, LedgerEntry] => [
    type,
    {
      support: "carried",
      frame: type === "reply" ? "{reply}" : type,
      lostFields: [],
      ...(isSpecified(type) || type === "reply" ? {} : { note: "in strict mode sent as `custom` with `$loom`" }),
    },
  ]),
) as { readonly [T in EventType]: LedgerEntry };

export const loom: Dialect = {
  ...LOOM_DECODING,
  name: "loom",
  title: "Streaming Output Protocol (000/001)",
  createEncoder: createLoomEncoder,
  options: ["strict", "envelope"],
  isStateful: false,
  carriesUnknown: true,
  carriesDeltas: true,
  ledger,
  rules: LOOM_RULES,
  unendedRule: {
    name: "reply-missing",
    rule: { level: "warning", section: "001 §5" },
  },
  ignoredRules: [],
  frames: undefined,
  createSchemas: createLoomSchemas,
};
