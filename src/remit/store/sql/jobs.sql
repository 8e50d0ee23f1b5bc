-- name: columns
-- The columns of a job. Not `*`: a worker's prepared statements must not change when a newer release adds columns.
    jobs.id, jobs.agent, jobs.definition, jobs.brief, jobs.request, jobs.prompt, jobs.workspace, jobs.isolation,
    jobs.worktree, jobs.project, jobs.queue, jobs.ticket_queue, jobs.plan, jobs.priority, jobs.idempotency_key, jobs.parent, jobs.root, jobs.depth, jobs.state,
    jobs.outcome, jobs.error, jobs.verdict, jobs.result, jobs.diff, jobs.is_cancelled, jobs.attempt, jobs.deaths,
    jobs.deaths_in_turn, jobs.last_death, jobs.turns, jobs.tool_calls, jobs.input_tokens, jobs.output_tokens,
    jobs.cached_tokens, jobs.cost, jobs.is_priced, jobs.max_seconds, jobs.created, jobs.started, jobs.finished, jobs.ticket

-- name: brief
SELECT brief FROM remit.briefs WHERE digest = %(digest)s

-- name: by_key
SELECT id FROM remit.jobs
WHERE project = %(project)s AND plan IS NOT DISTINCT FROM %(plan)s::bigint AND idempotency_key = %(key)s
    AND (state <> 'finished' OR outcome = 'completed')

-- name: submit
-- Insert the brief if it is new, the job, and a ticket that wakes a worker up, in one transaction.
WITH kept AS (
    INSERT INTO remit.briefs (digest, brief) VALUES (%(brief)s, %(brief_json)s) ON CONFLICT (digest) DO NOTHING
), made AS (
    INSERT INTO remit.jobs (
        agent, definition, brief, request, prompt, workspace, isolation, project, queue, plan, priority, idempotency_key,
        due, parent, root, depth, max_tokens, max_cost, max_seconds, tree_max_tokens, tree_max_cost,
        tree_max_turns, tree_max_seconds)
    VALUES (
        %(agent)s, %(definition)s, %(brief)s, %(request)s, %(prompt)s, %(workspace)s, %(isolation)s, %(project)s, %(queue)s,
        %(plan)s, %(priority)s, %(key)s, %(at)s, %(parent)s, %(root)s, %(depth)s, %(max_tokens)s, %(max_cost)s, %(max_seconds)s,
        %(tree_max_tokens)s, %(tree_max_cost)s, %(tree_max_turns)s, %(tree_max_seconds)s)
    ON CONFLICT DO NOTHING
    RETURNING id, ticket_queue
)
SELECT id, procrastinate_defer_jobs_v1(ARRAY[
    ROW(coalesce(%(first_queue)s, ticket_queue), 'remit.run', %(priority)s, NULL, NULL, jsonb_build_object('job', id),
        %(at)s)
        ::procrastinate_job_to_defer_v1]) AS tickets
FROM made

-- name: pin
-- Replace the provisional brief of a claimed job by the one that its worker resolved. From now on the job keeps it.
WITH kept AS (
    INSERT INTO remit.briefs (digest, brief) VALUES (%(brief)s, %(brief_json)s) ON CONFLICT (digest) DO NOTHING
)
UPDATE remit.jobs SET
    agent = %(agent)s, definition = %(definition)s, brief = %(brief)s, isolation = %(isolation)s,
    max_tokens = %(max_tokens)s, max_cost = %(max_cost)s, max_seconds = %(max_seconds)s,
    request = request - %(deferred)s::text, checkpoint = now()
WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
RETURNING {columns}

-- name: parent
SELECT id, coalesce(root, id) AS root, depth FROM remit.jobs WHERE id = %(parent)s FOR UPDATE

-- name: children
-- A separate statement, so that it sees what was committed while the caller waited for the lock on the parent.
SELECT count(*) AS children FROM remit.jobs WHERE parent = %(parent)s

-- name: enqueue
-- A ticket in the queue wakes a worker up; the row of the job contains what is to be done.
SELECT unnest(procrastinate_defer_jobs_v1(ARRAY[
    ROW(%(queue)s, 'remit.run', %(priority)s, NULL, NULL, jsonb_build_object('job', %(job)s::bigint), %(at)s)
        ::procrastinate_job_to_defer_v1])) AS ticket

