// The names of the instances that a folder declares.
import { readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import { nameKey } from "../../model/resource.ts";
import { createDirectorySource } from "../../source/directory/directory-source.ts";

export async function namesInFolder(directory: string): Promise<readonly string[]> {
  const environmentKey = readEnvironment().apiKey;
  const source = createDirectorySource({ directory, stateDirectory: undefined, environmentKey, clock: realClock });
  try {
    await source.load();
    return source.instances().map(nameKey);
  } finally {
    await source.close();
  }
}
