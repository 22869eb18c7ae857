// Takes the pictures in docs/images of a running demo: `node packages/dashboard/src/test-screenshots.ts "$(demo page)"`, best with a site cut off.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LAPTOP, PHONE, TestBrowser } from "./test-browser.ts";

const SIZES = { laptop: LAPTOP, phone: PHONE } as const;
const PICTURES = [
  ["continuum", "/", ["laptop-light", "laptop-dark", "phone-light", "phone-dark"]],
  ["site", "/sites/lively-wave", ["laptop-light"]],
  ["workloads", "/workloads", ["laptop-light"]],
  ["workload", "/workloads/shop/Deployment/front", ["laptop-light", "laptop-dark", "phone-dark"]],
] as const;

const [link, folder = fileURLToPath(new URL("../../../docs/images", import.meta.url))] = process.argv.slice(2);
if (link === undefined) throw new Error("give the link that `demo page` prints, and a folder where it is another one");

await using browser = await TestBrowser.start();
const { page } = browser;
await page.goto(link);
await page.locator(".sites .card").first().waitFor();
const { origin } = new URL(link);
for (const [name, path, looks] of PICTURES)
  for (const look of looks) {
    const [size, colorScheme] = look.split("-") as ["laptop" | "phone", "light" | "dark"];
    await page.setViewportSize(SIZES[size]);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.goto(`${origin}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page
      .locator(path === "/" ? ".sites .card" : ".panel")
      .first()
      .waitFor();
    await page.evaluate("document.fonts.ready");
    await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    process.stdout.write(`${name}-${look}.png\n`);
  }
