// By what a file is known for a report.

export const reportMark = '<meta name="generator" content="wafsync report">';
