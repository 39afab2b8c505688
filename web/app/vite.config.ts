import { defineConfig } from "vite";

// One bundle with stable names: the server keeps the three files in memory and serves them as they are, under
// `default-src 'none'; script-src 'self'; style-src 'self'`. All URLs are relative: a tunnel or proxy may add a path.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        codeSplitting: false,
      },
    },
  },
});
