// Runs the model contract for every model.
import { describeModel, CONTRACT_TOOLS } from "../contracts/model.ts";
import { OfflineModel } from "../../src/models/index.ts";
import { ScriptedModel, type ScriptedTurn } from "../../src/models/testing.ts";
import { openProviderFixture, PROVIDER_WIRES } from "./provider-fixtures.ts";

for (const wire of PROVIDER_WIRES) describeModel(wire.name, () => openProviderFixture(wire));

for (const specificationVersion of ["v2", "v3", "v4"] as const) {
  describeModel(`scripted, ${specificationVersion}`, () => {
    let next: ScriptedTurn = {};
    return {
      model: new ScriptedModel(() => next, { specificationVersion }),
      prepareText(messages) {
        next = { reasoning: "So.", text: "It is what it is." };
        return { messages };
      },
      prepareCalls() {
        const calls = [{ name: "calculator", input: { expression: "17*23" } }, { name: "current_time" }];
        next = { reasoning: "Two.", calls };
        return { messages: [{ role: "user", content: [{ type: "text", text: "Both" }] }], tools: CONTRACT_TOOLS };
      },
    };
  });
}

describeModel("offline", () => ({
  model: new OfflineModel(),
  prepareText: (messages) => ({ messages }),
  prepareCalls: () => ({
    messages: [{ role: "user", content: [{ type: "text", text: "What is 17*23, and what time is it?" }] }],
    tools: CONTRACT_TOOLS,
  }),
}));
