/** The package's front door: what most users need. The rooms behind it have doors of their own. */
export {
  createStreamCheck,
  createStreamConverter,
  detectDialect,
  DIALECT_NAMES,
  DIALECTS,
  type DialectName,
} from "./dialects/index.ts";
export {
  type AnyEvent,
  type EventRecord,
  type EventType,
  findEventFault,
  type LoomEvent,
  validateEvent,
  Verifier,
} from "./protocol/index.ts";
