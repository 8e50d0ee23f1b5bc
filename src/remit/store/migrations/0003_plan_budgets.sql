-- The first job of a plan with a budget. Its row contains the budget of all jobs of the plan.
ALTER TABLE remit.plans ADD COLUMN top bigint;
