-- The ledger: one row for each verdict on a result, and one for each merge. It stays when jobs are pruned.
CREATE TABLE remit.ledger (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- The same verdict has the same key, so that nothing is counted twice.
    key text NOT NULL UNIQUE,
    at timestamptz NOT NULL DEFAULT now(),
    source text NOT NULL CHECK (source IN ('job', 'plan', 'hook', 'check', 'verify', 'merge', 'review')),
    job bigint,
    plan bigint,
    session text,
    path text NOT NULL DEFAULT '',
    agent text NOT NULL DEFAULT '',
    definition text NOT NULL DEFAULT '',
    model text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    profile text NOT NULL DEFAULT '',
    project text NOT NULL DEFAULT '',
    revision text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT '',
    -- accept, revise or reject; the decision of a merge; empty for a job without a checked result.
    verdict text NOT NULL DEFAULT '',
    outcome text NOT NULL DEFAULT '',
    -- 1 for the first submission of a result.
    attempt integer NOT NULL DEFAULT 1,
    claimed double precision,
    supported double precision,
    verified double precision,
    inferred double precision,
    claims integer NOT NULL DEFAULT 0,
    invented integer NOT NULL DEFAULT 0,
    outcomes jsonb NOT NULL DEFAULT '{}',
    violations jsonb NOT NULL DEFAULT '{}',
    findings integer NOT NULL DEFAULT 0,
    -- Cost, tokens and turns since the previous row of the same job.
    cost numeric NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    turns integer NOT NULL DEFAULT 0,
    seconds double precision,
    is_folded boolean NOT NULL DEFAULT false
);
CREATE INDEX ledger_agent ON remit.ledger (agent, id DESC);
CREATE INDEX ledger_verdict ON remit.ledger (verdict, id DESC);
CREATE INDEX ledger_source ON remit.ledger (source, id DESC);
CREATE INDEX ledger_job ON remit.ledger (job) WHERE job IS NOT NULL;
CREATE INDEX ledger_plan ON remit.ledger (plan) WHERE plan IS NOT NULL;
CREATE INDEX ledger_session ON remit.ledger (session) WHERE session IS NOT NULL;
CREATE INDEX ledger_new ON remit.ledger (id) WHERE NOT is_folded;

-- Sums of the ledger by day and version of an agent, so that a scorecard does not read a million rows.
CREATE TABLE remit.ledger_days (
    day date NOT NULL,
    agent text NOT NULL,
    definition text NOT NULL,
    model text NOT NULL,
    runs bigint NOT NULL DEFAULT 0,
    results bigint NOT NULL DEFAULT 0,
    accepted bigint NOT NULL DEFAULT 0,
    first_tries bigint NOT NULL DEFAULT 0,
    accepted_first bigint NOT NULL DEFAULT 0,
    claims bigint NOT NULL DEFAULT 0,
    invented bigint NOT NULL DEFAULT 0,
    -- Over the results that have both scores.
    scored bigint NOT NULL DEFAULT 0,
    claimed double precision NOT NULL DEFAULT 0,
    supported double precision NOT NULL DEFAULT 0,
    cost numeric NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day, agent, definition, model)
);
CREATE INDEX ledger_days_agent ON remit.ledger_days (agent, day);

CREATE FUNCTION remit.record_job(job remit.jobs) RETURNS void LANGUAGE sql AS $$
    INSERT INTO remit.ledger (
        key, at, source, job, plan, agent, definition, model, kind, profile, project, revision, status, verdict,
        outcome, attempt, claimed, supported, verified, inferred, claims, invented, outcomes, violations, findings,
        cost, tokens, turns, seconds)
    SELECT
        'job-' || job.id || '-' || job.attempt, coalesce(job.finished, now()), 'job', job.id,
        substring(job.idempotency_key FROM '^plan-(\d{1,18})-')::bigint, job.agent,
        coalesce(job.definition ->> 'digest', ''), coalesce(brief.model, ''),
        coalesce(facts ->> 'kind', ''), coalesce(facts ->> 'profile', ''), job.workspace,
        coalesce(facts ->> 'revision', ''), coalesce(facts ->> 'status', ''), coalesce(job.verdict, ''),
        coalesce(job.outcome, ''), coalesce(checked.submission, 1),
        (facts ->> 'claimed')::double precision, (facts ->> 'supported')::double precision,
        (facts ->> 'verified')::double precision, (facts ->> 'inferred')::double precision,
        coalesce((facts ->> 'claims')::integer, 0), coalesce((facts ->> 'invented')::integer, 0),
        coalesce(facts -> 'outcomes', '{}'), coalesce(broken.rules, '{}'),
        coalesce((facts ->> 'findings')::integer, 0),
        greatest(0, job.cost - earlier.cost),
        greatest(0, job.input_tokens + job.output_tokens - earlier.tokens), greatest(0, job.turns - earlier.turns),
        extract(epoch FROM job.finished - job.started)
    FROM (
        SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(turns), 0) AS turns
        FROM remit.ledger WHERE ledger.job = job.id
    ) AS earlier
    LEFT JOIN LATERAL (
        -- The brief of a program has the default model, which is not used.
        SELECT CASE WHEN brief ->> 'command' IS NULL THEN brief ->> 'model' END AS model
        FROM remit.briefs WHERE digest = job.brief
    ) AS brief ON true
    LEFT JOIN LATERAL (
        SELECT submission, report, report -> 'facts' AS facts FROM remit.results
        WHERE results.job = job.id AND job.verdict IS NOT NULL ORDER BY submission DESC LIMIT 1
    ) AS checked ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(rule, number) AS rules FROM (
            SELECT violation ->> 'rule' AS rule, count(*) AS number
            FROM jsonb_array_elements(checked.report -> 'violations') AS violation
            WHERE violation ->> 'rule' IS NOT NULL GROUP BY 1) AS counted
    ) AS broken ON true
    ON CONFLICT (key) DO NOTHING
