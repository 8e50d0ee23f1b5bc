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
        cached_tokens = %(cached)s, cost = %(cost)s, is_priced = is_priced AND %(is_priced)s,
        result = coalesce(%(partial)s, result)
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
    RETURNING id
), saved AS (
    INSERT INTO remit.messages (job, number, attempt, message)
    SELECT id, %(number)s, %(attempt)s, %(message)s FROM held
    ON CONFLICT (job, number) DO UPDATE SET message = excluded.message, attempt = excluded.attempt
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

-- name: ended_calls
-- Part of the other statements: calls that have ended, with their starts, which a crash of the database may have lost, and
-- their receipts. Those that are stored already stay as they are, so each is counted exactly once.
ended AS (
    SELECT held.id AS job, call.* FROM held, ROWS FROM (jsonb_to_recordset(%(calls)s) AS (
        call text, turn integer, name text, arguments jsonb, output text, is_failed boolean, receipt jsonb,
        seconds double precision)) WITH ORDINALITY AS call
), done AS (
    INSERT INTO remit.tool_calls AS begun
        (job, call, turn, name, arguments, state, attempt, output, is_failed, started, finished)
    SELECT job, call, turn, name, arguments, 'done', %(attempt)s, output, is_failed,
        now() - make_interval(secs => seconds), now()
    FROM ended
    ON CONFLICT (job, call) DO UPDATE SET
        state = excluded.state, attempt = excluded.attempt, output = excluded.output, is_failed = excluded.is_failed,
        finished = least(now(), begun.started + (excluded.finished - excluded.started))
    WHERE begun.state = 'pending'
    RETURNING call
), noted AS (
    INSERT INTO remit.receipts (job, call, receipt)
    SELECT job, call, receipt FROM ended JOIN done USING (call) WHERE receipt IS NOT NULL ORDER BY ordinality
)

-- name: record_calls
WITH held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running' FOR UPDATE
), {ended_calls}, told AS ({tell})
UPDATE remit.jobs SET checkpoint = now(), tool_calls = tool_calls + (SELECT count(*) FROM done)
FROM held WHERE jobs.id = held.id
RETURNING jobs.id, ({notify}) AS told

-- name: tree
-- Part of the other statements: lock the row of the tree, which is its first job, and then the job, in this order for all.
-- The rows are what they are after the lock. What follows changes both with one `UPDATE`: they may be the same row.
FROM remit.jobs WHERE id = ANY (ARRAY[%(job)s, (SELECT root FROM remit.jobs WHERE id = %(job)s)])
ORDER BY root NULLS FIRST FOR UPDATE

-- name: saved_message
-- Part of the other statements: store a message, if there is one.
saved AS (
    INSERT INTO remit.messages (job, number, attempt, message)
    SELECT id, %(number)s::integer, %(attempt)s, %(message)s::jsonb FROM held WHERE %(number)s::integer IS NOT NULL
    ON CONFLICT (job, number) DO UPDATE SET message = excluded.message, attempt = excluded.attempt
)

-- name: tell_turn
-- Part of the statements of a turn: store the events, in their order.
INSERT INTO remit.events (job, kind, data)
SELECT held.id, event ->> 'kind', event -> 'data'
FROM held, jsonb_array_elements(%(events)s) WITH ORDINALITY AS listed (event, place)
ORDER BY place

-- name: notify_turn
-- Part of the statements of a turn: notify the listeners on commit.
CASE WHEN %(events)s::jsonb <> '[]' THEN pg_notify('remit_events', held.id::text) END

