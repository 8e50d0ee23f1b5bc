-- How often the worker of a job died since the job finished a turn, and the turns at the last death.
ALTER TABLE remit.jobs
    ADD COLUMN deaths_in_turn integer NOT NULL DEFAULT 0,
    ADD COLUMN turns_at_death integer;
