-- The first job of a plan that has a budget: its row is where the budget of all of them is kept.
ALTER TABLE remit.plans ADD COLUMN top bigint;
