// The annotation on an instance that lets the removals with its hash through.
export const approvalAnnotation = "wafsync.dev/approve-removals";
