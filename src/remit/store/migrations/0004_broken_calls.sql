-- The known usage of interrupted calls to a model. It is part of the job's tokens and cost.
ALTER TABLE remit.jobs ADD COLUMN broken_input bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN broken_output bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN broken_cost numeric NOT NULL DEFAULT 0;
-- Reservations of calls with unknown usage, because their worker died. The budget counts them as used.
ALTER TABLE remit.jobs ADD COLUMN written_off_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN written_off_cost numeric NOT NULL DEFAULT 0;
-- Workers of earlier versions have prepared `SELECT *`, and a statement whose columns have changed fails until its
-- connection ends. So end their connections: they connect again, as after a restart of the server, and lose nothing.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
    AND application_name ~ '^remit [0-9]+$';