$$;

CREATE FUNCTION remit.on_job_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM remit.record_job(NEW);
    RETURN NULL;
END
$$;
-- A trigger: every end of a job is in the ledger, in the same transaction, whichever statement or release wrote it.
CREATE TRIGGER job_end AFTER UPDATE OF state ON remit.jobs
    FOR EACH ROW WHEN (NEW.state = 'finished' AND OLD.state <> 'finished') EXECUTE FUNCTION remit.on_job_end();
SELECT count(remit.record_job(jobs)) FROM (SELECT * FROM remit.jobs WHERE state = 'finished' ORDER BY finished) AS jobs;

-- What a person decides: findings, conflicts and results.
CREATE TABLE remit.review_items (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    key text NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('finding', 'conflict', 'result')),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'confirmed', 'rejected', 'unsure')),
    -- The order: the worst first.
    rank integer NOT NULL,
    source text NOT NULL,
    job bigint,
    plan bigint,
    session text,
    project text NOT NULL DEFAULT '',
    revision text NOT NULL DEFAULT '',
    fingerprint text NOT NULL DEFAULT '',
    agents text[] NOT NULL,
    category text NOT NULL DEFAULT '',
    severity text,
    title text NOT NULL,
    path text NOT NULL DEFAULT '',
    line integer,
    end_line integer,
    confidence double precision,
    body jsonb NOT NULL,
    locked_by text,
    locked_until timestamptz,
    skipped_by text[] NOT NULL DEFAULT '{}',
    -- The decision that counts.
    decision uuid,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX review_items_order ON remit.review_items (state, rank, id);
CREATE INDEX review_items_all ON remit.review_items (rank, id);
CREATE INDEX review_items_plan ON remit.review_items (plan) WHERE plan IS NOT NULL;
CREATE INDEX review_items_job ON remit.review_items (job) WHERE job IS NOT NULL;
CREATE INDEX review_items_locked ON remit.review_items (locked_by) WHERE locked_by IS NOT NULL;

-- What each agent stated about the finding of an item.
CREATE TABLE remit.opinions (
    item bigint NOT NULL REFERENCES remit.review_items ON DELETE CASCADE,
    agent text NOT NULL,
    definition text NOT NULL DEFAULT '',
    model text NOT NULL DEFAULT '',
    category text NOT NULL DEFAULT '',
    severity text,
    confidence double precision NOT NULL,
    claimed double precision,
    PRIMARY KEY (item, agent)
);
CREATE INDEX opinions_agent ON remit.opinions (agent, definition, model);

CREATE TABLE remit.decisions (
    -- Chosen by the sender, so that a repeated request stores nothing twice.
    id uuid PRIMARY KEY,
    item bigint NOT NULL REFERENCES remit.review_items ON DELETE CASCADE,
    verb text NOT NULL CHECK (verb IN ('confirm', 'reject', 'unsure', 'skip')),
    reviewer text NOT NULL,
    note text NOT NULL DEFAULT '',
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    undone timestamptz,
    undone_by text,
    -- The entry of a rejected finding in the file of dismissals of its checkout.
    dismissal text NOT NULL DEFAULT '' CHECK (dismissal IN ('', 'pending', 'written', 'removing', 'removed'))
);
CREATE INDEX decisions_item ON remit.decisions (item, at);
CREATE INDEX decisions_at ON remit.decisions (at DESC);
CREATE INDEX decisions_reviewer ON remit.decisions (reviewer, at DESC);
CREATE INDEX decisions_dismissal ON remit.decisions (at) WHERE dismissal IN ('pending', 'removing');

