/** The command host of a caller: the server's, with the caller as the author of the commands. */
import type { Access } from "../auth/access.ts";
import type { Caller } from "../auth/authorize.ts";
import type { CommandHost } from "./execute-command.ts";
import { type CommandAuthor, LOCAL_AUTHOR } from "./command-author.ts";

interface CallerServices {
  /** The server's command host. */
  readonly commands: CommandHost;
  readonly access: Access;
}

export function commandHostFor({ commands, access }: CallerServices, caller: Caller): CommandHost {
  return access.isOpen ? commands : { ...commands, author: authorOf({ access }, caller) };
}

/** The author of the sessions and commands of a caller. */
export function authorOf({ access }: Pick<CallerServices, "access">, caller: Caller): CommandAuthor {
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
