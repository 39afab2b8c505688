import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{protocol,testing,model,client,view,app}/test/**/*.test.{ts,tsx}"],
    environment: "node",
    // Random programs and simulated minutes take a second; on a machine that builds at the same time, ten.
    testTimeout: 30_000,
  },
});
