-- name: is_empty
SELECT NOT EXISTS (SELECT 1 FROM remit.jobs) AND NOT EXISTS (SELECT 1 FROM remit.plans) AS is_empty

-- name: brief
INSERT INTO remit.briefs (digest, brief) VALUES (%(digest)s, %(brief)s) ON CONFLICT DO NOTHING

-- name: job
INSERT INTO remit.jobs (
    agent, definition, brief, request, prompt, workspace, idempotency_key, parent, root, depth, state, outcome, error,
    verdict, result, attempt, turns, tool_calls, input_tokens, output_tokens, cached_tokens, cost, max_cost, worker,
    created, started, finished, checkpoint)
VALUES (
    %(agent)s, %(definition)s, %(brief)s, %(request)s, %(prompt)s, %(workspace)s, %(key)s, NULL, NULL, 0, %(state)s,
    %(outcome)s, %(error)s, %(verdict)s, %(result)s, 1, %(turns)s, %(calls)s, %(input)s, %(output)s, %(cached)s,
    %(cost)s, %(max_cost)s, %(worker)s, %(created)s, %(started)s, %(finished)s, %(checkpoint)s)
RETURNING id

-- name: message
INSERT INTO remit.messages (job, number, attempt, message, created) VALUES (%(job)s, %(number)s, 1, %(message)s, %(at)s)

-- name: call
INSERT INTO remit.tool_calls (job, call, turn, name, arguments, state, attempt, output, started, finished)
VALUES (%(job)s, %(call)s, %(turn)s, %(name)s, %(arguments)s, 'done', 1, %(output)s, %(at)s, %(at)s)

-- name: receipt
INSERT INTO remit.receipts (job, call, receipt) VALUES (%(job)s, %(call)s, %(receipt)s)

-- name: result
INSERT INTO remit.results (job, submission, document, verdict, report, created)
VALUES (%(job)s, 1, %(document)s, %(verdict)s, %(report)s, %(at)s)

-- name: event
INSERT INTO remit.events (job, at, kind, data) VALUES (%(job)s, %(at)s, %(kind)s, %(data)s)

-- name: record_job
SELECT remit.record_job(jobs) FROM remit.jobs WHERE id = %(job)s AND state = 'finished'

-- name: plan
INSERT INTO remit.plans (name, digest, document, workspace, state, outcome, created, finished)
VALUES (%(name)s, %(digest)s, %(document)s, %(workspace)s, %(state)s, %(outcome)s, %(created)s, %(finished)s)
RETURNING id

-- name: phase
INSERT INTO remit.phases (plan, number, name, state, decision, merge)
VALUES (%(plan)s, %(number)s, %(name)s, %(state)s, %(decision)s, %(merge)s)

-- name: delegation
INSERT INTO remit.delegations (plan, phase, name, agent, state, verdict, job, result)
VALUES (%(plan)s, %(phase)s, %(agent)s, %(agent)s, %(state)s, %(verdict)s, %(job)s, %(result)s)
RETURNING id

-- name: step
INSERT INTO remit.steps (plan, delegation, at, step, reason) VALUES (%(plan)s, NULL, %(at)s, %(step)s, %(reason)s)

-- name: question
INSERT INTO remit.escalations (plan, phase, reason, created) VALUES (%(plan)s, %(phase)s, %(reason)s, %(at)s)

-- name: worker
INSERT INTO remit.workers (id, host, pid, queues, concurrency, started)
VALUES (%(id)s, %(host)s, %(pid)s, '{}', 5, %(started)s) ON CONFLICT DO NOTHING

-- name: beat
-- The worker and the job it runs stay alive.
WITH worker AS (UPDATE remit.workers SET heartbeat = now() WHERE host = %(host)s AND pid = %(pid)s RETURNING id)
UPDATE remit.jobs SET checkpoint = now() FROM worker WHERE jobs.worker = worker.id AND jobs.state = 'running'

-- name: decide
WITH added AS (
    INSERT INTO remit.decisions (id, item, verb, reviewer, note, at)
    VALUES (%(id)s, %(item)s, %(verb)s, %(reviewer)s, %(note)s, %(at)s) ON CONFLICT DO NOTHING RETURNING item
)
UPDATE remit.review_items SET state = %(state)s, decision = %(id)s, updated = %(at)s FROM added WHERE id = added.item

-- name: date_items
UPDATE remit.review_items SET created = %(at)s, updated = %(at)s WHERE plan = %(plan)s AND state = 'open'

-- name: close_outbox
UPDATE remit.outbox SET gave_up = now(), error = 'demonstration' WHERE sent IS NULL
