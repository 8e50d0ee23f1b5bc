-- name: lock_tree
-- Lock the first job of a tree, whose row contains the tree's budget, and then the job itself. Only the first has no
-- root, so it comes first.
SELECT id FROM remit.jobs
WHERE id = %(job)s OR id = (SELECT root FROM remit.jobs WHERE id = %(job)s)
ORDER BY root NULLS FIRST FOR UPDATE

-- name: left
SELECT
    job.max_tokens - job.input_tokens - job.output_tokens - job.written_off_tokens AS tokens,
    job.max_cost - job.cost - job.written_off_cost AS cost,
    top.tree_max_tokens - top.tree_tokens - top.tree_reserved_tokens AS tree_tokens,
    top.tree_max_cost - top.tree_cost - top.tree_reserved_cost AS tree_cost,
    top.tree_max_turns - top.tree_turns - top.tree_reserved_turns AS tree_turns
FROM remit.jobs AS job JOIN remit.jobs AS top ON top.id = coalesce(job.root, job.id)
WHERE job.id = %(job)s

-- name: free
-- Release the reservation that a job still has: it sends one request at a time, and may repeat a request.
UPDATE remit.jobs AS top SET
    tree_reserved_tokens = greatest(0, top.tree_reserved_tokens - job.reserved_tokens),
    tree_reserved_cost = greatest(0, top.tree_reserved_cost - job.reserved_cost),
    tree_reserved_turns = greatest(0, top.tree_reserved_turns - 1)
FROM remit.jobs AS job
WHERE job.id = %(job)s AND top.id = coalesce(job.root, job.id) AND job.reserved_tokens > 0

-- name: reserve
UPDATE remit.jobs SET reserved_tokens = %(tokens)s, reserved_cost = %(cost)s
WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
RETURNING id

-- name: reserve_tree
UPDATE remit.jobs SET
    tree_reserved_tokens = tree_reserved_tokens + %(tokens)s, tree_reserved_cost = tree_reserved_cost + %(cost)s,
    tree_reserved_turns = tree_reserved_turns + 1
WHERE id = %(top)s

-- name: settle_tree
-- Before `settle`. Without a reservation it was settled before, and the response was lost. Each request reserves a turn,
-- which is released if the request completes none.
UPDATE remit.jobs AS top SET
    tree_reserved_tokens = greatest(0, top.tree_reserved_tokens - %(reserved_tokens)s),
    tree_reserved_cost = greatest(0, top.tree_reserved_cost - %(reserved_cost)s),
    tree_reserved_turns = greatest(0, top.tree_reserved_turns - 1),
    tree_tokens = top.tree_tokens + %(tokens)s, tree_cost = top.tree_cost + %(cost)s,
    tree_turns = top.tree_turns + %(turns)s
FROM remit.jobs AS job
WHERE top.id = %(top)s AND job.id = %(job)s AND job.attempt = %(attempt)s AND job.reserved_tokens > 0

-- name: settle
UPDATE remit.jobs SET
    reserved_tokens = 0, reserved_cost = 0,
    broken_input = broken_input + %(input)s, broken_output = broken_output + %(output)s,
    broken_cost = broken_cost + %(cost)s::numeric,
    input_tokens = input_tokens + %(input)s, output_tokens = output_tokens + %(output)s, cost = cost + %(cost)s::numeric
WHERE id = %(job)s AND attempt = %(attempt)s AND reserved_tokens > 0

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
