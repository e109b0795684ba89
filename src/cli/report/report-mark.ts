// Identifies a file as a report.

export const reportMark = '<meta name="generator" content="wafsync report">';
