import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(chromium)) {
  throw new Error(`no Chromium at ${chromium}: apt-get install chromium, or set CHROMIUM to its path`);
}

export default defineConfig({
  testDir: "specs",
  outputDir: "../../build/results/e2e",
  // A program, its load and a browser are enough for two cores; and what is measured here is how things look when the
  // machine is not busy with other tests.
  workers: 1,
  retries: 0,
  forbidOnly: process.env.CI === "true",
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: "list",
  use: {
    viewport: { width: 1440, height: 900 },
    testIdAttribute: "data-testid",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: chromium,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
