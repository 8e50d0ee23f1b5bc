-- name: is_empty
SELECT NOT EXISTS (SELECT 1 FROM remit.jobs) AND NOT EXISTS (SELECT 1 FROM remit.plans) AS is_empty

-- name: answers
SELECT result FROM remit.jobs WHERE agent = %(agent)s AND verdict = 'accept' ORDER BY id

-- name: items
SELECT id, kind, title, created FROM remit.review_items ORDER BY id

-- name: date
-- Move everything about a plan to another time, and stretch it.
WITH plan AS MATERIALIZED (
    SELECT id, created AS origin, %(start)s::timestamptz AS start, %(factor)s::double precision AS factor
    FROM remit.plans WHERE id = %(plan)s
), job AS MATERIALIZED (
    SELECT jobs.id FROM remit.jobs, plan WHERE idempotency_key LIKE 'plan-' || plan.id || '-%%'
), of_jobs AS (
    UPDATE remit.jobs SET
        created = start + (jobs.created - origin) * factor, started = start + (jobs.started - origin) * factor,
        finished = start + (jobs.finished - origin) * factor, checkpoint = start + (jobs.checkpoint - origin) * factor
    FROM plan WHERE jobs.id IN (SELECT id FROM job)
), of_messages AS (
    UPDATE remit.messages SET created = start + (created - origin) * factor
    FROM plan WHERE job IN (SELECT id FROM job)
), of_calls AS (
    UPDATE remit.tool_calls SET
        started = start + (started - origin) * factor, finished = start + (finished - origin) * factor
    FROM plan WHERE job IN (SELECT id FROM job)
), of_results AS (
    UPDATE remit.results SET created = start + (created - origin) * factor
    FROM plan WHERE job IN (SELECT id FROM job)
), of_events AS (
    UPDATE remit.events SET at = start + (at - origin) * factor
    FROM plan WHERE job IN (SELECT id FROM job)
), of_steps AS (
    UPDATE remit.steps SET at = start + (at - origin) * factor
    FROM plan WHERE steps.plan = plan.id
), of_questions AS (
    UPDATE remit.escalations SET created = start + (created - origin) * factor
    FROM plan WHERE escalations.plan = plan.id
), of_ledger AS (
    UPDATE remit.ledger SET at = start + (at - origin) * factor, seconds = seconds * factor
    FROM plan WHERE ledger.plan = plan.id OR job IN (SELECT id FROM job)
), of_items AS (
    -- An item of an earlier plan, which is at its time already, may belong to this one now.
    UPDATE remit.review_items SET
        created = CASE WHEN created < origin THEN created ELSE start + (created - origin) * factor END,
        updated = start + (updated - origin) * factor
    FROM plan WHERE review_items.plan = plan.id AND updated >= origin
)
UPDATE remit.plans SET created = start, finished = start + (finished - origin) * factor
FROM plan WHERE plans.id = plan.id

-- name: decide
WITH added AS (
    INSERT INTO remit.decisions (id, item, verb, reviewer, note, at)
    VALUES (%(id)s, %(item)s, %(verb)s, %(reviewer)s, %(note)s, %(at)s) ON CONFLICT DO NOTHING RETURNING item
)
UPDATE remit.review_items SET state = %(state)s, decision = %(id)s, updated = %(at)s FROM added WHERE id = added.item
