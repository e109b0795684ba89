// Parses the name of an instance, as users write it after `--instance`.
import { isNameOfNamespace, isNameOfObject } from "../model/resource.ts";
import type { ObjectName } from "../model/resource.ts";
import { CommandError } from "./describe-error.ts";

/** Accepts `NAME`, without a namespace, or `NAMESPACE/NAME`. @throws CommandError if the text is neither */
export function parseInstanceName(text: string): Pick<ObjectName, "name"> & Partial<ObjectName> {
  const [first = "", second, ...more] = text.split("/");
  const parsed: ReturnType<typeof parseInstanceName> =
    second === undefined ? { name: first } : { namespace: first, name: second };
  const isNamespace = parsed.namespace === undefined || isNameOfNamespace(parsed.namespace);
  if (more.length === 0 && isNamespace && isNameOfObject(parsed.name)) return parsed;
  throw new CommandError(
    `--instance ${text} is not the name of an instance`,
    "Write NAME or NAMESPACE/NAME, for example --instance shop/shop.",
  );
}
