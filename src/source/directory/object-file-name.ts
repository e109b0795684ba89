// The file name for an object. Names in Kubernetes can be as long as file names, which leaves no room for an
// extension, so long names are truncated and distinguished by a hash.
import { hexDigest } from "../../model/hex-digest.ts";

const lengthMax = 200;
const keptLength = 180;

/** `office` gives `office.yaml`. Different names give different file names. */
export function objectFileName(name: string): string {
  if (name.length <= lengthMax) return `${name}.yaml`;
  const hash = hexDigest(name, 16);
  return `${name.slice(0, keptLength)}~${hash}.yaml`;
}
