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
    -- The project whose jobs it takes; NULL: those of all projects.
    project text,
    -- The queues that it takes; none: all of them.
    queues text[] NOT NULL,
    concurrency integer NOT NULL,
    is_listed boolean NOT NULL DEFAULT true,
    started timestamptz NOT NULL DEFAULT now(),
    heartbeat timestamptz NOT NULL DEFAULT now(),
    -- When it last returned after a pause without heartbeats: other workers may not have returned yet.
    back timestamptz,
    -- When it last checked the other workers. A worker whose event loop hangs has a heartbeat, but does not check.
    looked timestamptz NOT NULL DEFAULT now()
);

-- The name of a queue for procrastinate, which selects tickets by it. It is only computed here, and never read apart.
CREATE FUNCTION remit.ticket_queue(project text, queue text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN left(encode(sha256(convert_to(project || E'\n' || queue, 'UTF8')), 'hex'), 40);

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
    -- The name of the project, else the real path of its checkout. A worker takes only jobs of its own project.
    project text NOT NULL DEFAULT '',
    queue text NOT NULL DEFAULT 'default',
    ticket_queue text NOT NULL GENERATED ALWAYS AS (remit.ticket_queue(project, queue)) STORED,
    -- The plan that submitted the job.
    plan bigint,
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
    -- How often its worker died since the job finished a turn, and the turns at the last death.
    deaths_in_turn integer NOT NULL DEFAULT 0,
    turns_at_death integer,
    worker uuid,
    ticket bigint,
    turns integer NOT NULL DEFAULT 0,
    tool_calls integer NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cached_tokens bigint NOT NULL DEFAULT 0,
    cost numeric NOT NULL DEFAULT 0,
    is_priced boolean NOT NULL DEFAULT true,
    -- The known usage of interrupted calls to a model. It is part of the job's tokens and cost.
    broken_input bigint NOT NULL DEFAULT 0,
    broken_output bigint NOT NULL DEFAULT 0,
    broken_cost numeric NOT NULL DEFAULT 0,
    -- Reservations of calls with unknown usage, because their worker died. The budget counts them as used.
    written_off_tokens bigint NOT NULL DEFAULT 0,
    written_off_cost numeric NOT NULL DEFAULT 0,
    -- Budgets of the job and, on the first job of a tree, of the whole tree.
    max_tokens bigint,
    max_cost numeric,
    max_seconds numeric,
    reserved_tokens bigint NOT NULL DEFAULT 0,
    reserved_cost numeric NOT NULL DEFAULT 0,
    tree_max_tokens bigint,
    tree_max_cost numeric,
    tree_max_turns bigint,
    tree_max_seconds numeric,
    tree_tokens bigint NOT NULL DEFAULT 0,
    tree_cost numeric NOT NULL DEFAULT 0,
    tree_turns bigint NOT NULL DEFAULT 0,
    tree_reserved_tokens bigint NOT NULL DEFAULT 0,
    tree_reserved_cost numeric NOT NULL DEFAULT 0,
    tree_reserved_turns bigint NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now(),
    -- The earliest start. A job whose queue was full is woken when another job ends, but not before this time.
    due timestamptz,
    started timestamptz,
    finished timestamptz,
    checkpoint timestamptz
);
-- At most one job per key of a project or of a plan, until that job fails or is cancelled.
CREATE UNIQUE INDEX jobs_key ON remit.jobs (project, coalesce(plan, 0), idempotency_key)
    WHERE idempotency_key IS NOT NULL AND (state <> 'finished' OR outcome = 'completed');
