// The agents of this project, by name. `npm start` serves them, with a chat page.
import { agent } from "loom-agent";
import { createBuiltinTools } from "loom-agent/tools";
import { rollDice } from "./tools/roll-dice.mts";

export default {
  assistant: agent({
    // Without LOOM_MODEL, a demo that works offline answers. It calls a tool if you name it: "Call roll_dice with 20".
    model: process.env["LOOM_MODEL"] ?? "offline",
    systemInstructions: "You are a helpful assistant. Answer briefly.",
    tools: [...createBuiltinTools(), rollDice],
  }),
};
