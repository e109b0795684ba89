// Several commands at once in one folder, by seed. A failure prints the seed and what every process said.
import { afterAll, expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { simulateFolder } from "../support/simulation/folder-world.ts";

const seeds = caseCount(40);
const sums = { commands: 0, kills: 0 };

afterAll(
  () => void process.stdout.write(`\nA folder: ${seeds} seeds, ${sums.commands} commands, ${sums.kills} kills.\n`),
);

test.concurrent.each(Array.from({ length: seeds }, (_, seed) => seed))(
  "Several commands at once in a folder lose no block, no record and no entry of another writer (seed %d)",
  async (seed) => {
    const { violations, trace, commands, kills } = await simulateFolder(seed);
    sums.commands += commands;
    sums.kills += kills;
    const again = `Again: npm run simulate -- --folder --seed ${seed}`;
    expect({ violations, trace: violations.length === 0 ? "" : [...trace, again].join("\n") }).toStrictEqual({
      violations: [],
      trace: "",
    });
  },
);
