-- name: open_by_digest
SELECT id FROM remit.plans
WHERE (digest = %(digest)s OR digest = %(earlier)s::text OR starts_with(digest, %(earlier)s::text || ' '))
    AND workspace = %(workspace)s AND state IN ('running', 'waiting') ORDER BY id DESC LIMIT 1

-- name: insert
INSERT INTO remit.plans (name, digest, document, workspace)
VALUES (%(name)s, %(digest)s, %(document)s, %(workspace)s) RETURNING id

-- name: insert_phase
INSERT INTO remit.phases (plan, number, name) VALUES (%(plan)s, %(number)s, %(name)s)

-- name: insert_delegation
INSERT INTO remit.delegations (plan, phase, name, agent) VALUES (%(plan)s, %(phase)s, %(name)s, %(agent)s)

-- name: get
SELECT id, name, digest, document, workspace, state, outcome, created, finished FROM remit.plans WHERE id = %(plan)s

-- name: acquire_lease
-- One driver at a time: it keeps the lease as long as it renews it.
UPDATE remit.plans SET driver = %(driver)s, heartbeat = now()
WHERE id = %(plan)s AND (driver IS NULL OR driver = %(driver)s
    OR heartbeat < now() - make_interval(secs => %(timeout)s))
RETURNING id

-- name: renew_lease
-- Only the current driver can renew. A driver that was frozen and lost the lease cannot renew it.
UPDATE remit.plans SET heartbeat = now() WHERE id = %(plan)s AND driver = %(driver)s RETURNING id

-- name: lock_lease
-- The driver's writes commit before another process can acquire the lease, or not at all.
SELECT id FROM remit.plans WHERE id = %(plan)s AND driver = %(driver)s FOR SHARE

-- name: lease_holder
SELECT driver, heartbeat FROM remit.plans WHERE id = %(plan)s

-- name: release_lease
UPDATE remit.plans SET driver = NULL WHERE id = %(plan)s AND driver = %(driver)s

-- name: set_state
UPDATE remit.plans SET state = %(state)s, outcome = %(outcome)s,
    finished = CASE WHEN %(state)s IN ('finished', 'cancelled') THEN now() ELSE NULL END
WHERE id = %(plan)s

-- name: cancel_of_job
-- Cancel the plans and questions of a cancelled orchestrator.
WITH ended AS (
    UPDATE remit.plans SET state = 'cancelled', finished = now(), driver = NULL
    WHERE (starts_with(digest, 'orchestrate-' || %(job)s::bigint || '-')
            OR starts_with(digest, 'question-' || %(job)s::bigint || '-'))
        AND state IN ('running', 'waiting')
    RETURNING id
), closed AS (
    UPDATE remit.escalations SET
        answer = 'cancel', words = 'its orchestrator was cancelled', is_applied = true, answered = now()
    FROM ended WHERE plan = ended.id AND answer IS NULL
)
UPDATE remit.delegations SET
    state = CASE state WHEN 'queued' THEN 'skipped' ELSE 'failed' END, error = 'its orchestrator was cancelled'
FROM ended WHERE plan = ended.id AND state IN ('queued', 'running', 'escalated')

-- name: cancel
-- Cancel a plan and close its questions. Its driver loses the lease.
WITH ended AS (
    UPDATE remit.plans SET state = 'cancelled', finished = now(), driver = NULL
    WHERE id = %(plan)s AND state IN ('running', 'waiting')
    RETURNING id
), closed AS (
    UPDATE remit.escalations SET
        answer = coalesce(answer, 'cancel'), words = coalesce(words, %(why)s), is_applied = true,
        answered = coalesce(answered, now())
    FROM ended WHERE plan = ended.id AND NOT is_applied
), stopped AS (
    UPDATE remit.delegations SET
        state = CASE state WHEN 'queued' THEN 'skipped' ELSE 'failed' END, error = coalesce(error, %(why)s)
    FROM ended WHERE plan = ended.id AND state IN ('queued', 'running', 'escalated')
)
SELECT id FROM ended

