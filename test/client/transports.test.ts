// Every transport passes the contract suite, against real server handlers.
import { describeTransport } from "../contracts/transport.ts";
import { TRANSPORT_FIXTURES } from "./transport-fixtures.ts";

for (const { name, traits, createFixture } of TRANSPORT_FIXTURES) describeTransport(name, traits, createFixture);
