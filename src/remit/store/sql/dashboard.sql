-- name: states
-- Each state has its own partial index.
SELECT (SELECT count(*) FROM remit.jobs WHERE state = 'queued') AS queued,
    (SELECT count(*) FROM remit.jobs WHERE state = 'running') AS running

-- name: today
-- The jobs that finished since midnight of the server's time zone.
SELECT count(*) AS finished, count(*) FILTER (WHERE verdict IS NOT NULL) AS judged,
    count(*) FILTER (WHERE verdict = 'accept') AS accepted, count(*) FILTER (WHERE outcome = 'completed') AS completed,
    coalesce(sum(cost), 0) AS cost, coalesce(sum(input_tokens + output_tokens), 0) AS tokens
FROM remit.jobs WHERE state = 'finished' AND finished >= %(since)s

-- name: running_cost
SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(input_tokens + output_tokens), 0) AS tokens
FROM remit.jobs WHERE state = 'running'

-- name: active
-- Running jobs and the next of the queue. `is_stuck`: no step for a while, or no heartbeat of the worker.
SELECT jobs.id, jobs.agent, jobs.state, jobs.queue, jobs.turns, jobs.cost, jobs.is_priced, jobs.created, jobs.started,
    jobs.checkpoint, left(jobs.prompt, 1000) AS prompt, workers.host, workers.pid,
    jobs.state = 'running' AND (
        coalesce(jobs.checkpoint, jobs.started) < now() - make_interval(secs => %(stuck)s)
        OR workers.heartbeat IS NULL OR workers.heartbeat < now() - make_interval(secs => %(timeout)s)) AS is_stuck
FROM remit.jobs LEFT JOIN remit.workers ON workers.id = jobs.worker
WHERE jobs.state = %(state)s ORDER BY jobs.id LIMIT %(limit)s

-- name: workers
SELECT id, host, pid, queues, concurrency, started, heartbeat,
    heartbeat > now() - make_interval(secs => %(timeout)s) AS is_alive,
    (SELECT count(*) FROM remit.jobs WHERE jobs.worker = workers.id AND state = 'running') AS running
FROM remit.workers WHERE is_listed ORDER BY heartbeat DESC LIMIT 50

-- name: open_questions
SELECT count(*) AS questions FROM remit.escalations JOIN remit.plans ON plans.id = escalations.plan
WHERE escalations.answer IS NULL AND plans.state IN ('running', 'waiting')

-- name: row_columns
    id, agent, state, outcome, verdict, queue, parent, turns, tool_calls, input_tokens + output_tokens AS tokens, cost,
    is_priced, created, started, finished, left(prompt, 1000) AS prompt, left(error, 160) AS error

-- name: jobs
-- One page of jobs, the newest first: those before a number.
SELECT {row_columns} FROM remit.jobs
WHERE (%(before)s::bigint IS NULL OR id < %(before)s) ORDER BY id DESC LIMIT %(limit)s

-- name: jobs_by_state
SELECT {row_columns} FROM remit.jobs
WHERE state = %(state)s AND (%(before)s::bigint IS NULL OR id < %(before)s)
    AND (%(agent)s::text IS NULL OR agent = %(agent)s) ORDER BY id DESC LIMIT %(limit)s

-- name: jobs_by_verdict
SELECT {row_columns} FROM remit.jobs
WHERE verdict = %(verdict)s AND (%(before)s::bigint IS NULL OR id < %(before)s)
    AND (%(agent)s::text IS NULL OR agent = %(agent)s) ORDER BY id DESC LIMIT %(limit)s

-- name: jobs_by_outcome
SELECT {row_columns} FROM remit.jobs
WHERE outcome = %(outcome)s AND (%(before)s::bigint IS NULL OR id < %(before)s)
    AND (%(agent)s::text IS NULL OR agent = %(agent)s) ORDER BY id DESC LIMIT %(limit)s

