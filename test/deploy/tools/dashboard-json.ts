// What Grafana imports as a dashboard, by the types that it publishes: test/deploy/tools/dashboard-types.test.ts.
import type { Dashboard, DataQuery, DataSourceRef, Panel, RowPanel, VariableModel } from "@grafana/schema";
import type { Options as Stat } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type { Options as TimeSeries } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

/** In JSON, an enum is one of its values. */
type Json<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer N extends number}`
      ? N
      : number
    : T extends readonly (infer Item)[]
      ? Json<Item>[]
      : T extends object
        ? { [Key in keyof T]: Json<T[Key]> }
        : T;

/** @grafana/schema has no type for the queries of Prometheus. */
type PrometheusQuery = DataQuery & {
  expr: string;
  legendFormat: string;
  range: boolean;
  instant: boolean;
  datasource: DataSourceRef;
};

/** Grafana fills in the options that are missing. */
type PanelOf<Type, Options> = Omit<Panel, "type" | "options" | "targets"> & {
  type: Type;
  options: Partial<Options>;
  targets: PrometheusQuery[];
};

type Row = Omit<RowPanel, "type"> & { type: "row" };
type Variable = VariableModel & { definition?: string };

export type DashboardJson = Json<Omit<Dashboard, "panels" | "templating">> & {
  templating: { list: Json<Variable>[] };
  panels: (Json<PanelOf<"stat", Stat>> | Json<PanelOf<"timeseries", TimeSeries>> | Json<Row>)[];
};
