-- name: parent_state
-- The caller has locked the parent.
SELECT is_cancelled OR outcome IS NOT DISTINCT FROM 'cancelled' AS is_cancelled FROM remit.jobs WHERE id = %(parent)s

-- name: tree_cost
-- The cost limit of the tree that a new job would belong to.
SELECT top.tree_max_cost AS cost FROM remit.jobs AS job JOIN remit.jobs AS top ON top.id = coalesce(job.root, job.id)
WHERE job.id = %(job)s
