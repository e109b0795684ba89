// Jest in ESM mode over TypeScript that Node itself can erase: see test/setup/erase-types.js.
export default {
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/test/fixtures/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": "<rootDir>/test/setup/erase-types.js" },
  // Far more than any test needs: on a machine under load nothing else is to fail than what is wrong.
  testTimeout: 120_000,
};
