// Every transport keeps the contract, against the real server pieces.
import { describeTransport } from "../../src/client/transport/transport.contract.ts";
import { STAGES } from "./transport-stages.ts";

for (const { name, traits, setStage } of STAGES) describeTransport(name, traits, setStage);
