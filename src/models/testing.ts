/** The door `loom-agent/testing`: what tests of agents need. */
export {
  type Script,
  type ScriptedCall,
  type ScriptedFault,
  ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedRequest,
  type ScriptedTurn,
} from "./scripted-model.ts";
