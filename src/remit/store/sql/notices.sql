-- name: take
-- Take notices that are due. Another sender takes them again after the lease, if this one dies.
UPDATE remit.outbox SET tries = tries + 1, due = now() + make_interval(secs => %(lease)s)
WHERE id IN (
    SELECT id FROM remit.outbox
    WHERE sent IS NULL AND gave_up IS NULL AND due <= now() ORDER BY due, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
RETURNING id, key, kind, data, created, tries

-- name: sent
UPDATE remit.outbox SET sent = now(), error = NULL WHERE id = %(notice)s AND sent IS NULL

-- name: failed
UPDATE remit.outbox SET
    error = %(error)s, due = now() + make_interval(secs => %(delay)s),
    gave_up = CASE WHEN %(is_last)s THEN now() END
WHERE id = %(notice)s AND sent IS NULL

-- name: expire
-- Notices that were not sent for a day are old news; a webhook that is configured later does not get them.
UPDATE remit.outbox SET gave_up = now(), error = coalesce(error, 'no webhook was configured')
WHERE sent IS NULL AND gave_up IS NULL AND created < now() - interval '1 day'

-- name: prune
DELETE FROM remit.outbox WHERE created < now() - interval '30 days' AND (sent IS NOT NULL OR gave_up IS NOT NULL)

-- name: is_known
SELECT 1 AS known FROM remit.outbox WHERE key = %(key)s

-- name: day
-- Add a notice if jobs have spent 80 percent of the budget of a day: what those cost that finished since, or run now.
WITH spent AS (
    SELECT
        (SELECT coalesce(sum(cost), 0) FROM remit.jobs WHERE state = 'finished' AND finished >= %(since)s)
        + (SELECT coalesce(sum(cost), 0) FROM remit.jobs WHERE state = 'running') AS amount
)
SELECT remit.add_notice('budget', %(key)s, jsonb_build_object('budget', 'day', 'used', amount, 'limit', %(budget)s::numeric))
FROM spent WHERE amount >= 0.8 * %(budget)s::numeric
