// The shop's worker: new prices, now and then.
import { setTimeout as pause } from "node:timers/promises";

const { API_SERVICE_HOST, API_SERVICE_PORT } = process.env;
if (API_SERVICE_HOST === undefined) process.exit(1);
const host = API_SERVICE_HOST.includes(":") ? `[${API_SERVICE_HOST}]` : API_SERVICE_HOST;
process.on("SIGTERM", () => process.exit(0));

for (let round = 1; ; round += 1) {
  const offers = ["bread", "cheese", "fish"].map((name, index) => ({ name, price: 10 + ((round * (index + 3)) % 7) }));
  let rest = 2_000;
  try {
    const url = `http://${host}:${API_SERVICE_PORT}/offers`;
    await fetch(url, { method: "PUT", body: JSON.stringify(offers), signal: AbortSignal.timeout(2_000) });
    console.log(`round ${round}: the prices are out`);
  } catch (error) {
    console.log(`round ${round}: ${error.cause?.message ?? error.message}`);
    // It may be starting as well.
    rest = 300;
  }
  await pause(rest);
}