-- name: jobs_by_agent
SELECT {row_columns} FROM remit.jobs
WHERE agent = %(agent)s AND (%(before)s::bigint IS NULL OR id < %(before)s) ORDER BY id DESC LIMIT %(limit)s

-- name: jobs_by_words
-- A page of the newest jobs whose task contains some words.
SELECT {row_columns} FROM (
    SELECT * FROM remit.jobs WHERE %(before)s::bigint IS NULL OR id < %(before)s ORDER BY id DESC LIMIT %(searched)s
) AS newest
WHERE prompt ILIKE %(words)s AND (%(state)s::text IS NULL OR state = %(state)s)
    AND (%(verdict)s::text IS NULL OR verdict = %(verdict)s) AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s)
    AND (%(agent)s::text IS NULL OR agent = %(agent)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: agents
-- The names of all agents, one step in the index for each.
WITH RECURSIVE names AS (
    (SELECT agent FROM remit.jobs ORDER BY agent LIMIT 1)
    UNION ALL
    SELECT (SELECT agent FROM remit.jobs WHERE agent > names.agent ORDER BY agent LIMIT 1)
    FROM names WHERE names.agent IS NOT NULL
)
SELECT agent FROM names WHERE agent IS NOT NULL LIMIT 200

-- name: tree
-- The tree that a job belongs to: its first job and all below it.
SELECT {row_columns}, depth FROM remit.jobs WHERE id = %(top)s
UNION ALL
(SELECT {row_columns}, depth FROM remit.jobs WHERE root = %(top)s AND id <> %(top)s ORDER BY id LIMIT %(limit)s)

-- name: messages
SELECT number, message, created FROM remit.messages WHERE job = %(job)s ORDER BY number LIMIT %(limit)s

-- name: calls
SELECT call, turn, name, arguments, state, left(output, %(characters)s) AS output, length(output) AS length, is_failed,
    started, finished
FROM remit.tool_calls WHERE job = %(job)s ORDER BY turn, started LIMIT %(limit)s

-- name: receipts
SELECT number, call, receipt FROM remit.receipts WHERE job = %(job)s ORDER BY number LIMIT %(limit)s

-- name: last_events
SELECT id, job, at, kind, data FROM remit.events WHERE job = %(job)s ORDER BY id DESC LIMIT %(limit)s

-- name: plan_of_job
SELECT plan FROM remit.delegations WHERE job = %(job)s LIMIT 1

-- name: plans
SELECT plans.id, name, state, outcome, created, finished,
    (SELECT count(*) FROM remit.delegations WHERE plan = plans.id) AS delegations,
    (SELECT count(*) FROM remit.delegations WHERE plan = plans.id AND delegations.state = 'accepted') AS accepted,
    (SELECT count(*) FROM remit.escalations WHERE plan = plans.id AND answer IS NULL) AS questions
FROM remit.plans
WHERE (%(before)s::bigint IS NULL OR plans.id < %(before)s) AND (%(state)s::text IS NULL OR state = %(state)s)
    AND (%(words)s::text IS NULL OR name ILIKE %(words)s)
ORDER BY plans.id DESC LIMIT %(limit)s

-- name: steps
SELECT s.id, s.at, s.step, s.reason, d.name
FROM remit.steps s LEFT JOIN remit.delegations d ON d.id = s.delegation
WHERE s.plan = %(plan)s ORDER BY s.id DESC LIMIT %(limit)s

-- name: returned_results
-- The last results that were sent back or rejected, the newest first.
SELECT returned.job, returned.created, returned.violations, jobs.agent, jobs.state, jobs.verdict
FROM (
    SELECT job, created, report -> 'violations' AS violations FROM remit.results
    WHERE verdict <> 'accept' AND created >= %(since)s ORDER BY created DESC LIMIT %(limit)s
) AS returned
JOIN remit.jobs ON jobs.id = returned.job
ORDER BY returned.created DESC
