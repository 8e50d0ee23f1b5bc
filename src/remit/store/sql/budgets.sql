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