-- name: open_of_job
SELECT id FROM remit.plans
WHERE (starts_with(digest, 'orchestrate-' || %(job)s::bigint || '-')
        OR starts_with(digest, 'question-' || %(job)s::bigint || '-'))
    AND state IN ('running', 'waiting')

-- name: top
SELECT top FROM remit.plans WHERE id = %(plan)s

-- name: set_top
UPDATE remit.plans SET top = %(job)s WHERE id = %(plan)s AND top IS NULL

-- name: phases
SELECT number, name, state, decision, round, CASE WHEN %(whole)s THEN merge END AS merge
FROM remit.phases WHERE plan = %(plan)s ORDER BY number

-- name: set_phase
UPDATE remit.phases SET state = %(state)s, decision = %(decision)s, merge = %(merge)s, round = %(round)s
WHERE plan = %(plan)s AND number = %(number)s

-- name: delegations
SELECT id, plan, phase, name, agent, state, verdict, job, retries, corrections, scope, error, warnings,
    CASE WHEN %(whole)s THEN result END AS result, CASE WHEN %(whole)s THEN fallback END AS fallback,
    CASE WHEN %(whole)s THEN (
        SELECT report -> 'reported' FROM remit.results WHERE results.job = delegations.job ORDER BY submission DESC LIMIT 1
    ) END AS reported
FROM remit.delegations
WHERE plan = %(plan)s AND (%(phases)s::integer[] IS NULL OR phase = ANY (%(phases)s::integer[])) ORDER BY phase, id

-- name: delegations_by_id
SELECT id, plan, phase, name, agent, state, verdict, job, retries, corrections, scope, error, warnings, result,
    fallback, (
        SELECT report -> 'reported' FROM remit.results WHERE results.job = delegations.job ORDER BY submission DESC LIMIT 1
    ) AS reported
FROM remit.delegations WHERE id = ANY (%(ids)s::bigint[]) ORDER BY phase, id

-- name: ended_jobs
-- Jobs of a plan that did not complete, by their keys. Other jobs are found by their key with `jobs.by_key`.
SELECT idempotency_key AS key, id FROM remit.jobs
WHERE plan = %(plan)s AND state = 'finished' AND outcome <> 'completed' ORDER BY id

-- name: set_delegation
UPDATE remit.delegations SET
    state = %(state)s, verdict = %(verdict)s, job = %(job)s, retries = %(retries)s, corrections = %(corrections)s,
    scope = %(scope)s, fallback = %(fallback)s, result = %(result)s, error = %(error)s, warnings = %(warnings)s
WHERE id = %(id)s

-- name: not_running
SELECT id, state, priority FROM remit.jobs WHERE id = ANY (%(jobs)s::bigint[]) AND state <> 'running'

-- name: uses
SELECT jobs.id, turns, input_tokens + output_tokens AS tokens, CASE WHEN is_priced THEN cost END AS cost,
    extract(epoch FROM coalesce(jobs.finished, now()) - jobs.started) AS seconds, jobs.created, jobs.started,
    jobs.finished
FROM remit.delegations JOIN remit.jobs ON jobs.id = delegations.job WHERE delegations.plan = %(plan)s

-- name: add_step
INSERT INTO remit.steps (plan, delegation, step, reason) VALUES (%(plan)s, %(delegation)s, %(step)s, %(reason)s)

-- name: steps
SELECT s.id, s.delegation, s.at, s.step, s.reason, d.name
FROM remit.steps s LEFT JOIN remit.delegations d ON d.id = s.delegation
WHERE s.plan = %(plan)s AND s.id > %(after)s ORDER BY s.id

-- name: escalate
INSERT INTO remit.escalations (plan, delegation, phase, reason)
SELECT %(plan)s, %(delegation)s::bigint, %(phase)s, %(reason)s
WHERE NOT EXISTS (
    SELECT 1 FROM remit.escalations
    WHERE plan = %(plan)s AND phase = %(phase)s AND delegation IS NOT DISTINCT FROM %(delegation)s::bigint
        AND NOT is_applied)
