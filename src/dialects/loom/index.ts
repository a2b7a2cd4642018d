/** The `loom` dialect: the protocol of 000/001. It carries every event. */
import { ENVELOPE, SPAN_NODE_ID } from "../../protocol/envelope.ts";
import { EVENTS } from "../../protocol/events/index.ts";
import { EVENT_TYPES, type EventType, type JsonObject } from "../../protocol/index.ts";
import { shapeSchema } from "../../protocol/json-schema.ts";
import { isSpecified } from "../../protocol/record.ts";
import type { Fields } from "../../protocol/schema.ts";
import type { Dialect } from "../dialect.ts";
import type { LedgerEntry } from "../ledger.ts";
import { LOOM_DECODING } from "./decode.ts";
import { createLoomEncoder } from "./encode.ts";
import { LOOM_RULES } from "./rules.ts";

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
  createSchemas: () => Object.fromEntries(EVENT_TYPES.map((type) => [type, createLoomSchema(type)])),
};

function createLoomSchema(type: EventType): JsonObject {
  const { node_id: _node, ...others } = ENVELOPE.fields;
  const beside: Fields = type === "got_expand" ? { ...others, span_node_id: SPAN_NODE_ID } : ENVELOPE.fields;
  return shapeSchema(type, EVENTS[type], { beside, tagged: type !== "reply" });
}
