-- name: messages
SELECT number, message FROM remit.messages WHERE job = %(job)s ORDER BY number

-- name: broken
SELECT broken_input AS input, broken_output AS output, broken_cost AS cost FROM remit.jobs WHERE id = %(job)s

-- name: tell
-- Part of the other statements: store the events that go with a write, in their order.
INSERT INTO remit.events (job, kind, data)
SELECT held.id, event ->> 'kind', event -> 'data'
FROM held, jsonb_array_elements(%(events)s) WITH ORDINALITY AS listed (event, place)
ORDER BY place RETURNING job

-- name: notify
-- Part of the other statements: notify the listeners on commit.
SELECT count(pg_notify('remit_events', job::text)) FROM told

-- name: save_message
-- Sums are set, not added, so that a repeated write after a lost response changes nothing.
WITH held AS (
    UPDATE remit.jobs SET
        checkpoint = now(), turns = %(turns)s, input_tokens = %(input)s, output_tokens = %(output)s,
        cached_tokens = %(cached)s, cost = %(cost)s, is_priced = %(is_priced)s,
        result = coalesce(%(partial)s, result)
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
    RETURNING id
), saved AS (
    INSERT INTO remit.messages (job, number, attempt, message)
    SELECT id, %(number)s, %(attempt)s, %(message)s FROM held
    ON CONFLICT (job, number) DO UPDATE SET message = excluded.message, attempt = excluded.attempt
), told AS ({tell})
SELECT id, ({notify}) AS told FROM held

-- name: add_events
WITH held AS (
    SELECT id FROM remit.jobs
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running' FOR NO KEY UPDATE
), told AS ({tell})
SELECT id, ({notify}) AS told FROM held

-- name: last_calls
SELECT turn, name, arguments, output, is_failed FROM remit.tool_calls
WHERE job = %(job)s AND state = 'done'
    AND turn > (SELECT max(turn) FROM remit.tool_calls WHERE job = %(job)s) - 10
ORDER BY turn, finished

-- name: begin_call
-- Return the call as it was before. Store it as pending and add its events, unless it has ended or must not be repeated.
-- Nothing waits until the start of a read-only call is on the disk: if it is lost, the call runs again.
WITH held AS (
    UPDATE remit.jobs SET checkpoint = now()
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
    RETURNING id
), earlier AS (
    SELECT name, arguments, state, output, is_failed FROM remit.tool_calls WHERE job = %(job)s AND call = %(call)s
), begun AS (
    INSERT INTO remit.tool_calls (job, call, turn, name, arguments, state, attempt)
    SELECT id, %(call)s, %(turn)s, %(name)s, %(arguments)s, 'pending', %(attempt)s FROM held
    ON CONFLICT (job, call) DO UPDATE SET attempt = excluded.attempt
        WHERE tool_calls.state = 'pending' AND %(is_repeatable)s
    RETURNING job AS id
), told AS (
    INSERT INTO remit.events (job, kind, data)
    SELECT begun.id, event ->> 'kind', event -> 'data' FROM begun, jsonb_array_elements(%(events)s) AS event
    RETURNING job
)
SELECT earlier.*, ({notify}) AS told,
    CASE WHEN %(is_read_only)s THEN set_config('synchronous_commit', 'off', true) END AS commit
FROM held LEFT JOIN earlier ON true

-- name: finish_call
-- A call is counted when it stops being pending, so exactly once even if several end together or the write is repeated.
WITH held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running' FOR UPDATE
), done AS (
    UPDATE remit.tool_calls SET
        state = %(state)s, output = %(output)s, is_failed = %(is_failed)s, finished = now()
    FROM held WHERE tool_calls.job = held.id AND call = %(call)s AND tool_calls.state = 'pending'
    RETURNING job, call
), noted AS (
    INSERT INTO remit.receipts (job, call, receipt)
    SELECT job, call, %(receipt)s::jsonb FROM done WHERE %(receipt)s::jsonb IS NOT NULL
), told AS ({tell})
UPDATE remit.jobs SET checkpoint = now(), tool_calls = tool_calls + (SELECT count(*) FROM done)
FROM held WHERE jobs.id = held.id
RETURNING jobs.id, ({notify}) AS told

-- name: record_call
-- Store a call that has ended, and its start again, which a crash of the database may have lost. Counted like `finish_call`.
WITH held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running' FOR UPDATE
), done AS (
    INSERT INTO remit.tool_calls AS begun
        (job, call, turn, name, arguments, state, attempt, output, is_failed, finished)
    SELECT id, %(call)s, %(turn)s, %(name)s, %(arguments)s, 'done', %(attempt)s, %(output)s, %(is_failed)s, now() FROM held
    ON CONFLICT (job, call) DO UPDATE SET
        state = excluded.state, attempt = excluded.attempt, output = excluded.output, is_failed = excluded.is_failed,
        finished = least(now(), begun.started + make_interval(secs => %(seconds)s))
    WHERE begun.state = 'pending'
    RETURNING job, call
), noted AS (
    INSERT INTO remit.receipts (job, call, receipt)
    SELECT job, call, %(receipt)s::jsonb FROM done WHERE %(receipt)s::jsonb IS NOT NULL
), told AS ({tell})
UPDATE remit.jobs SET checkpoint = now(), tool_calls = tool_calls + (SELECT count(*) FROM done)
FROM held WHERE jobs.id = held.id
RETURNING jobs.id, ({notify}) AS told

-- name: receipts
SELECT receipt FROM remit.receipts WHERE job = %(job)s ORDER BY number

-- name: save_result
WITH held AS (
    UPDATE remit.jobs SET checkpoint = now()
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
    RETURNING id
)
INSERT INTO remit.results (job, submission, document, verdict, report)
SELECT id, %(submission)s, %(document)s, %(verdict)s, %(report)s FROM held
ON CONFLICT (job, submission) DO UPDATE SET document = excluded.document, verdict = excluded.verdict, report = excluded.report
RETURNING submission

-- name: results
SELECT submission, document, verdict, report FROM remit.results WHERE job = %(job)s ORDER BY submission

-- name: answers
-- The number of messages of the caller after the task itself.
SELECT count(*) - 1 AS corrections FROM remit.messages
WHERE job = %(job)s AND message -> 'parts' @> '[{"part_kind": "user-prompt"}]'
