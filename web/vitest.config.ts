import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{protocol,testing,model,client,view,app}/test/**/*.test.{ts,tsx}"],
    environment: "node",
  },
});