-- name: begin_turn
-- Store a request and the calls whose outputs it has, and reserve what it needs at most. A reservation that the job still
-- has is released before: it sends one request at a time, and may repeat one. `exceeded` names the budget that does not
-- allow the request; then nothing is reserved, and the rest is stored. The usage so far was stored with the last response.
WITH locked AS MATERIALIZED (
    SELECT id, root, attempt, state, max_tokens, max_cost, input_tokens, output_tokens, cost, written_off_tokens,
        written_off_cost, reserved_tokens, reserved_cost, tree_max_tokens, tree_max_cost, tree_max_turns, tree_tokens,
        tree_cost, tree_turns, tree_reserved_tokens, tree_reserved_cost, tree_reserved_turns
    {tree}
), unused AS (
    SELECT job.id, top.id AS top,
        job.max_tokens - job.input_tokens - job.output_tokens - job.written_off_tokens AS tokens,
        job.max_cost - job.cost - job.written_off_cost AS cost,
        top.tree_max_tokens - top.tree_tokens - kept.tokens AS tree_tokens,
        top.tree_max_cost - top.tree_cost - kept.cost AS tree_cost,
        top.tree_max_turns - top.tree_turns - kept.turns AS tree_turns,
        kept.tokens AS kept_tokens, kept.cost AS kept_cost, kept.turns AS kept_turns
    FROM locked AS job JOIN locked AS top ON top.id = coalesce(job.root, job.id)
    CROSS JOIN LATERAL (
        SELECT greatest(0, top.tree_reserved_tokens - job.reserved_tokens) AS tokens,
            greatest(0, top.tree_reserved_cost - job.reserved_cost) AS cost,
            greatest(0, top.tree_reserved_turns - (job.reserved_tokens > 0)::integer) AS turns
    ) AS kept
    WHERE job.id = %(job)s AND job.attempt = %(attempt)s AND job.state = 'running'
), payable AS (
    SELECT unused.*, trunc((unused.cost::float8 - %(input_cost)s) / nullif(%(output_price)s, 0)) AS output,
        trunc((unused.tree_cost::float8 - %(input_cost)s) / nullif(%(output_price)s, 0)) AS tree_output
    FROM unused
), judged AS (
    SELECT payable.*,
        least(%(wanted_output)s, tokens - %(wanted_input)s, tree_tokens - %(wanted_input)s, payable.output,
            tree_output)::bigint AS granted,
        CASE
            WHEN tree_turns < 1 THEN 'tree_turns'
            WHEN tokens - %(wanted_input)s < %(min_output)s THEN 'tokens'
            WHEN tree_tokens - %(wanted_input)s < %(min_output)s THEN 'tree_tokens'
            WHEN cost IS NOT NULL AND coalesce(payable.output, 0) < %(min_output)s THEN 'cost'
            WHEN tree_cost IS NOT NULL AND coalesce(tree_output, 0) < %(min_output)s THEN 'tree_cost'
        END AS exceeded
    FROM payable
), held AS (
    SELECT id, top, kept_tokens, kept_cost, kept_turns, granted, exceeded,
        CASE exceeded WHEN 'tokens' THEN tokens WHEN 'tree_tokens' THEN tree_tokens WHEN 'cost' THEN cost
            WHEN 'tree_cost' THEN tree_cost END AS left,
        CASE WHEN exceeded IS NULL THEN %(wanted_input)s + granted ELSE 0 END AS new_tokens,
        CASE WHEN exceeded IS NULL THEN %(input_cost)s + granted * %(output_price)s ELSE 0 END::numeric AS new_cost
    FROM judged
), {ended_calls}, {saved_message}, told AS ({tell_turn}), changed AS (
    UPDATE remit.jobs SET
        checkpoint = CASE WHEN jobs.id = held.id THEN now() ELSE checkpoint END,
        tool_calls = tool_calls + CASE WHEN jobs.id = held.id THEN (SELECT count(*) FROM done) ELSE 0 END,
        reserved_tokens = CASE WHEN jobs.id = held.id THEN new_tokens ELSE reserved_tokens END,
        reserved_cost = CASE WHEN jobs.id = held.id THEN new_cost ELSE reserved_cost END,
        tree_reserved_tokens = CASE WHEN jobs.id = top THEN kept_tokens + new_tokens ELSE tree_reserved_tokens END,
        tree_reserved_cost = CASE WHEN jobs.id = top THEN kept_cost + new_cost ELSE tree_reserved_cost END,
        tree_reserved_turns = CASE
            WHEN jobs.id = top THEN kept_turns + (exceeded IS NULL)::integer ELSE tree_reserved_turns END
    FROM held WHERE jobs.id IN (held.id, held.top)
)
SELECT top, granted, new_tokens, new_cost::float8, exceeded, held.left, {notify_turn} AS told,
    (SELECT extract(epoch FROM open_until - now())::float8 FROM remit.circuits
        WHERE provider = %(provider)s AND open_until > now()) AS wait
FROM held

