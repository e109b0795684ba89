// The options of `wafsync import`.
import type { Command } from "commander";
import { Option } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { wholeNumber } from "./option-groups.ts";

export function addImportCommand(program: Command, setExitCode: SetExitCode): void {
  program
    .command("import")
    .requiredOption("--base-url <url>", "base URL of the WAF's API")
    .requiredOption("--instance <name>", "name of the WafInstance to write")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("-n, --namespace <name>", "namespace of the objects", "default")
    .option("--secret <name>", "name of the Secret with the API key (default: NAME-waf-key)")
    .option("--out <directory>", "new folder for the files (default: print them to stdout)")
    .option("--timeout <seconds>", "give up on a call after this time", wholeNumber(1, 600), 60)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false)
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"))
    .description(
      "Write an instance and rules for the current lists of a WAF, marked for adoption. Does not change the WAF.",
    )
    .addHelpText(
      "after",
      `
Examples:
  $ WAFSYNC_API_KEY=… wafsync import --base-url https://waf.example.com --instance shop -n shop --out waf/
  $ wafsync import --base-url https://waf.example.com --key-file key.txt --instance shop | kubectl apply --server-side -f -

Exit codes: 0 all entries are declared, 1 some entries were skipped, 2 error (no file was written), 130 stopped.
`,
    )
    .action(async (options) => {
      const { runImport } = await import("../import-command.ts");
      setExitCode(await runImport(options));
    });
}
