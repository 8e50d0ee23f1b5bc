-- name: add
-- Only the owner of the job adds events. Listeners are notified on commit. The lock makes the numbers of one job's
-- events ascend in the order in which they are committed.
WITH held AS (
    SELECT id FROM remit.jobs WHERE id = %(job)s AND (%(attempt)s::integer IS NULL OR attempt = %(attempt)s)
    FOR NO KEY UPDATE
), added AS (
    INSERT INTO remit.events (job, kind, data) SELECT id, %(kind)s, %(data)s FROM held RETURNING id, job
)
SELECT id, pg_notify('remit_events', job::text) FROM added

-- name: since
SELECT id, job, at, kind, data FROM remit.events
WHERE id > %(after)s AND (%(job)s::bigint IS NULL OR job = %(job)s)
ORDER BY id LIMIT %(limit)s

-- name: of_numbers
SELECT id, job, at, kind, data FROM remit.events WHERE id = ANY (%(numbers)s::bigint[]) ORDER BY id

-- name: unfinished_text
-- The text of an unfinished answer. There may be several tries since the last finished answer: return the longest text
-- of the last turn that has any.
WITH streamed AS (
    SELECT id, kind, data, count(*) FILTER (WHERE kind <> 'text') OVER (ORDER BY id) AS try FROM remit.events
    WHERE job = %(job)s AND kind IN ('text', 'turn', 'started') AND id > coalesce(
        (SELECT max(id) FROM remit.events WHERE job = %(job)s AND kind = 'usage'), 0)
), tries AS (
    SELECT try, max((data ->> 'turn')::integer) AS turn, string_agg(data ->> 'text', '' ORDER BY id) AS text
    FROM streamed GROUP BY try
)
SELECT text FROM tries WHERE text IS NOT NULL ORDER BY turn DESC NULLS LAST, length(text) DESC, try DESC LIMIT 1
