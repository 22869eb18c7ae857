export { Aggregator, type AggregatorOptions } from "./aggregator.ts";
export { keepLocalServices } from "./local-services.ts";