-- name: drop_ticket
DELETE FROM procrastinate_jobs WHERE id = %(ticket)s

-- name: drop_tickets
DELETE FROM procrastinate_jobs WHERE task_name = 'remit.run' AND args ->> 'job' = ANY (%(jobs)s::text[])

-- name: next_window
-- The next waiting jobs to look at, in the order of their ids.
SELECT count(*) AS number, max(id) AS last FROM (
    SELECT id FROM remit.jobs WHERE state = 'queued' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS looked

-- name: strays
-- Waiting jobs without a usable ticket: a worker died after it took the ticket, or the ticket waits in a queue that no
-- worker serves. Only the worker that has been alive longest handles them.
WITH waiting AS MATERIALIZED (
    SELECT id, ticket_queue FROM remit.jobs WHERE state = 'queued' AND id > %(after)s ORDER BY id LIMIT %(window)s
), stray AS (
    -- A value for each job, not a join: a join would read all tickets.
    SELECT id FROM waiting
    WHERE %(worker)s::uuid = (
            SELECT id FROM remit.workers WHERE looked > now() - make_interval(secs => %(timeout)s)
            ORDER BY started, id LIMIT 1)
        AND (SELECT bool_or(
                ticket.status = 'todo' AND (ticket.queue_name = waiting.ticket_queue OR EXISTS (
                    SELECT 1 FROM remit.workers
                    WHERE ticket.queue_name = ANY (queues) AND heartbeat > now() - make_interval(secs => %(timeout)s)))
                OR ticket.status = 'doing' AND EXISTS (
                    SELECT 1 FROM procrastinate_workers AS holder
                    WHERE holder.id = ticket.worker_id
                        AND holder.last_heartbeat > now() - make_interval(secs => %(timeout)s)))
            FROM procrastinate_jobs AS ticket
            WHERE ticket.task_name = 'remit.run' AND ticket.args ->> 'job' = waiting.id::text) IS NOT TRUE
)
SELECT id, ticket_queue AS queue, priority FROM remit.jobs WHERE id IN (SELECT id FROM stray) AND state = 'queued'
FOR UPDATE SKIP LOCKED

-- name: drop_held_tickets
-- Tickets of finished jobs whose worker died.
DELETE FROM procrastinate_jobs AS ticket
WHERE ticket.task_name = 'remit.run' AND ticket.status = 'doing'
    AND %(worker)s::uuid = (
        SELECT id FROM remit.workers WHERE looked > now() - make_interval(secs => %(timeout)s)
        ORDER BY started, id LIMIT 1)
    AND NOT EXISTS (
        SELECT 1 FROM procrastinate_workers AS holder
        WHERE holder.id = ticket.worker_id AND holder.last_heartbeat > now() - make_interval(secs => %(timeout)s))
    AND NOT EXISTS (
        SELECT 1 FROM remit.jobs WHERE jobs.id = (ticket.args ->> 'job')::bigint AND jobs.state <> 'finished')

-- name: drop_command_tickets
-- Tickets of finished jobs in the queue of a command that has ended.
DELETE FROM procrastinate_jobs AS ticket
WHERE ticket.task_name = 'remit.run' AND ticket.status = 'todo' AND starts_with(ticket.queue_name, 'run-')
    AND %(worker)s::uuid = (
        SELECT id FROM remit.workers WHERE looked > now() - make_interval(secs => %(timeout)s)
        ORDER BY started, id LIMIT 1)
    AND NOT EXISTS (
        SELECT 1 FROM remit.workers
        WHERE ticket.queue_name = ANY (queues) AND heartbeat > now() - make_interval(secs => %(timeout)s))
    AND NOT EXISTS (
        SELECT 1 FROM remit.jobs WHERE jobs.id = (ticket.args ->> 'job')::bigint AND jobs.state <> 'finished')

-- name: of_worker
SELECT id, attempt FROM remit.jobs WHERE worker = %(worker)s AND state = 'running'

-- name: claim
-- Claiming a job increments its attempt, so that its previous owner can no longer write. The same ticket may claim it
-- again, because the response to the first claim can be lost. A remaining reservation is that of a request during which
-- the worker died: its actual usage is unknown, so the budget counts all of it as used.
WITH taken AS (
    SELECT id, coalesce(root, id) AS top, reserved_tokens, reserved_cost FROM remit.jobs
    WHERE id = %(job)s AND (state = 'queued'
        OR state = 'running' AND worker = %(worker)s::uuid AND ticket = %(ticket)s) FOR UPDATE
), freed AS (
    UPDATE remit.jobs SET
        tree_reserved_tokens = greatest(0, jobs.tree_reserved_tokens - taken.reserved_tokens),
        tree_reserved_cost = greatest(0, jobs.tree_reserved_cost - taken.reserved_cost),
        tree_tokens = jobs.tree_tokens + taken.reserved_tokens, tree_cost = jobs.tree_cost + taken.reserved_cost,
        tree_reserved_turns = greatest(0, jobs.tree_reserved_turns - 1), tree_turns = jobs.tree_turns + 1
    FROM taken WHERE jobs.id = taken.top AND taken.top <> taken.id AND taken.reserved_tokens > 0
)
UPDATE remit.jobs SET
    state = 'running', attempt = attempt + 1, worker = %(worker)s, ticket = %(ticket)s,
    started = coalesce(started, now()), checkpoint = now(), error = NULL,
    tree_reserved_tokens = CASE WHEN jobs.id = taken.top
        THEN greatest(0, jobs.tree_reserved_tokens - taken.reserved_tokens) ELSE jobs.tree_reserved_tokens END,
    tree_reserved_cost = CASE WHEN jobs.id = taken.top
        THEN greatest(0, jobs.tree_reserved_cost - taken.reserved_cost) ELSE jobs.tree_reserved_cost END,
    tree_tokens = jobs.tree_tokens + CASE WHEN jobs.id = taken.top THEN taken.reserved_tokens ELSE 0 END,
    tree_cost = jobs.tree_cost + CASE WHEN jobs.id = taken.top THEN taken.reserved_cost ELSE 0 END,
    tree_reserved_turns = CASE WHEN jobs.id = taken.top AND taken.reserved_tokens > 0
        THEN greatest(0, jobs.tree_reserved_turns - 1) ELSE jobs.tree_reserved_turns END,
    tree_turns = jobs.tree_turns + CASE WHEN jobs.id = taken.top AND taken.reserved_tokens > 0 THEN 1 ELSE 0 END,
    written_off_tokens = jobs.written_off_tokens + taken.reserved_tokens,
    written_off_cost = jobs.written_off_cost + taken.reserved_cost,
    reserved_tokens = 0, reserved_cost = 0
FROM taken WHERE jobs.id = taken.id
RETURNING {columns}

-- name: running_in_queue
SELECT count(*) AS running FROM remit.jobs WHERE queue = %(queue)s AND state = 'running' AND id <> %(job)s

-- name: lock_queue
SELECT pg_advisory_xact_lock(hashtext('remit queue ' || %(queue)s))

-- name: give_back
UPDATE remit.jobs SET state = 'queued', worker = NULL
WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
RETURNING id, ticket_queue AS queue, priority

-- name: leave
-- Return a job that this host cannot run. The time until another host takes it does not count.
UPDATE remit.jobs SET
    state = 'queued', worker = NULL, error = %(why)s, started = CASE WHEN turns = 0 THEN NULL ELSE started END
WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
RETURNING id, ticket_queue AS queue, priority

-- name: take_over
-- Jobs of workers without a heartbeat.
UPDATE remit.jobs SET
    state = 'queued', worker = NULL, deaths = deaths + 1, turns_at_death = turns,
    deaths_in_turn = CASE WHEN turns_at_death = turns THEN deaths_in_turn + 1 ELSE 1 END,
    last_death = 'attempt ' || attempt || ' stopped responding after turn ' || turns || ', last sign of life at '
        || checkpoint
WHERE id IN (
    SELECT id FROM remit.jobs
    WHERE state = 'running' AND NOT EXISTS (
        SELECT 1 FROM remit.workers
        WHERE workers.id = jobs.worker AND heartbeat > now() - make_interval(secs => %(timeout)s))
    FOR UPDATE SKIP LOCKED)
RETURNING id, ticket_queue AS queue, priority, ticket, attempt

-- name: is_work_left
-- Jobs that are due, and jobs of other workers, which are taken over if their worker has died.
SELECT EXISTS (
    SELECT 1 FROM remit.jobs
    WHERE (%(queues)s::text[] IS NULL OR ticket_queue = ANY (%(queues)s::text[])) AND (
        (state = 'queued' AND EXISTS (
            SELECT 1 FROM procrastinate_jobs
            WHERE status = 'todo' AND args ->> 'job' = jobs.id::text
                AND (scheduled_at IS NULL OR scheduled_at < now() + interval '2 seconds')))
        OR (state = 'running' AND worker IS DISTINCT FROM %(worker)s))
) AS is_left

-- name: hung
-- End jobs without progress although their worker is alive, and add the event.
WITH ended AS (
    UPDATE remit.jobs SET
        state = 'finished', outcome = 'error', finished = now(), attempt = attempt + 1,
        error = 'hung: no step was finished for ' || %(seconds)s || ' seconds, although the worker is alive'
    WHERE state = 'running' AND checkpoint < now() - make_interval(secs => %(seconds)s)
    RETURNING id, ticket, outcome, error
), added AS (
    INSERT INTO remit.events (job, kind, data)
    SELECT id, 'finished', jsonb_build_object('outcome', outcome, 'error', error, 'verdict', NULL) FROM ended
)
SELECT id, procrastinate_cancel_job_v1(ticket, true, false) AS aborted,
    pg_notify('remit_events', id::text), pg_notify('remit_ended', id::text)
FROM ended

-- name: finish
-- The end, its event and the removal of its ticket are one statement, so that listeners receive it even if the worker
-- dies right after.
WITH ended AS (
    UPDATE remit.jobs SET
        state = 'finished', outcome = %(outcome)s, error = %(error)s, verdict = %(verdict)s, result = %(result)s,
        diff = %(diff)s, finished = now(), checkpoint = now()
    WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
    RETURNING id, outcome, error, verdict, ticket
), added AS (
    INSERT INTO remit.events (job, kind, data)
    SELECT id, 'finished', jsonb_build_object('outcome', outcome, 'error', error, 'verdict', verdict) FROM ended
), dropped AS (
    DELETE FROM procrastinate_jobs USING ended WHERE procrastinate_jobs.id = ended.ticket
)
SELECT id, pg_notify('remit_events', id::text), pg_notify('remit_ended', id::text) FROM ended

-- name: leave_behind
-- Store the output of an attempt that was ended as hung. It can no longer write anything else.
UPDATE remit.jobs SET diff = coalesce(diff, %(diff)s), result = coalesce(nullif(result, ''), %(result)s)
WHERE id = %(job)s AND attempt = %(attempt)s + 1 AND state = 'finished' AND starts_with(error, 'hung:')

-- name: touch
UPDATE remit.jobs SET checkpoint = now() WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running' RETURNING id

-- name: set_worktree
UPDATE remit.jobs SET worktree = %(worktree)s, checkpoint = now()
WHERE id = %(job)s AND attempt = %(attempt)s AND state = 'running'
RETURNING id

-- name: cancel
-- A waiting job is finished at once. For a running job, the abort of its ticket makes the worker stop it.
WITH cancelled AS (
    UPDATE remit.jobs SET
        is_cancelled = true,
        state = CASE WHEN state = 'queued' THEN 'finished' ELSE state END,
        outcome = CASE WHEN state = 'queued' THEN 'cancelled' ELSE outcome END,
        error = CASE WHEN state <> 'queued' THEN error WHEN started IS NULL THEN 'cancelled before it began'
            ELSE 'cancelled while it waited to go on' END,
        finished = CASE WHEN state = 'queued' THEN now() ELSE finished END
    WHERE id = %(job)s AND state <> 'finished'
    RETURNING id, state, ticket, outcome, error
), added AS (
    INSERT INTO remit.events (job, kind, data)
    SELECT id, 'finished', jsonb_build_object('outcome', outcome, 'error', error, 'verdict', NULL)
    FROM cancelled WHERE state = 'finished'
)
SELECT id, state, pg_notify('remit_events', id::text),
    CASE WHEN state = 'finished' THEN pg_notify('remit_ended', id::text) END,
    CASE WHEN state = 'running' THEN procrastinate_cancel_job_v1(ticket, true, false) END AS aborted
FROM cancelled

-- name: under
-- Unfinished jobs that a job has started: its children, and the jobs of the plans that it created as an orchestrator.
SELECT id FROM remit.jobs WHERE parent = %(job)s AND state <> 'finished'
UNION
SELECT jobs.id FROM remit.plans JOIN remit.jobs ON jobs.plan = plans.id
WHERE starts_with(plans.digest, 'orchestrate-' || %(job)s::bigint || '-') AND jobs.state <> 'finished'
    AND jobs.root = (SELECT coalesce(root, id) FROM remit.jobs WHERE id = %(job)s)
ORDER BY id

-- name: of_plan
-- Unfinished jobs of a plan. A driver that died may not have stored the number of a job that it submitted.
SELECT id FROM remit.jobs WHERE plan = %(plan)s AND state <> 'finished' ORDER BY id

-- name: retry
-- Queue a finished job that did not complete, to continue from its transcript.
UPDATE remit.jobs SET
    state = 'queued', outcome = NULL, error = NULL, verdict = NULL, finished = NULL, worker = NULL,
    is_cancelled = false, attempt = attempt + 1, deaths = 0, deaths_in_turn = 0, started = NULL
WHERE id = %(job)s AND state = 'finished' AND outcome <> 'completed'
RETURNING id, ticket_queue AS queue, priority

-- name: get
SELECT {columns} FROM remit.jobs WHERE id = %(job)s

-- name: list
-- One line per job: without texts that may be long.
SELECT
    id, agent, definition, brief, '{}'::jsonb AS request, left(prompt, 1000) AS prompt, workspace, isolation, worktree,
    project, queue, ticket_queue, plan, priority, idempotency_key, parent, root, depth, state, outcome, error, verdict,
    NULL AS result, NULL AS diff,
    is_cancelled, attempt, deaths, deaths_in_turn, last_death, turns, tool_calls, input_tokens, output_tokens,
    cached_tokens, cost, is_priced, max_seconds, created, started, finished, ticket
FROM remit.jobs
WHERE (%(project)s::text IS NULL OR project = %(project)s)
    AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(agent)s::text IS NULL OR agent = %(agent)s)
    AND (%(verdict)s::text IS NULL OR verdict = %(verdict)s) AND (%(before)s::bigint IS NULL OR id < %(before)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: list_whole
SELECT {columns} FROM remit.jobs
WHERE (%(project)s::text IS NULL OR project = %(project)s)
    AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(agent)s::text IS NULL OR agent = %(agent)s)
    AND (%(verdict)s::text IS NULL OR verdict = %(verdict)s) AND (%(before)s::bigint IS NULL OR id < %(before)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: hosts
-- Where jobs run.
SELECT jobs.id, workers.host, workers.pid
FROM remit.jobs JOIN remit.workers ON workers.id = jobs.worker
WHERE jobs.id = ANY (%(jobs)s::bigint[]) AND state = 'running'

-- name: left
-- Jobs that workers have left in the queue, because their host lacks the folder, by folder: `leave` states why.
SELECT workspace, count(*) AS jobs, min(id) AS first
FROM remit.jobs WHERE state = 'queued' AND attempt > 0 AND error IS NOT NULL GROUP BY workspace ORDER BY min(id)

-- name: prune
WITH old AS (
    DELETE FROM remit.jobs
    WHERE state = 'finished' AND finished < now() - make_interval(days => %(days)s)
        -- A tree is removed as a whole, and not while an unfinished plan may need it.
        AND NOT EXISTS (
            SELECT 1 FROM remit.jobs AS other
            WHERE other.root = coalesce(jobs.root, jobs.id)
                AND (other.state <> 'finished' OR other.finished >= now() - make_interval(days => %(days)s)))
        AND NOT EXISTS (
            SELECT 1 FROM remit.jobs AS top
            WHERE top.id = jobs.root
                AND (top.state <> 'finished' OR top.finished >= now() - make_interval(days => %(days)s)))
        AND NOT EXISTS (
            SELECT 1 FROM remit.delegations JOIN remit.plans ON plans.id = delegations.plan
            WHERE delegations.job = jobs.id AND plans.state IN ('running', 'waiting'))
        AND NOT EXISTS (
            SELECT 1 FROM remit.plans
            WHERE plans.top = coalesce(jobs.root, jobs.id) AND plans.state IN ('running', 'waiting'))
    RETURNING id
)
SELECT count(*) AS jobs FROM old

-- name: prune_plans
DELETE FROM remit.plans
WHERE state IN ('finished', 'cancelled') AND finished < now() - make_interval(days => %(days)s)

-- name: free_reserved
-- Count the reservation of a request with unknown usage as used: in the job's row; `free_reserved_tree` does the tree's.
UPDATE remit.jobs SET
    written_off_tokens = written_off_tokens + held.reserved_tokens,
    written_off_cost = written_off_cost + held.reserved_cost, reserved_tokens = 0, reserved_cost = 0
FROM (SELECT id, coalesce(root, id) AS top, reserved_tokens, reserved_cost
    FROM remit.jobs WHERE id = %(job)s AND reserved_tokens > 0 FOR UPDATE) AS held
WHERE jobs.id = held.id
RETURNING held.top, held.reserved_tokens, held.reserved_cost

-- name: free_reserved_tree
UPDATE remit.jobs SET
    tree_reserved_tokens = greatest(0, tree_reserved_tokens - %(tokens)s),
    tree_reserved_cost = greatest(0, tree_reserved_cost - %(cost)s),
    tree_tokens = tree_tokens + %(tokens)s, tree_cost = tree_cost + %(cost)s,
    tree_reserved_turns = greatest(0, tree_reserved_turns - 1), tree_turns = tree_turns + 1
WHERE id = %(top)s

-- name: next_waiting
SELECT id, ticket_queue, priority FROM remit.jobs
WHERE queue = %(queue)s AND state = 'queued' AND (due IS NULL OR due <= now()) ORDER BY priority DESC, id LIMIT 1

-- name: prune_briefs
DELETE FROM remit.briefs WHERE NOT EXISTS (SELECT 1 FROM remit.jobs WHERE jobs.brief = briefs.digest)
    AND created < now() - interval '1 hour'

-- name: reopen
-- Queue a completed job with one more message of its caller. The time until a person's answer does not count.
WITH reopened AS (
    UPDATE remit.jobs SET
        state = 'queued', outcome = NULL, error = NULL, verdict = NULL, finished = NULL, worker = NULL,
        is_cancelled = false, attempt = attempt + 1, deaths = 0, deaths_in_turn = 0,
        started = CASE WHEN %(is_answer)s THEN NULL ELSE started END
    WHERE id = %(job)s AND state = 'finished' AND outcome = 'completed' AND NOT EXISTS (
        SELECT 1 FROM remit.messages WHERE job = %(job)s AND number = %(number)s)
    RETURNING id, ticket_queue AS queue, priority
), added AS (
    INSERT INTO remit.messages (job, number, attempt, message) SELECT id, %(number)s, 0, %(message)s FROM reopened
)
SELECT id, procrastinate_defer_jobs_v1(ARRAY[
    ROW(coalesce(%(first_queue)s, queue), 'remit.run', priority, NULL, NULL, jsonb_build_object('job', id), NULL)
        ::procrastinate_job_to_defer_v1]) AS tickets
FROM reopened

-- name: parent_state
-- The caller has locked the parent.
SELECT is_cancelled OR outcome IS NOT DISTINCT FROM 'cancelled' AS is_cancelled FROM remit.jobs WHERE id = %(parent)s

-- name: tree_cost
-- The cost limit of the tree that a new job would belong to.
SELECT top.tree_max_cost AS cost FROM remit.jobs AS job JOIN remit.jobs AS top ON top.id = coalesce(job.root, job.id)
WHERE job.id = %(job)s
