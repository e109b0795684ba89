// The name of an instance as people give it to `--instance`.
import type { ObjectName } from "../model/resource.ts";
import { CommandError } from "./describe-error.ts";

const namePattern = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** `NAME`, whose namespace is left open, or `NAMESPACE/NAME`. @throws CommandError if it is neither */
export function parseInstanceName(text: string): Pick<ObjectName, "name"> & Partial<ObjectName> {
  const [first = "", second, ...more] = text.split("/");
  const parsed = second === undefined ? { name: first } : { namespace: first, name: second };
  if (more.length === 0 && Object.values(parsed).every((part) => namePattern.test(part))) return parsed;
  throw new CommandError(
    `--instance ${text} is not the name of an instance`,
    "Write NAME or NAMESPACE/NAME, for example --instance shop/shop.",
  );
}
