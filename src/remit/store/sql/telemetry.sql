-- name: job
-- A finished job with what its span is part of: the job that started it, the first job of its tree, its plan.
SELECT jobs.id, jobs.agent, jobs.definition, jobs.outcome, jobs.verdict, jobs.attempt, jobs.queue,
    jobs.input_tokens, jobs.output_tokens, jobs.cost, jobs.created, jobs.started, jobs.finished,
    briefs.brief ->> 'model' AS model, briefs.brief ->> 'runner' AS runner,
    first.id AS first, first.created AS first_created, above.id AS above, above.created AS above_created,
    plans.id AS plan, plans.created AS plan_created
FROM remit.jobs
JOIN remit.briefs ON briefs.digest = jobs.brief
JOIN remit.jobs AS first ON first.id = coalesce(jobs.root, jobs.id)
LEFT JOIN remit.jobs AS above ON above.id = jobs.parent
LEFT JOIN remit.plans ON plans.id = first.plan
    AND plans.workspace = first.workspace
WHERE jobs.id = %(job)s AND jobs.state = 'finished'

-- name: messages
SELECT message, created FROM remit.messages WHERE job = %(job)s ORDER BY number

-- name: calls
SELECT call, name, arguments, output, is_failed, started, finished FROM remit.tool_calls
WHERE job = %(job)s AND finished IS NOT NULL ORDER BY started, call

-- name: results
SELECT submission, verdict, report, created FROM remit.results WHERE job = %(job)s ORDER BY submission

-- name: plan
SELECT id, name, state, outcome, created, finished FROM remit.plans WHERE id = %(plan)s

-- name: queue
SELECT queue, state, count(*) AS number FROM remit.jobs WHERE state <> 'finished' GROUP BY queue, state
