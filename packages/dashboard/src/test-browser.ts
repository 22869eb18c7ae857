import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testBrowser } from "@fjord/testbed/testing";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const LAPTOP = { width: 1280, height: 800 } as const;
export const PHONE = { width: 390, height: 844 } as const;

/** A real Chromium that looks at one page, and minds what it should not see. */
export class TestBrowser implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #folder: string;
  readonly #complaints: string[] = [];

  private constructor(context: BrowserContext, page: Page, folder: string) {
    this.#context = context;
    this.page = page;
    this.#folder = folder;
    page.on("pageerror", (error) => this.#complaints.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !/status of (401|403|400)/.test(message.text()))
        this.#complaints.push(message.text());
    });
    page.on("request", (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol !== "data:" && !hostname.startsWith("127.")) this.#complaints.push(`fetches ${request.url()}`);
    });
  }

  static async start(): Promise<TestBrowser> {
    const folder = await mkdtemp(join(tmpdir(), "fjord-browser-"));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: testBrowser(),
      args: FLAGS,
      viewport: LAPTOP,
      reducedMotion: "reduce",
      colorScheme: "light",
    });
    context.setDefaultTimeout(30_000);
    return new TestBrowser(context, context.pages()[0] ?? (await context.newPage()), folder);
  }

  /** Nothing from elsewhere, nothing that the page's policy forbids, no error of a script. */
  assertQuiet(): void {
    assert.deepEqual(this.#complaints, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
