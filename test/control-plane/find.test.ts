import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { findControlPlane } from "../support/control-plane/find.ts";

describe("finding a control plane", () => {
  let assets: string;

  beforeEach(async () => {
    assets = await mkdtemp(join(tmpdir(), "wafsync-assets-"));
  });
  afterEach(async () => {
    await rm(assets, { recursive: true });
  });

  async function addProgram(name: string): Promise<{ file: string; leadingArguments: string[] }> {
    const file = join(assets, name);
    await writeFile(file, "#!/bin/sh\n");
    await chmod(file, 0o755);
    return { file, leadingArguments: [] };
  }

  test("KUBEBUILDER_ASSETS goes before all else", async () => {
    const etcd = await addProgram("etcd");
    const kubeApiserver = await addProgram("kube-apiserver");
    const kubectl = await addProgram("kubectl");
    const environment = { KUBEBUILDER_ASSETS: assets };
    expect(await findControlPlane({ controllerManager: false, environment })).toStrictEqual({
      state: "Found",
      programs: { origin: "Assets", etcd, kubeApiserver, kubectl },
    });
  });

  test("a kube-controller-manager is taken where there is one", async () => {
    await Promise.all(["etcd", "kube-apiserver", "kubectl"].map(addProgram));
    const kubeControllerManager = await addProgram("kube-controller-manager");
    const environment = { KUBEBUILDER_ASSETS: assets };
    expect(await findControlPlane({ controllerManager: true, environment })).toMatchObject({
      state: "Found",
      programs: { origin: "Assets", kubeControllerManager },
    });
  });

  test("KUBEBUILDER_ASSETS that lacks a server is a mistake to be told, and nothing else is taken instead", async () => {
    await addProgram("etcd");
    const environment = { KUBEBUILDER_ASSETS: assets };
    expect(await findControlPlane({ controllerManager: false, environment })).toStrictEqual({
      state: "Missing",
      problem: `${assets} has no kube-apiserver`,
    });
  });

  test("kubectl may come from PATH, and without one there is no control plane", async () => {
    await Promise.all(["etcd", "kube-apiserver"].map(addProgram));
    const environment = { KUBEBUILDER_ASSETS: assets, PATH: join(assets, "absent") };
    expect(await findControlPlane({ controllerManager: false, environment })).toStrictEqual({
      state: "Missing",
      problem: "kubectl is missing",
    });
    const kubectl = await addProgram("kubectl");
    const elsewhere = { KUBEBUILDER_ASSETS: assets, PATH: assets };
    expect(await findControlPlane({ controllerManager: false, environment: elsewhere })).toMatchObject({
      programs: { kubectl },
    });
  });

  test("none is found where none is wanted", async () => {
    const environment = { WAFSYNC_CONTROL_PLANE: "none", KUBEBUILDER_ASSETS: assets };
    expect(await findControlPlane({ controllerManager: false, environment })).toMatchObject({ state: "Missing" });
  });
});
