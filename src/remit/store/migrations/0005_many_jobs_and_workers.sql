-- What would otherwise be looked for among all jobs and plans there ever were.
CREATE INDEX jobs_waiting ON remit.jobs (queue, priority DESC, id) WHERE state = 'queued';
CREATE INDEX jobs_root ON remit.jobs (root) WHERE root IS NOT NULL;
CREATE INDEX jobs_brief ON remit.jobs (brief);
CREATE INDEX plans_digest ON remit.plans (digest);
CREATE INDEX delegations_job ON remit.delegations (job) WHERE job IS NOT NULL;
CREATE INDEX steps_delegation ON remit.steps (delegation) WHERE delegation IS NOT NULL;
CREATE INDEX escalations_plan ON remit.escalations (plan);
CREATE INDEX escalations_delegation ON remit.escalations (delegation) WHERE delegation IS NOT NULL;
-- When a worker was last heard of again after a silence: others that were silent with it may not have spoken yet.
ALTER TABLE remit.workers ADD COLUMN back timestamptz;
-- When it last looked after others. One that only beats, for its event loop hangs, is not waited for.
ALTER TABLE remit.workers ADD COLUMN looked timestamptz NOT NULL DEFAULT now();
-- Not to be started before; a job whose queue was full is woken as soon as there is room, but not earlier than this.
ALTER TABLE remit.jobs ADD COLUMN due timestamptz;
-- Turns and wall time of whole trees, kept where their other budgets are.
ALTER TABLE remit.jobs ADD COLUMN tree_max_turns bigint;
ALTER TABLE remit.jobs ADD COLUMN tree_max_seconds numeric;
ALTER TABLE remit.jobs ADD COLUMN tree_turns bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN tree_reserved_turns bigint NOT NULL DEFAULT 0;
