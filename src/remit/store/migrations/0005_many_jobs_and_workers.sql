-- Indexes that avoid a scan of all jobs and plans.
CREATE INDEX jobs_waiting ON remit.jobs (queue, priority DESC, id) WHERE state = 'queued';
CREATE INDEX jobs_root ON remit.jobs (root) WHERE root IS NOT NULL;
CREATE INDEX jobs_brief ON remit.jobs (brief);
CREATE INDEX plans_digest ON remit.plans (digest);
CREATE INDEX delegations_job ON remit.delegations (job) WHERE job IS NOT NULL;
CREATE INDEX steps_delegation ON remit.steps (delegation) WHERE delegation IS NOT NULL;
CREATE INDEX escalations_plan ON remit.escalations (plan);
CREATE INDEX escalations_delegation ON remit.escalations (delegation) WHERE delegation IS NOT NULL;
-- When a worker last returned after a pause without heartbeats: other workers may not have returned yet.
ALTER TABLE remit.workers ADD COLUMN back timestamptz;
-- When it last checked the other workers. A worker whose event loop hangs has a heartbeat, but does not check.
ALTER TABLE remit.workers ADD COLUMN looked timestamptz NOT NULL DEFAULT now();
-- The earliest start. A job whose queue was full is woken when another job ends, but not before this time.
ALTER TABLE remit.jobs ADD COLUMN due timestamptz;
-- Turns and wall time of whole trees, next to their other budgets.
ALTER TABLE remit.jobs ADD COLUMN tree_max_turns bigint;
ALTER TABLE remit.jobs ADD COLUMN tree_max_seconds numeric;
ALTER TABLE remit.jobs ADD COLUMN tree_turns bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN tree_reserved_turns bigint NOT NULL DEFAULT 0;
