// Two self-signed certificates for 127.0.0.1, only for tests.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export const firstCertificate = certificate("first");
export const secondCertificate = certificate("second");

function certificate(name: string): TestCertificate {
  const file = join(import.meta.dirname, "certificates", name);
  return { cert: readFileSync(`${file}.crt`, "utf8"), key: readFileSync(`${file}.key`, "utf8") };
}
