/** The command host of a caller: the server's, with the caller as the author of the commands. */
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { CommandHost } from "./execute-command.ts";
import { type CommandAuthor, LOCAL_AUTHOR } from "./command-author.ts";

export function commandHostFor(core: Pick<ServerCore, "commands" | "access">, caller: Caller): CommandHost {
  return core.access.isOpen ? core.commands : { ...core.commands, author: authorOf(core, caller) };
}

/** The author of the sessions and commands of a caller. */
export function authorOf({ access }: Pick<ServerCore, "access">, caller: Caller): CommandAuthor {
  if (access.isOpen) return LOCAL_AUTHOR;
  const { id, owner, scopes, agents, tools } = caller.principal;
  return {
    owner,
    isAdmin: scopes.has("admin"),
    actor: id,
    agents,
    tools,
    admitRun: (run) => access.admitRun(caller, run),
  };
}
