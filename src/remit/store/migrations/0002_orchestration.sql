-- Plans: phases of delegations. The rows are the state: if the driver of a plan dies, another process continues.
CREATE TABLE remit.plans (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    digest text NOT NULL,
    document jsonb NOT NULL,
    workspace text NOT NULL,
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'waiting', 'finished', 'cancelled')),
    outcome text,
    driver uuid,
    heartbeat timestamptz NOT NULL DEFAULT now(),
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz
);
CREATE INDEX plans_open ON remit.plans (digest) WHERE state IN ('running', 'waiting');

CREATE TABLE remit.phases (
    plan bigint NOT NULL REFERENCES remit.plans ON DELETE CASCADE,
    number integer NOT NULL,
    name text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'finished')),
    decision text,
    round integer NOT NULL DEFAULT 1,
    merge jsonb,
    PRIMARY KEY (plan, number)
);

CREATE TABLE remit.delegations (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    plan bigint NOT NULL REFERENCES remit.plans ON DELETE CASCADE,
    phase integer NOT NULL,
    name text NOT NULL,
    agent text NOT NULL,
    state text NOT NULL DEFAULT 'queued' CHECK (state IN (
        'queued', 'running', 'accepted', 'rejected', 'failed', 'escalated', 'skipped')),
    verdict text,
    job bigint,
    retries integer NOT NULL DEFAULT 0,
    corrections integer NOT NULL DEFAULT 0,
    scope text,
    fallback jsonb,
    result text,
    error text,
    warnings text[] NOT NULL DEFAULT '{}',
    UNIQUE (plan, phase, name)
);

-- The steps of a plan with their reasons, in order.
CREATE TABLE remit.steps (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    plan bigint NOT NULL REFERENCES remit.plans ON DELETE CASCADE,
    delegation bigint REFERENCES remit.delegations ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    step text NOT NULL,
    reason text NOT NULL
);
CREATE INDEX steps_plan ON remit.steps (plan, id);

CREATE TABLE remit.escalations (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    plan bigint NOT NULL REFERENCES remit.plans ON DELETE CASCADE,
    delegation bigint REFERENCES remit.delegations ON DELETE CASCADE,
    phase integer NOT NULL,
    reason text NOT NULL,
    answer text,
    words text,
    is_applied boolean NOT NULL DEFAULT false,
    created timestamptz NOT NULL DEFAULT now(),
    answered timestamptz
);
CREATE UNIQUE INDEX escalations_open ON remit.escalations (plan, phase, coalesce(delegation, 0)) WHERE NOT is_applied;
