/** How what somebody asks is carried out: as for everybody, in their name. Where nobody is asked, it is in nobody's. */
import type { Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import type { CommandHost } from "./carry-out.ts";
import { type CommandAuthor, LOCAL_AUTHOR } from "./command-author.ts";

export function commandsFor(core: Pick<ServerCore, "commands" | "access">, caller: Caller): CommandHost {
  return core.access.isOpen ? core.commands : { ...core.commands, author: authorOf(core, caller) };
}

/** Who makes and touches sessions. */
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
