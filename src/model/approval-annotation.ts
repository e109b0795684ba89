// The annotation on an instance that approves the removals with the given hash.
export const approvalAnnotation = "wafsync.dev/approve-removals";