CREATE INDEX jobs_running ON remit.jobs (worker) WHERE state = 'running';
CREATE INDEX jobs_finished ON remit.jobs (finished) WHERE state = 'finished';
CREATE INDEX jobs_parent ON remit.jobs (parent) WHERE parent IS NOT NULL;
CREATE INDEX jobs_queue ON remit.jobs (queue) WHERE state = 'running';
-- The search for stuck jobs, and waiting jobs in order.
CREATE INDEX jobs_queued ON remit.jobs (id) WHERE state = 'queued';
CREATE INDEX jobs_waiting ON remit.jobs (queue, priority DESC, id) WHERE state = 'queued';
CREATE INDEX jobs_plan ON remit.jobs (plan) WHERE plan IS NOT NULL;
CREATE INDEX jobs_project ON remit.jobs (project, id);
CREATE INDEX jobs_root ON remit.jobs (root) WHERE root IS NOT NULL;
CREATE INDEX jobs_brief ON remit.jobs (brief);
-- Lists of jobs, page by page.
CREATE INDEX jobs_agent ON remit.jobs (agent, id DESC);
CREATE INDEX jobs_agent_state ON remit.jobs (agent, state, id);
CREATE INDEX jobs_ended ON remit.jobs (id) WHERE state = 'finished';
CREATE INDEX jobs_verdict ON remit.jobs (verdict, id) WHERE verdict IS NOT NULL;
CREATE INDEX jobs_outcome ON remit.jobs (outcome, id) WHERE outcome IS NOT NULL;
-- The tickets of a job; tickets that a worker holds; and tickets in the queues of commands, which may be lost.
CREATE INDEX remit_tickets ON procrastinate_jobs ((args ->> 'job')) WHERE task_name = 'remit.run';
CREATE INDEX remit_held_tickets ON procrastinate_jobs (id) WHERE status = 'doing';
CREATE INDEX remit_command_tickets ON procrastinate_jobs (queue_name) WHERE starts_with(queue_name, 'run-');

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

-- The overview shows the last results that were sent back or rejected.
CREATE INDEX results_returned ON remit.results (created DESC) WHERE verdict <> 'accept';

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

-- Plans: phases of delegations. The rows are the state: if the driver of a plan dies, another process continues.
CREATE TABLE remit.plans (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    digest text NOT NULL,
    document jsonb NOT NULL,
    workspace text NOT NULL,
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'waiting', 'finished', 'cancelled')),
    outcome text,
    -- The first job of a plan with a budget. Its row contains the budget of all jobs of the plan.
    top bigint,
    driver uuid,
    heartbeat timestamptz NOT NULL DEFAULT now(),
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz
);
CREATE INDEX plans_open ON remit.plans (digest) WHERE state IN ('running', 'waiting');
CREATE INDEX plans_digest ON remit.plans (digest);
CREATE INDEX plans_state ON remit.plans (state, id);

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
CREATE INDEX delegations_job ON remit.delegations (job) WHERE job IS NOT NULL;

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
CREATE INDEX steps_delegation ON remit.steps (delegation) WHERE delegation IS NOT NULL;

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
CREATE INDEX escalations_plan ON remit.escalations (plan);
CREATE INDEX escalations_delegation ON remit.escalations (delegation) WHERE delegation IS NOT NULL;
CREATE INDEX escalations_unanswered ON remit.escalations (plan) WHERE answer IS NULL;

-- What changed in a plan, for its driver and for pages that are open.
CREATE FUNCTION remit.notify_plan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('remit_plans', NEW.id::text);
    RETURN NULL;
END
$$;
CREATE FUNCTION remit.notify_plan_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('remit_plans', NEW.plan::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER question AFTER INSERT OR UPDATE ON remit.escalations FOR EACH ROW
    EXECUTE FUNCTION remit.notify_plan_of_row();
CREATE TRIGGER plan_state AFTER UPDATE OF state ON remit.plans
    FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION remit.notify_plan();
CREATE TRIGGER phase_state AFTER UPDATE ON remit.phases FOR EACH ROW
    EXECUTE FUNCTION remit.notify_plan_of_row();
CREATE TRIGGER delegation_state AFTER UPDATE ON remit.delegations FOR EACH ROW
    EXECUTE FUNCTION remit.notify_plan_of_row();

-- What changed, for pages that are open: one channel, and a short payload such as `job:12`.
CREATE FUNCTION remit.notify_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('remit_changed', TG_ARGV[0] || CASE WHEN TG_ARGV[0] = 'workers' THEN '' ELSE ':' || NEW.id END);
    RETURN NULL;
END
$$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OF state, is_cancelled ON remit.jobs
    FOR EACH ROW EXECUTE FUNCTION remit.notify_change('job');
CREATE TRIGGER changed AFTER INSERT ON remit.plans
    FOR EACH ROW EXECUTE FUNCTION remit.notify_change('plan');
CREATE TRIGGER changed AFTER INSERT OR UPDATE OF heartbeat OR DELETE ON remit.workers
    FOR EACH ROW EXECUTE FUNCTION remit.notify_change('workers');