ON CONFLICT DO NOTHING

-- name: escalation_columns
    e.id, e.plan, e.delegation, e.phase, e.reason, e.answer, e.words, e.is_applied, e.created, e.answered,
    d.agent, d.name AS delegation_name

-- name: escalations
SELECT {escalation_columns}
FROM remit.escalations e LEFT JOIN remit.delegations d ON d.id = e.delegation
WHERE (%(plan)s::bigint IS NULL OR e.plan = %(plan)s) ORDER BY e.id

-- name: open_escalations
-- An orchestrator's question is open as long as the orchestrator can receive the answer: it is running or has completed
-- its turn. A retry of an orchestrator that did not complete opens its questions again.
SELECT {escalation_columns}
FROM remit.escalations e
    JOIN remit.plans p ON p.id = e.plan
    LEFT JOIN remit.delegations d ON d.id = e.delegation
    LEFT JOIN remit.jobs o ON o.id = substring(p.digest FROM '^(?:question|orchestrate)-(\d+)-')::bigint
WHERE (%(plan)s::bigint IS NULL OR e.plan = %(plan)s) AND e.answer IS NULL AND p.state IN ('running', 'waiting')
    AND (p.digest !~ '^(question|orchestrate)-\d+-' OR o.outcome = 'completed'
        OR o.state <> 'finished' AND NOT o.is_cancelled)
ORDER BY e.id

-- name: escalation
SELECT {escalation_columns}
FROM remit.escalations e LEFT JOIN remit.delegations d ON d.id = e.delegation
WHERE e.id = %(escalation)s

-- name: answer
UPDATE remit.escalations SET answer = %(answer)s, words = %(words)s, answered = now()
FROM remit.plans
WHERE escalations.id = %(escalation)s AND answer IS NULL
    AND plans.id = escalations.plan AND plans.state IN ('running', 'waiting')
RETURNING escalations.plan

-- name: applied
UPDATE remit.escalations SET is_applied = true WHERE id = %(escalation)s

-- name: by_digest
SELECT id, state FROM remit.plans WHERE digest = %(digest)s ORDER BY id DESC LIMIT 1

-- name: of_job
SELECT id, state, digest FROM remit.plans WHERE starts_with(digest, %(prefix)s) ORDER BY id

-- name: calls_of_job
-- The calls of an orchestrator and of its subagents, in the order in which they ended; without calls, only the runner.
SELECT receipts.receipt, coalesce(briefs.brief ->> 'runner', 'model') AS runner
FROM remit.jobs
JOIN remit.briefs ON briefs.digest = jobs.brief
LEFT JOIN remit.plans ON plans.id = jobs.plan
LEFT JOIN remit.receipts ON receipts.job = jobs.id
WHERE jobs.id = %(job)s OR starts_with(plans.digest, %(prefix)s)
ORDER BY receipts.number

-- name: asked_of_job
SELECT DISTINCT delegations.agent FROM remit.delegations JOIN remit.plans ON plans.id = delegations.plan
WHERE starts_with(plans.digest, %(prefix)s)

-- name: delete_orphans
-- Unfinished plans and questions of orchestrators whose jobs have been removed.
DELETE FROM remit.plans
WHERE state IN ('running', 'waiting') AND digest ~ '^(question|orchestrate)-\d+-' AND NOT EXISTS (
    SELECT 1 FROM remit.jobs
    WHERE jobs.id = substring(plans.digest FROM '^(?:question|orchestrate)-(\d+)-')::bigint)

-- name: related
-- A plan, and the other plans of the orchestrator that made it.
SELECT other.id
FROM remit.plans AS own JOIN remit.plans AS other
    ON other.id = own.id OR starts_with(other.digest, substring(own.digest FROM '^orchestrate-[0-9]+-'))
WHERE own.id = %(plan)s
ORDER BY other.id
LIMIT 1000
