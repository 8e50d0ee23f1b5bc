-- Who may use the server. Only digests of tokens and of session cookies are stored.
CREATE TABLE remit.tokens (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('viewer', 'reviewer', 'operator')),
    digest bytea NOT NULL UNIQUE,
    -- A token of a link is used once, to begin a session.
    is_link boolean NOT NULL DEFAULT false,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    used timestamptz,
    revoked timestamptz
);

CREATE TABLE remit.web_sessions (
    digest bytea PRIMARY KEY,
    token bigint NOT NULL REFERENCES remit.tokens ON DELETE CASCADE,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL
);
CREATE INDEX web_sessions_token ON remit.web_sessions (token);

-- Every write over HTTP. The row is added before the write; a row without an outcome is a write that was interrupted.
CREATE TABLE remit.audit (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who text NOT NULL,
    role text NOT NULL,
    host text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    outcome text
);

-- The lists of jobs and plans, by page.
CREATE INDEX IF NOT EXISTS jobs_agent ON remit.jobs (agent, id DESC);
CREATE INDEX jobs_verdict ON remit.jobs (verdict, id) WHERE verdict IS NOT NULL;
CREATE INDEX jobs_outcome ON remit.jobs (outcome, id) WHERE outcome IS NOT NULL;
CREATE INDEX plans_state ON remit.plans (state, id);
CREATE INDEX escalations_unanswered ON remit.escalations (plan) WHERE answer IS NULL;

-- What changed, for pages that are open: one channel, and a short payload such as `job:12`. The ledger's migration
-- notifies about plans that exist and about the review queue.
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
