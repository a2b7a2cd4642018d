/** The entry point `loom-agent/testing`: a scripted model for tests of agents. */
export { type Script, ScriptedModel, type ScriptedRequest, type ScriptedTurn } from "./scripted-model.ts";
