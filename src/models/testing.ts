/** The entry point `loom-agent/testing`: a scripted model for tests of agents. */
export {
  type Script,
  type ScriptedCall,
  type ScriptedFault,
  ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedRequest,
  type ScriptedTurn,
} from "./scripted-model.ts";
