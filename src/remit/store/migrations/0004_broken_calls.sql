-- What calls to a model took that broke off, as far as it is known: a part of the job's tokens and cost.
ALTER TABLE remit.jobs ADD COLUMN broken_input bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN broken_output bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN broken_cost numeric NOT NULL DEFAULT 0;
-- What was set aside for calls of which nothing is known, for their worker died: the budget counts it as used.
ALTER TABLE remit.jobs ADD COLUMN written_off_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE remit.jobs ADD COLUMN written_off_cost numeric NOT NULL DEFAULT 0;
