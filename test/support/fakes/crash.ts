// Ends the process at an exact point: a port throws this error, so the current run can do nothing more.

const crashCode = "TEST_CRASH";

export function crash(where: string): Error {
  return Object.assign(new Error(`The process was killed ${where}`), { code: crashCode });
}

export function isCrash(error: unknown): boolean {
  return Error.isError(error) && "code" in error && error.code === crashCode;
}
