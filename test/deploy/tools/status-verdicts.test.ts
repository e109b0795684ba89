// What Argo CD and Flux make of every status that the operator can write, and the actions that Argo CD offers, by their own engines.
// Long: `npm run test:deploy` runs it.
import { expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { reasonFacts } from "../../../src/kinds/reasons.ts";
import { isPublished } from "../../support/worlds/conformance.ts";
import { type Answer, judge, type Question } from "./judge.ts";
import { statusCases } from "./status-cases.ts";
import { actionsOf, deployText, settingsIn } from "../deploy-files.ts";
import { describeWithTools } from "./tools-suite.ts";

interface HealthExpressions {
  readonly kind: string;
  readonly current: string;
}

async function fluxExpressions(): Promise<readonly HealthExpressions[]> {
  const text = await deployText("flux/wafs.yaml");
  const documents = parseAllDocuments(text).map(
    (document) => document.toJS() as { kind: string; spec?: { healthCheckExprs?: HealthExpressions[] } },
  );
  return documents.flatMap(({ spec }) => spec?.healthCheckExprs ?? []);
}

function anObject(kind: string, spec: object, more: object = {}): Readonly<Record<string, unknown>> {
  const metadata = { name: "shop", namespace: "edge", uid: "6d0f7d1e-5d5c-4d53-9a53-5a3a5b1a7a11", generation: 1 };
  return { apiVersion: "wafsync.dev/v1alpha1", kind, metadata, spec, ...more };
}

const instanceSpec = {
  baseUrl: "https://waf.example.com",
  apiKeySecretRef: { name: "key", key: "apiKey" },
  guards: {},
};

await describeWithTools("the verdicts of GitOps tools", ({ files }) => {
  const cases = statusCases();
  /** What the engine has found for each case, by its title. */
  const found = (answers: readonly Answer[]) =>
    cases.map(({ title }, place) => [title, answers[place]?.error ?? answers[place]?.status]);

  test("every published reason has a case, and no case has another", () => {
    const seen = new Set(cases.flatMap(({ conditions }) => conditions.map(({ type, reason }) => `${type} ${reason}`)));
    const published = Object.entries(reasonFacts).flatMap(([reason, on]) =>
      Object.keys(on).map((type) => `${type} ${reason}`),
    );
    // Retrying clears are told as Reconciling, and each Failed reason is repeated by Ready and Stalled.
    expect(published.filter((pair) => !seen.has(pair))).toStrictEqual([]);
    const all = cases.flatMap(({ conditions }) => conditions);
    expect(all.filter(({ type, reason, status }) => !isPublished(type, reason, status))).toStrictEqual([]);
  });

  test("Argo CD's Lua engine finds the health of each in the table", async () => {
    const settings = await settingsIn("argocd/argocd-cm.yaml");
    const questions = cases.map(({ object }): Question => ({
      object,
      script: settings[`resource.customizations.health.wafsync.dev_${String(object["kind"])}`] ?? "",
    }));
    const answers = await judge(files.judge, "health", questions);
    expect(found(answers)).toStrictEqual(cases.map(({ title, argo }) => [title, argo]));
    expect(answers.filter(({ message }) => message === undefined || message === "")).toStrictEqual([]);
  });

  test("kstatus finds the status of each in the table", async () => {
    const answers = await judge(files.judge, "kstatus", cases);
    expect(found(answers)).toStrictEqual(cases.map(({ title, flux }) => [title, flux]));
  });

  test("the expressions of the Flux example let held and suspended objects pass, and all else as kstatus has it", async () => {
    const expressions = await fluxExpressions();
    const questions = cases.map(({ object }): Question => {
      const own = expressions.find(({ kind }) => kind === object["kind"]);
      return own === undefined ? { object } : { object, expressions: own };
    });
    const answers = await judge(files.judge, "expression", questions);
    const expected = cases.map(({ title, argo, flux }) => [title, argo === "Suspended" ? "Current" : flux]);
    expect(found(answers)).toStrictEqual(expected);
  });

  async function offered(object: Readonly<Record<string, unknown>>): Promise<string[]> {
    const actions = await actionsOf(String(object["kind"]));
    const [answer] = await judge(files.judge, "discovery", [{ object, script: actions["discovery.lua"] }]);
    const enabled = Object.entries(answer?.actions ?? {}).filter(([, { disabled }]) => disabled !== true);
    return enabled.map(([name]) => name).sort();
  }

  test("the actions of Argo CD are offered where they make sense", async () => {
    const running = anObject("WafInstance", instanceSpec);
    expect(await offered(running)).toStrictEqual(["clear-cache", "suspend", "sync-now"]);
    const suspended = anObject("WafInstance", { ...instanceSpec, suspend: true });
    expect(await offered(suspended)).toStrictEqual(["clear-cache", "resume", "sync-now"]);
    const held = anObject("WafInstance", instanceSpec, { status: { heldPlan: "0123456789ab" } });
    expect(await offered(held)).toStrictEqual(["approve-removals", "clear-cache", "suspend", "sync-now"]);
    expect(await offered(anObject("WafIpRule", {}))).toStrictEqual(["sync-now"]);
    expect(await offered(anObject("WafOrigin", {}))).toStrictEqual(["sync-now"]);
    expect(await offered(anObject("WafCacheClear", { suspend: true }))).toStrictEqual(["resume", "sync-now"]);
  });

  test("each action of Argo CD that can be offered has a script", async () => {
    for (const kind of ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear"]) {
      const actions = await actionsOf(kind);
      const object = anObject(kind, {});
      const [answer] = await judge(files.judge, "discovery", [{ object, script: actions["discovery.lua"] }]);
      expect(actions.definitions.map(({ name }) => name).sort()).toStrictEqual(
        Object.keys(answer?.actions ?? {}).sort(),
      );
    }
  });
});
