// Jest in ESM mode over TypeScript that Node itself can erase: see test/setup/erase-types.js.
export default {
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/test/fixtures/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": "<rootDir>/test/setup/erase-types.js" },
  // Of the cases of a suite that spend most of their time waiting.
  maxConcurrency: 8,
  // Only ends what hangs, on the busiest machine: no test has a time limit of its own. What has to happen within a given
  // time says so by test/support/processes/slowness.ts.
  testTimeout: 600_000,
};
