-- name: add
-- Only who holds the job may speak of it; listeners are woken when the transaction ends. The lock makes the numbers
-- of one job's events follow each other as they are committed, whoever writes them.
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
-- The text of an answer that was not finished. Since the last one that was, it may have been tried several times:
-- of the tries at the last turn that brought any text, that which brought most.
WITH told AS (
    SELECT id, kind, data, count(*) FILTER (WHERE kind <> 'text') OVER (ORDER BY id) AS try FROM remit.events
    WHERE job = %(job)s AND kind IN ('text', 'turn', 'started') AND id > coalesce(
        (SELECT max(id) FROM remit.events WHERE job = %(job)s AND kind = 'usage'), 0)
), tries AS (
    SELECT try, max((data ->> 'turn')::integer) AS turn, string_agg(data ->> 'text', '' ORDER BY id) AS text
    FROM told GROUP BY try
)
SELECT text FROM tries WHERE text IS NOT NULL ORDER BY turn DESC NULLS LAST, length(text) DESC, try DESC LIMIT 1
