/** Opens the sessions that a command works on: a local store, or a server. */
import type { ParsedCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { openLocalService } from "./local-service.ts";
import { readServiceAddress, type ServiceAddress } from "./server-settings.ts";
import type { SessionService } from "./session-service.ts";

/** `create`: the command stores something, so a missing store is created. */
export async function openService(
  parsed: ParsedCommand,
  terminal: Terminal,
  { create = false }: { readonly create?: boolean } = {},
): Promise<SessionService> {
  const address = readServiceAddress(parsed);
  return address.kind === "server" ? openRemoteService(address, terminal) : openLocalService(address.store, { create });
}

export async function openRemoteService(
  { url, token, warnings }: Extract<ServiceAddress, { kind: "server" }>,
  terminal: Terminal,
): Promise<SessionService> {
  for (const warning of warnings) terminal.warn(warning);
  // Loaded on demand: a local store needs no client.
  const { RemoteService } = await import("./remote-service.ts");
  return new RemoteService({ url, token });
}
