// A tool: a name, a description for the model, a schema of its input, and a function.
import { randomInt } from "node:crypto";
import { defineTool } from "loom-agent";
import { z } from "zod";

export const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls a die and returns the number.",
  input: z.object({ sides: z.int().min(2).max(1000).describe("Number of sides of the die") }),
  execute: ({ sides }) => `${randomInt(1, sides + 1)}`,
});
