/** The server's side of the wire, without a server: functions and objects that any HTTP or WebSocket server can mount. */
export { type Answer, carryOut, type CommandHost, type RunCommand } from "./commands/carry-out.ts";
export { ControlConnection, type ControlConnectionOptions } from "./sockets/control-connection.ts";
export { createEventsHandler, type EventsHandlerOptions } from "./doors/events-handler.ts";
export { createMetricsHandler, type MetricsHandlerOptions } from "./doors/metrics-handler.ts";
