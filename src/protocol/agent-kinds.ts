/** The kinds of agents of this package, as their runs name them in `run_start`. */

export const AGENT_KINDS = ["react", "tot", "got"] as const;

/** Name of adaptive `got` agents in `run_start`. */
export const ADAPTIVE = "agot";

const NAMES: ReadonlySet<string> = new Set([...AGENT_KINDS, ADAPTIVE]);

/** True for the name of a kind. A run of such an agent has checkpoints. Any other name was chosen by a program. */
export function isKindName(agent: string | undefined): boolean {
  return agent !== undefined && NAMES.has(agent);
}
