// members.ts: the fields of the form that adds tasks. Made from the table of members by `make docs`; do not edit.
export interface Member { name: string; label: string; input: 'text' | 'number' | 'names' | 'switch'; example: string; help: string }
export const members: Member[] = [
    {"name":"model","label":"Model","input":"text","example":"","help":"the model that its agent uses for it, instead of `agents.A.model`"},
    {"name":"cwd","label":"Folder","input":"text","example":"","help":"the folder it runs in; else that of its project. `sluice add` takes the folder you are in"},
    {"name":"title","label":"Title","input":"text","example":"","help":"what lists show; else the beginning of the prompt or the command"},
    {"name":"kind","label":"Kind","input":"text","example":"","help":"its type: base of the score, cap, how it is finished (`kinds.K.*`)"},
    {"name":"depends_on","label":"After (ids)","input":"names","example":"web-17, web-18","help":"tasks that must be `done` first: ids, external ids, or names of the same batch. Cycles are refused, with the cycle"},
    {"name":"not_before","label":"Not before","input":"text","example":"18:30","help":"held until then"},
    {"name":"hold","label":"hold","input":"switch","example":"","help":"held until it is released"},
    {"name":"draft","label":"only a draft","input":"switch","example":"","help":"known, but not scheduled until it is slung; `hold` and `not_before` count from then on"},
    {"name":"priority","label":"Priority (lower first)","input":"number","example":"","help":"lower starts first; 100 when not given"},
    {"name":"review","label":"wait for approval","input":"switch","example":"","help":"waits for `sluice approve` when it has finished; with `merge: direct` its work is merged then"},
    {"name":"retries","label":"Retries","input":"number","example":"","help":"attempts after a failed first one; -1: as the configuration says (`retry.failed.max`). `sluice run` gives 0"},
    {"name":"timeout_s","label":"Time-out","input":"text","example":"30m","help":"a run is stopped, and has failed, after this long"},
    {"name":"usd","label":"Budget in dollars","input":"text","example":"$2.50","help":"what all its runs, and the children that they add, may cost"},
];
