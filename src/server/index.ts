/** The server's side of the wire, without a server: functions and objects that any HTTP or WebSocket server can mount. */
export { type Answer, carryOut, type CommandHost, type RunCommand } from "./carry-out.ts";
export { ControlConnection, type ControlConnectionOptions } from "./control-connection.ts";
export { createEventsHandler, type EventsHandlerOptions } from "./handle-events.ts";
export { createMetricsHandler, type MetricsHandlerOptions } from "./handle-metrics.ts";
