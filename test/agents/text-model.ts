// A scripted model whose provider has rejected structured output: agents ask it for values in the text.
import { recordRefusal, STRUCTURED_OUTPUT } from "../../src/models/model-fault.ts";
import type { Script, ScriptedModelOptions } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";

export function createTextModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const model = new ScriptedModel(script, options);
  recordRefusal(model, STRUCTURED_OUTPUT, Infinity);
  return model;
}
