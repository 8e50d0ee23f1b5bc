-- name: lock_tree
-- Lock the first job of a tree, whose row contains the tree's budget, and then the job itself. Only the first has no
-- root, so it comes first.
SELECT id FROM remit.jobs
WHERE id = %(job)s OR id = (SELECT root FROM remit.jobs WHERE id = %(job)s)
ORDER BY root NULLS FIRST FOR UPDATE

-- name: reserve
-- After `lock_tree`. Release the reservation that a job still has, because it sends one request at a time and may repeat
-- a request, and reserve what the next request needs at most. `exceeded` names the budget that does not allow a request:
-- then nothing is reserved. One statement changes the row of the job and that of its tree, which may be the same.
WITH held AS (
    SELECT job.id, top.id AS top,
        job.max_tokens - job.input_tokens - job.output_tokens - job.written_off_tokens AS tokens,
        job.max_cost - job.cost - job.written_off_cost AS cost,
        top.tree_max_tokens - top.tree_tokens - kept.tokens AS tree_tokens,
        top.tree_max_cost - top.tree_cost - kept.cost AS tree_cost,
        top.tree_max_turns - top.tree_turns - kept.turns AS tree_turns,
        kept.tokens AS kept_tokens, kept.cost AS kept_cost, kept.turns AS kept_turns
    FROM remit.jobs AS job JOIN remit.jobs AS top ON top.id = coalesce(job.root, job.id)
    CROSS JOIN LATERAL (
        SELECT greatest(0, top.tree_reserved_tokens - job.reserved_tokens) AS tokens,
            greatest(0, top.tree_reserved_cost - job.reserved_cost) AS cost,
            greatest(0, top.tree_reserved_turns - (job.reserved_tokens > 0)::integer) AS turns
    ) AS kept
    WHERE job.id = %(job)s AND job.attempt = %(attempt)s AND job.state = 'running'
), payable AS (
    SELECT held.*, trunc((held.cost::float8 - %(input_cost)s) / nullif(%(output_price)s, 0)) AS output,
        trunc((held.tree_cost::float8 - %(input_cost)s) / nullif(%(output_price)s, 0)) AS tree_output
    FROM held
), judged AS (
    SELECT payable.*,
        least(%(output)s, tokens - %(input)s, tree_tokens - %(input)s, payable.output, tree_output)::bigint AS granted,
        CASE
            WHEN tree_turns < 1 THEN 'tree_turns'
            WHEN tokens - %(input)s < %(min_output)s THEN 'tokens'
            WHEN tree_tokens - %(input)s < %(min_output)s THEN 'tree_tokens'
            WHEN cost IS NOT NULL AND coalesce(payable.output, 0) < %(min_output)s THEN 'cost'
            WHEN tree_cost IS NOT NULL AND coalesce(tree_output, 0) < %(min_output)s THEN 'tree_cost'
        END AS exceeded
    FROM payable
), decided AS (
    SELECT judged.*,
        CASE WHEN exceeded IS NULL THEN %(input)s + granted ELSE 0 END AS new_tokens,
        CASE WHEN exceeded IS NULL THEN %(input_cost)s + granted * %(output_price)s ELSE 0 END::numeric AS new_cost
    FROM judged
)
UPDATE remit.jobs SET
    reserved_tokens = CASE WHEN jobs.id = decided.id THEN new_tokens ELSE reserved_tokens END,
    reserved_cost = CASE WHEN jobs.id = decided.id THEN new_cost ELSE reserved_cost END,
    tree_reserved_tokens = CASE WHEN jobs.id = top THEN kept_tokens + new_tokens ELSE tree_reserved_tokens END,
    tree_reserved_cost = CASE WHEN jobs.id = top THEN kept_cost + new_cost ELSE tree_reserved_cost END,
    tree_reserved_turns = CASE
        WHEN jobs.id = top THEN kept_turns + (exceeded IS NULL)::integer ELSE tree_reserved_turns END
FROM decided WHERE jobs.id IN (decided.id, decided.top)
RETURNING top, granted, new_tokens, new_cost::float8, exceeded,
    CASE exceeded WHEN 'tokens' THEN tokens WHEN 'tree_tokens' THEN decided.tree_tokens WHEN 'cost' THEN decided.cost
        WHEN 'tree_cost' THEN decided.tree_cost END AS left,
    (SELECT extract(epoch FROM open_until - now())::float8 FROM remit.circuits
        WHERE provider = %(provider)s AND open_until > now()) AS wait

-- name: settle
-- After `lock_tree`. Without a reservation it was settled before, and the response was lost. Each request reserves a turn,
-- which is released if the request completes none. A provider that has answered has no failures.
WITH answered AS (
    UPDATE remit.circuits SET failures = 0, open_until = NULL
    WHERE provider = %(provider)s AND (failures > 0 OR open_until IS NOT NULL)
), held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND attempt = %(attempt)s AND reserved_tokens > 0
)
UPDATE remit.jobs SET
    reserved_tokens = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_tokens END,
    reserved_cost = CASE WHEN jobs.id = held.id THEN 0 ELSE reserved_cost END,
    broken_input = broken_input + CASE WHEN jobs.id = held.id THEN %(broken_input)s ELSE 0 END,
    broken_output = broken_output + CASE WHEN jobs.id = held.id THEN %(broken_output)s ELSE 0 END,
    broken_cost = broken_cost + CASE WHEN jobs.id = held.id THEN %(broken_cost)s::numeric ELSE 0 END,
    input_tokens = input_tokens + CASE WHEN jobs.id = held.id THEN %(broken_input)s ELSE 0 END,
    output_tokens = output_tokens + CASE WHEN jobs.id = held.id THEN %(broken_output)s ELSE 0 END,
    cost = cost + CASE WHEN jobs.id = held.id THEN %(broken_cost)s::numeric ELSE 0 END,
    tree_reserved_tokens = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_tokens - %(reserved_tokens)s) ELSE tree_reserved_tokens END,
    tree_reserved_cost = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_cost - %(reserved_cost)s::numeric) ELSE tree_reserved_cost END,
    tree_reserved_turns = CASE WHEN jobs.id = %(top)s
        THEN greatest(0, tree_reserved_turns - 1) ELSE tree_reserved_turns END,
    tree_tokens = tree_tokens + CASE WHEN jobs.id = %(top)s THEN %(tokens)s ELSE 0 END,
    tree_cost = tree_cost + CASE WHEN jobs.id = %(top)s THEN %(cost)s::numeric ELSE 0 END,
    tree_turns = tree_turns + CASE WHEN jobs.id = %(top)s THEN %(turns)s ELSE 0 END
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
