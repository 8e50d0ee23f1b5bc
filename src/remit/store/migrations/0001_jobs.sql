-- Briefs: the prompt, tools and limits of jobs. Each brief is stored once.
CREATE TABLE remit.briefs (
    digest text PRIMARY KEY,
    brief jsonb NOT NULL,
    created timestamptz NOT NULL DEFAULT now()
);

-- Workers that are alive, or were.
CREATE TABLE remit.workers (
    id uuid PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    queues text[] NOT NULL,
    concurrency integer NOT NULL,
    is_listed boolean NOT NULL DEFAULT true,
    started timestamptz NOT NULL DEFAULT now(),
    heartbeat timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE remit.jobs (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    agent text NOT NULL,
    definition jsonb,
    brief text NOT NULL REFERENCES remit.briefs,
    request jsonb NOT NULL,
    prompt text NOT NULL,
    workspace text NOT NULL,
    isolation text,
    worktree text,
    queue text NOT NULL DEFAULT 'default',
    priority integer NOT NULL DEFAULT 0,
    idempotency_key text,
    parent bigint REFERENCES remit.jobs ON DELETE SET NULL,
    root bigint,
    depth integer NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'finished')),
    outcome text CHECK (outcome IN (
        'completed', 'max-turns', 'truncated', 'refused', 'budget', 'timeout', 'cancelled', 'error')),
    error text,
    verdict text,
    result text,
    diff text,
    is_cancelled boolean NOT NULL DEFAULT false,
    attempt integer NOT NULL DEFAULT 0,
    -- How often its worker died, and the details of the last death.
    deaths integer NOT NULL DEFAULT 0,
    last_death text,
    worker uuid,
    ticket bigint,
    turns integer NOT NULL DEFAULT 0,
    tool_calls integer NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cached_tokens bigint NOT NULL DEFAULT 0,
    cost numeric NOT NULL DEFAULT 0,
    is_priced boolean NOT NULL DEFAULT true,
    -- Budgets of the job and, on the first job of a tree, of the whole tree.
    max_tokens bigint,
    max_cost numeric,
    max_seconds numeric,
    reserved_tokens bigint NOT NULL DEFAULT 0,
    reserved_cost numeric NOT NULL DEFAULT 0,
    tree_max_tokens bigint,
    tree_max_cost numeric,
    tree_tokens bigint NOT NULL DEFAULT 0,
    tree_cost numeric NOT NULL DEFAULT 0,
    tree_reserved_tokens bigint NOT NULL DEFAULT 0,
    tree_reserved_cost numeric NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now(),
    started timestamptz,
    finished timestamptz,
    checkpoint timestamptz
);
-- At most one job per key, until that job fails or is cancelled.
CREATE UNIQUE INDEX jobs_key ON remit.jobs (idempotency_key)
    WHERE idempotency_key IS NOT NULL AND (state <> 'finished' OR outcome = 'completed');
CREATE INDEX jobs_running ON remit.jobs (worker) WHERE state = 'running';
CREATE INDEX jobs_finished ON remit.jobs (finished) WHERE state = 'finished';
CREATE INDEX jobs_parent ON remit.jobs (parent) WHERE parent IS NOT NULL;
CREATE INDEX jobs_queue ON remit.jobs (queue) WHERE state = 'running';

-- The transcript is the state: one row per message, and one row per tool call.
CREATE TABLE remit.messages (
    job bigint NOT NULL REFERENCES remit.jobs ON DELETE CASCADE,
    number integer NOT NULL,
    attempt integer NOT NULL,
    message jsonb NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job, number)
);

CREATE TABLE remit.tool_calls (
    job bigint NOT NULL REFERENCES remit.jobs ON DELETE CASCADE,
    call text NOT NULL,
    turn integer NOT NULL,
    name text NOT NULL,
    arguments jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'done', 'unknown')),
    attempt integer NOT NULL,
    output text,
    is_failed boolean NOT NULL DEFAULT false,
    started timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    PRIMARY KEY (job, call)
);

CREATE TABLE remit.receipts (
    job bigint NOT NULL REFERENCES remit.jobs ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    call text NOT NULL,
    receipt jsonb NOT NULL,
    PRIMARY KEY (job, number)
);

CREATE TABLE remit.results (
    job bigint NOT NULL REFERENCES remit.jobs ON DELETE CASCADE,
    submission integer NOT NULL,
    document text NOT NULL,
    verdict text NOT NULL,
    report jsonb NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job, submission)
);

CREATE TABLE remit.events (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    job bigint NOT NULL REFERENCES remit.jobs ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL,
    data jsonb NOT NULL
);
CREATE INDEX events_job ON remit.events (job, id);

-- Concurrent requests to a provider, over all workers; and providers that get no requests for a while.
CREATE TABLE remit.slots (
    provider text NOT NULL,
    job bigint NOT NULL,
    attempt integer NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (provider, job)
);
CREATE TABLE remit.circuits (
    provider text PRIMARY KEY,
    failures integer NOT NULL DEFAULT 0,
    open_until timestamptz
);