-- Notices to a webhook. A sender takes a row for a while, and repeats it until it is delivered or too old.
CREATE TABLE remit.outbox (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    key text NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('question', 'plan', 'budget', 'critical')),
    data jsonb NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    due timestamptz NOT NULL DEFAULT now(),
    tries integer NOT NULL DEFAULT 0,
    sent timestamptz,
    gave_up timestamptz,
    error text
);
CREATE INDEX outbox_due ON remit.outbox (due) WHERE sent IS NULL AND gave_up IS NULL;

CREATE FUNCTION remit.add_notice(notice text, key text, data jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO remit.outbox (key, kind, data) VALUES (key, notice, data) ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION remit.on_question() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM remit.add_notice('question', 'question-' || NEW.id,
            jsonb_build_object('question', NEW.id, 'plan', NEW.plan, 'reason', left(NEW.reason, 2000)));
    END IF;
    PERFORM pg_notify('remit_plans', NEW.plan::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER question AFTER INSERT OR UPDATE ON remit.escalations
    FOR EACH ROW EXECUTE FUNCTION remit.on_question();

CREATE FUNCTION remit.on_plan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The plans and questions of an orchestrator are steps of its job.
    IF NEW.state = 'finished' AND NEW.digest !~ '^(question|orchestrate)-' THEN
        PERFORM remit.add_notice('plan', 'plan-' || NEW.id,
            jsonb_build_object('plan', NEW.id, 'name', left(NEW.name, 500), 'outcome', NEW.outcome));
    END IF;
    PERFORM pg_notify('remit_plans', NEW.id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER plan_state AFTER UPDATE OF state ON remit.plans
    FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION remit.on_plan();

CREATE FUNCTION remit.on_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('remit_plans', NEW.plan::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER phase_state AFTER UPDATE ON remit.phases FOR EACH ROW EXECUTE FUNCTION remit.on_phase();
CREATE TRIGGER delegation_state AFTER UPDATE ON remit.delegations FOR EACH ROW EXECUTE FUNCTION remit.on_phase();

CREATE FUNCTION remit.on_usage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used record;
BEGIN
    FOR used IN
        SELECT * FROM (VALUES
            ('cost', NEW.cost + NEW.written_off_cost, NEW.max_cost),
            ('tokens', (NEW.input_tokens + NEW.output_tokens + NEW.written_off_tokens)::numeric, NEW.max_tokens::numeric),
            ('tree-cost', NEW.tree_cost, NEW.tree_max_cost),
            ('tree-tokens', NEW.tree_tokens::numeric, NEW.tree_max_tokens::numeric)
        ) AS budgets (name, amount, budget)
        WHERE budget > 0 AND amount >= 0.8 * budget
    LOOP
        PERFORM remit.add_notice('budget', 'budget-' || NEW.id || '-' || used.name,
            jsonb_build_object('job', NEW.id, 'agent', NEW.agent, 'budget', used.name, 'used', used.amount,
                'limit', used.budget));
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER usage AFTER UPDATE OF cost, input_tokens, output_tokens, tree_cost, tree_tokens ON remit.jobs
    FOR EACH ROW WHEN (
        NEW.cost + NEW.written_off_cost >= 0.8 * NEW.max_cost
        OR NEW.input_tokens + NEW.output_tokens + NEW.written_off_tokens >= 0.8 * NEW.max_tokens
        OR NEW.tree_cost >= 0.8 * NEW.tree_max_cost OR NEW.tree_tokens >= 0.8 * NEW.tree_max_tokens)
    EXECUTE FUNCTION remit.on_usage();

CREATE FUNCTION remit.on_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.severity = 'critical' AND NEW.kind <> 'result' THEN
            PERFORM remit.add_notice('critical', 'critical-' || NEW.id, jsonb_build_object(
                'item', NEW.id, 'title', left(NEW.title, 500), 'path', left(NEW.path, 500), 'line', NEW.line,
                'agents', NEW.agents, 'confidence', NEW.confidence));
        END IF;
    END IF;
    PERFORM pg_notify('remit_review', NEW.id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER item AFTER INSERT OR UPDATE ON remit.review_items FOR EACH ROW EXECUTE FUNCTION remit.on_item();

-- Lists of one agent's jobs, page by page.
CREATE INDEX IF NOT EXISTS jobs_agent ON remit.jobs (agent, id DESC);
