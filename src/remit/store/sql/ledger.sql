-- name: columns
    id, key, at, source, job, plan, session, path, agent, definition, model, kind, profile, project, revision, status,
    verdict, outcome, attempt, claimed, supported, verified, inferred, claims, invented, outcomes, violations, findings,
    cost::double precision AS cost, tokens, turns, seconds

-- name: record
-- An entry with a known key is the same verdict, so it is not stored again.
INSERT INTO remit.ledger (
    key, at, source, job, plan, session, path, agent, definition, model, kind, profile, project, revision, status,
    verdict, outcome, attempt, claimed, supported, verified, inferred, claims, invented, outcomes, violations, findings,
    cost, tokens, turns, seconds)
SELECT
    key, at, source, job, plan, session, path, agent, definition, model, kind, profile, project, revision, status,
    verdict, outcome, attempt, claimed, supported, verified, inferred, claims, invented, outcomes, violations, findings,
    cost, tokens, turns, seconds
FROM jsonb_to_recordset(%(entries)s) AS given (
    key text, at timestamptz, source text, job bigint, plan bigint, session text, path text, agent text,
    definition text, model text, kind text, profile text, project text, revision text, status text, verdict text,
    outcome text, attempt integer, claimed double precision, supported double precision, verified double precision,
    inferred double precision, claims integer, invented integer, outcomes jsonb, violations jsonb, findings integer,
    cost numeric, tokens bigint, turns integer, seconds double precision)
ON CONFLICT (key) DO NOTHING
RETURNING id

-- name: notify
-- Open pages show the new entries. The end of a job has its own notification.
SELECT pg_notify('remit_changed', 'ledger')

-- name: list
SELECT {columns} FROM remit.ledger
WHERE (%(before)s::bigint IS NULL OR id < %(before)s)
    AND (%(agent)s::text IS NULL OR agent = %(agent)s)
    AND (%(source)s::text IS NULL OR source = %(source)s)
    AND (%(verdict)s::text IS NULL OR verdict = %(verdict)s)
    AND (%(job)s::bigint IS NULL OR job = %(job)s)
    AND (%(plan)s::bigint IS NULL OR plan = %(plan)s)
    AND (%(session)s::text IS NULL OR session = %(session)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: since
SELECT {columns} FROM remit.ledger WHERE id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: sums
-- The sums of some rows of the ledger, by day and version of an agent.
    (at AT TIME ZONE 'UTC')::date AS day, agent, definition, model,
    count(*) AS runs,
    count(*) FILTER (WHERE verdict <> '') AS results,
    count(*) FILTER (WHERE verdict = 'accept') AS accepted,
    count(*) FILTER (WHERE verdict <> '' AND attempt = 1) AS first_tries,
    count(*) FILTER (WHERE verdict = 'accept' AND attempt = 1) AS accepted_first,
    coalesce(sum(claims), 0) AS claims,
    coalesce(sum(invented), 0) AS invented,
    count(*) FILTER (WHERE claimed IS NOT NULL AND supported IS NOT NULL) AS scored,
    coalesce(sum(claimed) FILTER (WHERE supported IS NOT NULL), 0) AS claimed,
    coalesce(sum(supported) FILTER (WHERE claimed IS NOT NULL), 0) AS supported,
    coalesce(sum(cost), 0) AS cost,
    coalesce(sum(tokens), 0) AS tokens

-- name: fold
-- Add new rows to the sums of their days. A row is marked in the same transaction, so it is added once.
WITH taken AS (
    SELECT id FROM remit.ledger WHERE NOT is_folded ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), folded AS (
    UPDATE remit.ledger SET is_folded = true FROM taken WHERE ledger.id = taken.id
    RETURNING ledger.at, agent, definition, model, verdict, attempt, claims, invented, claimed, supported, cost, tokens
), added AS (
    INSERT INTO remit.ledger_days (
        day, agent, definition, model, runs, results, accepted, first_tries, accepted_first, claims, invented, scored,
        claimed, supported, cost, tokens)
    SELECT {sums} FROM folded WHERE agent <> '' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, agent, definition, model) DO UPDATE SET
        runs = ledger_days.runs + excluded.runs, results = ledger_days.results + excluded.results,
        accepted = ledger_days.accepted + excluded.accepted,
        first_tries = ledger_days.first_tries + excluded.first_tries,
        accepted_first = ledger_days.accepted_first + excluded.accepted_first,
        claims = ledger_days.claims + excluded.claims, invented = ledger_days.invented + excluded.invented,
        scored = ledger_days.scored + excluded.scored, claimed = ledger_days.claimed + excluded.claimed,
        supported = ledger_days.supported + excluded.supported, cost = ledger_days.cost + excluded.cost,
        tokens = ledger_days.tokens + excluded.tokens
)
SELECT count(*) AS rows FROM folded

-- name: all_days
-- The stored sums and those of rows that are not folded yet.
    SELECT day, agent, definition, model, runs, results, accepted, first_tries, accepted_first, claims, invented,
        scored, claimed, supported, cost, tokens
    FROM remit.ledger_days
    WHERE (%(since)s::date IS NULL OR day >= %(since)s) AND (%(agent)s::text IS NULL OR agent = %(agent)s)
        AND (%(definition)s::text IS NULL OR definition = %(definition)s)
        AND (%(model)s::text IS NULL OR model = %(model)s)
    UNION ALL
    SELECT {sums} FROM remit.ledger
    WHERE NOT is_folded AND agent <> ''
        AND (%(since)s::date IS NULL OR (at AT TIME ZONE 'UTC')::date >= %(since)s)
        AND (%(agent)s::text IS NULL OR agent = %(agent)s)
        AND (%(definition)s::text IS NULL OR definition = %(definition)s)
        AND (%(model)s::text IS NULL OR model = %(model)s)
    GROUP BY 1, 2, 3, 4

-- name: totals
    sum(runs)::bigint AS runs, sum(results)::bigint AS results, sum(accepted)::bigint AS accepted,
    sum(first_tries)::bigint AS first_tries, sum(accepted_first)::bigint AS accepted_first,
    sum(claims)::bigint AS claims, sum(invented)::bigint AS invented, sum(scored)::bigint AS scored,
    sum(claimed)::double precision AS claimed, sum(supported)::double precision AS supported,
    sum(cost)::double precision AS cost, sum(tokens)::bigint AS tokens

-- name: by_version
SELECT agent, definition, model, min(day) AS first_day, max(day) AS last_day, {totals}
FROM ({all_days}) AS days GROUP BY agent, definition, model ORDER BY agent, max(day) DESC, definition, model

-- name: trends
-- Of each version, the shares of first tries that were accepted, day by day.
SELECT agent, definition, model, array_agg(accepted_first::float8 / first_tries ORDER BY day) AS shares
FROM remit.ledger_days
WHERE day > (now() AT TIME ZONE 'UTC')::date - %(days)s::int AND first_tries > 0
GROUP BY agent, definition, model

-- name: versions_of_plan
-- The definition and model of each agent of a plan, from its last job.
SELECT DISTINCT ON (ledger.agent) ledger.agent, ledger.definition, ledger.model
FROM remit.ledger WHERE plan = %(plan)s AND source = 'job' ORDER BY ledger.agent, id DESC
