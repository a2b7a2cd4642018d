/** The `loom` dialect: the protocol of 000/001 itself. It carries everything. */
import { EVENT_TYPES, type EventType, isSpecified } from "../../protocol/index.ts";
import type { Dialect } from "../dialect.ts";
import type { Fate } from "../ledger.ts";
import { LOOM_DECODING } from "./decode.ts";
import { createLoomBatchEncoder, createLoomEncoder } from "./encode.ts";

const ledger = Object.fromEntries(
  EVENT_TYPES.map((type): [EventType, Fate] => [
    type,
    {
      fate: "carried",
      as: type === "reply" ? "{reply}" : type,
      loses: [],
      back: (event) => event,
      ...(isSpecified(type) || type === "reply" ? {} : { note: "in the strict form as `custom` with `$loom`" }),
    },
  ]),
) as { readonly [T in EventType]: Fate };

export const loom: Dialect = {
  ...LOOM_DECODING,
  name: "loom",
  title: "Streaming Output Protocol (000/001)",
  createEncoder: createLoomEncoder,
  createBatchEncoder: createLoomBatchEncoder,
  folds: false,
  ledger,
  rules: {},
  unended: {
    name: "reply-missing",
    rule: {
      level: "warning",
      section: "001 §5",
      about: {
        en: "The stream stops before the run's reply; the run may still be going",
        zh: "流在运行的回复之前停止；运行可能仍在继续",
      },
    },
  },
  unsaid: [],
};