-- name: end_turn
-- Store a response, release its reservation and count what it used. Without a reservation it was counted before, and the
-- answer of the database was lost. The usage of the job so far is set, not added, so that a repeated write changes nothing.
-- A provider that has answered has no failures. `begun` are the calls of the response that start at once; `new_calls` are
-- those that were not stored before.
WITH locked AS MATERIALIZED (
    SELECT id, attempt, state, reserved_tokens {tree}
), held AS (
    SELECT id, reserved_tokens > 0 AS is_reserved FROM locked
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
), answered AS (
    UPDATE remit.circuits SET failures = 0, open_until = NULL
    WHERE provider = %(provider)s AND (failures > 0 OR open_until IS NOT NULL)
), {saved_message}, begun AS (
    INSERT INTO remit.tool_calls (job, call, turn, name, arguments, state, attempt)
    SELECT held.id, begun.call, begun.turn, begun.name, begun.arguments, 'pending', %(attempt)s
    FROM held, jsonb_to_recordset(%(begun)s) AS begun (call text, turn integer, name text, arguments jsonb)
    ON CONFLICT (job, call) DO NOTHING
    RETURNING call
), told AS ({tell_turn}), changed AS (
    UPDATE remit.jobs SET
        checkpoint = CASE WHEN jobs.id = held.id THEN now() ELSE checkpoint END,
        turns = CASE WHEN jobs.id = held.id THEN coalesce(%(turns)s, turns) ELSE turns END,
        input_tokens = CASE WHEN jobs.id = held.id THEN coalesce(%(input)s, input_tokens) ELSE input_tokens END,
        output_tokens = CASE WHEN jobs.id = held.id THEN coalesce(%(output)s, output_tokens) ELSE output_tokens END,
        cached_tokens = CASE WHEN jobs.id = held.id THEN coalesce(%(cached)s, cached_tokens) ELSE cached_tokens END,
        cost = CASE WHEN jobs.id = held.id THEN coalesce(%(cost)s::numeric, jobs.cost) ELSE jobs.cost END,
        is_priced = is_priced AND (jobs.id <> held.id OR coalesce(%(is_priced)s, true)),
        result = CASE WHEN jobs.id = held.id THEN coalesce(%(partial)s::text, result) ELSE result END,
        reserved_tokens = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_tokens END,
        reserved_cost = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_cost END,
        tree_reserved_tokens = CASE WHEN jobs.id = %(top)s AND is_reserved
            THEN greatest(0, tree_reserved_tokens - %(reserved_tokens)s) ELSE tree_reserved_tokens END,
        tree_reserved_cost = CASE WHEN jobs.id = %(top)s AND is_reserved
            THEN greatest(0, tree_reserved_cost - %(reserved_cost)s::numeric) ELSE tree_reserved_cost END,
        tree_reserved_turns = CASE WHEN jobs.id = %(top)s AND is_reserved
            THEN greatest(0, tree_reserved_turns - 1) ELSE tree_reserved_turns END,
        tree_tokens = tree_tokens + CASE WHEN jobs.id = %(top)s AND is_reserved THEN %(used_tokens)s ELSE 0 END,
        tree_cost = tree_cost + CASE WHEN jobs.id = %(top)s AND is_reserved THEN %(used_cost)s::numeric ELSE 0 END,
        tree_turns = tree_turns + CASE WHEN jobs.id = %(top)s AND is_reserved THEN 1 ELSE 0 END
    FROM held WHERE jobs.id IN (held.id, %(top)s)
)
SELECT id, {notify_turn} AS told, ARRAY(SELECT call FROM begun) AS new_calls FROM held

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

-- name: lock_tree
-- Lock the first job of a tree, whose row contains the tree's budget, and then the job itself. Only the first has no
-- root, so it comes first.
SELECT id FROM remit.jobs
WHERE id = %(job)s OR id = (SELECT root FROM remit.jobs WHERE id = %(job)s)
ORDER BY root NULLS FIRST FOR UPDATE

-- name: settle_broken
-- After `lock_tree`: release the reservation of an interrupted request, and count what it used. Without a reservation it
-- was settled before, and the response was lost. The request completes no turn.
WITH answered AS (
    UPDATE remit.circuits SET failures = 0, open_until = NULL
    WHERE provider = %(provider)s AND (failures > 0 OR open_until IS NOT NULL)
), held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND attempt = %(attempt)s AND reserved_tokens > 0
)
UPDATE remit.jobs SET
    reserved_tokens = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_tokens END,
    reserved_cost = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_cost END,
    broken_input = broken_input + CASE WHEN jobs.id = held.id THEN %(input)s ELSE 0 END,
    broken_output = broken_output + CASE WHEN jobs.id = held.id THEN %(output)s ELSE 0 END,
    broken_cost = broken_cost + CASE WHEN jobs.id = held.id THEN %(cost)s::numeric ELSE 0 END,
    input_tokens = input_tokens + CASE WHEN jobs.id = held.id THEN %(input)s ELSE 0 END,
    output_tokens = output_tokens + CASE WHEN jobs.id = held.id THEN %(output)s ELSE 0 END,
    cost = cost + CASE WHEN jobs.id = held.id THEN %(cost)s::numeric ELSE 0 END,
    is_priced = is_priced AND (jobs.id <> held.id OR %(is_priced)s),
    tree_reserved_tokens = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_tokens - %(reserved_tokens)s) ELSE tree_reserved_tokens END,
    tree_reserved_cost = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_cost - %(reserved_cost)s::numeric) ELSE tree_reserved_cost END,
    tree_reserved_turns = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_turns - 1) ELSE tree_reserved_turns END,
    tree_tokens = tree_tokens + CASE WHEN jobs.id = %(top)s THEN %(input)s + %(output)s ELSE 0 END,
    tree_cost = tree_cost + CASE WHEN jobs.id = %(top)s THEN %(cost)s::numeric ELSE 0 END
FROM held WHERE jobs.id IN (held.id, %(top)s)

-- name: seconds_left
-- The seconds that a job may still run by the database's clock: by its own limit or its tree's, whichever ends first.
SELECT least(own.seconds, tree.seconds) AS seconds,
    coalesce(tree.seconds < coalesce(own.seconds, 'infinity'), false) AS is_tree
FROM remit.jobs AS job
JOIN remit.jobs AS top ON top.id = coalesce(job.root, job.id)
CROSS JOIN LATERAL (
    SELECT (job.max_seconds - extract(epoch FROM now() - coalesce(job.started, now())))::double precision AS seconds
) AS own
CROSS JOIN LATERAL (
    SELECT (top.tree_max_seconds - extract(epoch FROM now() - coalesce(top.started, now())))::double precision
        AS seconds
) AS tree
WHERE job.id = %(job)s
