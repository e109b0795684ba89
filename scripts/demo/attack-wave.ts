// The part of the demo in which a WafAutoBlock suggests to block an attacker, blocks it, and explains the block. `wafsync run` is
// already watching the folder.
import { writeFile } from "node:fs/promises";
import type { SimulatorControl } from "./simulator-control.ts";
import type { BackgroundProcess, Stage } from "./stage.ts";

const attacker = "203.0.113.99";
/** `guards.neverBlock` of the example protects it. */
const office = "203.0.113.5";
const requests = 60;

export interface AttackWave {
  readonly stage: Stage;
  readonly control: SimulatorControl;
  readonly run: BackgroundProcess;
  /** The file for the WafAutoBlock. */
  readonly file: string;
  /** The folder and its options, for commands. */
  readonly from: readonly string[];
}

function autoBlock(mode: "Suggest" | "Enforce"): string {
  return `apiVersion: wafsync.dev/v1alpha1
kind: WafAutoBlock
metadata: { name: attackers, namespace: shop }
spec:
  instanceRef: { name: shop }
  mode: ${mode}
  match: { reasons: [sql] }
  threshold: 50
  window: 5m
`;
}

function attackFrom(client_ip: string): readonly object[] {
  return Array.from({ length: requests }, (_, index) => ({
    timestamp: new Date(Date.now() - index * 1_000).toISOString(),
    client_ip,
    http_method: "POST",
    request_path: "/login",
    http_status: 403,
    response_size: 150,
    referrer: null,
    user_agent: "sqlmap/1.8",
    block_reason: "SQL Injection 942100",
    country: "NL",
    cache_hit: false,
  }));
}

export async function attackWave({ stage, control, run, file, from }: AttackWave): Promise<void> {
  stage.step(
    "Block attackers from the log",
    "The WAF logs the requests that it blocks. A WafAutoBlock reads this log and suggests which clients to block. In the mode Enforce it blocks them for a limited time, which grows with each repetition. Allowed and protected addresses are exempt.",
  );
  stage.act(`${attacker} and ${office} send ${requests} attacks each. spec.guards.neverBlock protects ${office}.`);
  await control.addLogs("www.example.com", [...attackFrom(attacker), ...attackFrom(office)]);
  await writeFile(file, autoBlock("Suggest"));
  await run.line(/Suggests blocking 1 client: 203\.0\.113\.99\./);
  const suggested = await control.state();
  stage.check(!suggested.blocklist.includes(attacker), "the client is suggested, and not blocked");
  stage.act("The mode in attackers.yaml is changed to Enforce.");
  await writeFile(file, autoBlock("Enforce"));
  const { blocklist } = await stage.until("the block", async () => {
    const state = await control.state();
    return state.blocklist.includes(attacker) ? state : undefined;
  });
  await run.line(/Added 1 entry for WafAutoBlock/);
  stage.check(!blocklist.includes(office), `${attacker} is blocked for an hour; ${office} is not`);
  await stage.run(["why", attacker, ...from], 0);
}
