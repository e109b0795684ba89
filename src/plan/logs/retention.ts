// How long the API keeps logs, by the plan of the account.

export const logRetentionDays = {
  Basic: 30,
  CDN: 30,
  Advanced: 90,
  Professional: 180,
  Network: 365,
  Enterprise: 365,
} as const;

export type LogPlan = keyof typeof logRetentionDays;
export const logPlans = Object.keys(logRetentionDays) as LogPlan[];

/** The first day whose logs are certainly complete. Days count from 1970. */
export function firstKeptDay(plan: LogPlan, today: number): number {
  return today - logRetentionDays[plan] + 1;
}
