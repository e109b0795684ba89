// The whole TypeScript set-up of the tests: the same erasure of types that Node applies when it runs src/ directly.
import { stripTypeScriptTypes } from "node:module";

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: "strip" }) }),
};
