// The end of the process at one exact point: a port throws it, and the pass that runs never gets to do anything more.

const crashCode = "TEST_CRASH";

export function crash(where: string): Error {
  return Object.assign(new Error(`The process was killed ${where}`), { code: crashCode });
}

export function isCrash(error: unknown): boolean {
  return Error.isError(error) && "code" in error && error.code === crashCode;
}
