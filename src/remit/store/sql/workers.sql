-- name: register
INSERT INTO remit.workers (id, host, pid, project, queues, concurrency, is_listed)
VALUES (%(worker)s, %(host)s, %(pid)s, %(project)s, %(queues)s, %(concurrency)s, %(is_listed)s)
ON CONFLICT (id) DO UPDATE SET heartbeat = now()

-- name: ticket_queues
-- The names for procrastinate of the queues that a worker takes: those of unfinished jobs, and those that it names.
SELECT ticket_queue FROM remit.jobs
WHERE state <> 'finished' AND (%(project)s::text IS NULL OR project = %(project)s)
    AND (cardinality(%(queues)s::text[]) = 0 OR queue = ANY (%(queues)s::text[]))
UNION
SELECT remit.ticket_queue(%(project)s, name)
FROM unnest(CASE cardinality(%(queues)s::text[]) WHEN 0 THEN ARRAY['default'] ELSE %(queues)s::text[] END) AS name
WHERE %(project)s::text IS NOT NULL

-- name: heartbeat
UPDATE remit.workers SET
    heartbeat = now(),
    back = CASE WHEN heartbeat < now() - make_interval(secs => %(timeout)s) THEN now() ELSE back END
WHERE id = %(worker)s
RETURNING id

-- name: look
-- Whether a worker may decide which workers are dead: not if it had no heartbeat itself until now, as after a restart
-- of the database. Then the others get time for a heartbeat first.
UPDATE remit.workers SET looked = now() WHERE id = %(worker)s
RETURNING heartbeat > now() - make_interval(secs => %(timeout)s)
    AND (back IS NULL OR back < now() - make_interval(secs => %(timeout)s / 2)) AS may_judge

-- name: unregister
DELETE FROM remit.workers WHERE id = %(worker)s

-- name: forget
-- Workers without a heartbeat for a long time and without a running job.
DELETE FROM remit.workers WHERE heartbeat < now() - make_interval(secs => %(seconds)s)
    AND NOT EXISTS (SELECT 1 FROM remit.jobs WHERE jobs.worker = workers.id AND state = 'running')

-- name: alive
SELECT id, host, pid, project, queues, concurrency, started, heartbeat
FROM remit.workers
WHERE heartbeat > now() - make_interval(secs => %(timeout)s) AND (is_listed OR NOT %(listed)s) ORDER BY started

-- name: clock
SELECT extract(epoch FROM clock_timestamp()) AS seconds

-- name: lock_provider
SELECT pg_advisory_xact_lock(hashtext('remit provider ' || %(provider)s))

-- name: free_slots
-- Expired slots, and slots of attempts that have ended: their worker died or froze during a request.
DELETE FROM remit.slots WHERE provider = %(provider)s AND (until < now() OR NOT EXISTS (
    SELECT 1 FROM remit.jobs WHERE jobs.id = slots.job AND jobs.attempt = slots.attempt AND jobs.state = 'running'))

-- name: take_slot
INSERT INTO remit.slots (provider, job, attempt, until)
SELECT %(provider)s, %(job)s, %(attempt)s, now() + make_interval(secs => %(seconds)s)
WHERE (SELECT count(*) FROM remit.slots WHERE provider = %(provider)s AND job <> %(job)s) < %(limit)s
ON CONFLICT (provider, job) DO UPDATE SET attempt = excluded.attempt, until = excluded.until
RETURNING job

-- name: leave_slot
DELETE FROM remit.slots WHERE provider = %(provider)s AND job = %(job)s AND attempt = %(attempt)s

-- name: provider_failed
INSERT INTO remit.circuits AS c (provider, failures) VALUES (%(provider)s, 1)
ON CONFLICT (provider) DO UPDATE SET
    failures = CASE WHEN c.failures + 1 >= %(limit)s THEN 0 ELSE c.failures + 1 END,
    open_until = CASE WHEN c.failures + 1 >= %(limit)s
        THEN now() + make_interval(secs => %(seconds)s) ELSE c.open_until END
RETURNING open_until > now() AS is_open
