// members.ts: the fields of the form that adds tasks. Made from the table of members by `make docs`; do not edit.
export interface Member { name: string; label: string; input: 'text' | 'number' | 'names' | 'switch'; example: string; help: string }
export const members: Member[] = [
    {"name":"model","label":"Model","input":"text","example":"","help":"the model that its agent uses for it, instead of `agents.A.model`"},
    {"name":"cwd","label":"Folder","input":"text","example":"","help":"the folder it runs in; default: that of its project. `sluice add` uses the current folder"},
    {"name":"title","label":"Title","input":"text","example":"","help":"the title in lists; default: the beginning of the prompt or the command"},
    {"name":"kind","label":"Kind","input":"text","example":"","help":"its kind: base score, cap, and when it is finished (`kinds.K.*`)"},
    {"name":"depends_on","label":"After (ids)","input":"names","example":"web-17, web-18","help":"tasks that must be `done` first: ids, external ids, or names of the same batch. Cycles are refused, with the cycle"},
    {"name":"not_before","label":"Not before","input":"text","example":"18:30","help":"it is held until then"},
    {"name":"hold","label":"hold","input":"switch","example":"","help":"held until it is released"},
    {"name":"draft","label":"only a draft","input":"switch","example":"","help":"stored, but not scheduled until it is slung; `hold` and `not_before` take effect then"},
    {"name":"priority","label":"Priority (lower first)","input":"number","example":"","help":"lower starts first; default 100"},
    {"name":"review","label":"wait for approval","input":"switch","example":"","help":"wait for `sluice approve` when it has finished; with `merge: direct` its work is merged after approval"},
    {"name":"retries","label":"Retries","input":"number","example":"","help":"number of retries after a failed run; -1: as configured (`retry.failed.max`). `sluice run` sets 0"},
    {"name":"timeout_s","label":"Time-out","input":"text","example":"30m","help":"a run is stopped and fails after this time"},
    {"name":"usd","label":"Budget in dollars","input":"text","example":"$2.50","help":"maximum cost of all its runs and of the children that they add"},
];
