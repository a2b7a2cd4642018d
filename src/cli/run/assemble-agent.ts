/** The agent of `loom run`: what it was asked to be, with its equipment. */
import { agent, type Agent } from "../../agents/index.ts";
import { openEquipment } from "../equipment.ts";
import type { RunOptions } from "./read-run-options.ts";

/** Disposed of, it ends what was started for the tools. */
export interface Assembled extends AsyncDisposable {
  readonly agent: Agent;
  /** What the user should know of servers that did not start. */
  readonly warnings: readonly string[];
}

/** Throws for a model that cannot be had, a folder that is not there, servers that are described wrongly. */
export async function assembleAgent(
  options: RunOptions,
  onError: (error: unknown, errorId: string) => void,
  onWarning: (warning: string) => void = () => undefined,
): Promise<Assembled> {
  const { system } = options;
  const equipment = await openEquipment(options, onWarning);
  const { model, tools, retriever, warnings } = equipment;
  return {
    agent: agent({
      ...options.agent,
      model,
      tools,
      onError,
      ...(system === undefined ? {} : { systemInstructions: system }),
      ...(retriever === undefined ? {} : { retriever }),
    }),
    warnings,
    [Symbol.asyncDispose]: () => equipment[Symbol.asyncDispose](),
  };
}
