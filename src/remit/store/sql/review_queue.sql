-- name: columns
    items.id, items.key, items.kind, items.state, items.rank, items.source, items.job, items.plan, items.session,
    items.project, items.revision, items.fingerprint, items.agents, items.category, items.severity, items.title,
    items.path, items.line, items.end_line, items.confidence, items.body,
    CASE WHEN items.locked_until > now() THEN items.locked_by END AS locked_by,
    CASE WHEN items.locked_until > now() THEN items.locked_until END AS locked_until,
    items.created, items.updated, items.decision::text AS decision,
    decisions.at AS decided, decisions.reviewer AS decided_by, decisions.note AS note

-- name: matching
-- The filters of a list.
    (%(state)s::text IS NULL OR items.state = %(state)s)
    AND (%(kind)s::text IS NULL OR items.kind = %(kind)s)
    AND (%(severity)s::text IS NULL OR items.severity = %(severity)s)
    AND (%(agent)s::text IS NULL OR %(agent)s = ANY (items.agents))
    AND (%(category)s::text IS NULL OR items.category = %(category)s)
    AND (%(project)s::text IS NULL OR items.project = %(project)s)
    AND (%(plan)s::bigint IS NULL OR items.plan = %(plan)s)
    AND (%(path)s::text IS NULL OR starts_with(items.path, %(path)s))

-- name: add
-- A decided item stays as it was when it was decided, so that what is learned from it can be reproduced.
INSERT INTO remit.review_items AS items (
    key, kind, rank, source, job, plan, session, project, revision, fingerprint, agents, category, severity, title,
    path, line, end_line, confidence, body)
SELECT key, kind, rank, source, job, plan, session, project, revision, fingerprint, agents, category, severity, title,
    path, line, end_line, confidence, body
FROM jsonb_to_recordset(%(items)s) AS given (
    key text, kind text, rank integer, source text, job bigint, plan bigint, session text, project text, revision text,
    fingerprint text, agents text[], category text, severity text, title text, path text, line integer,
    end_line integer, confidence double precision, body jsonb)
ORDER BY key
ON CONFLICT (key) DO UPDATE SET
    kind = excluded.kind, rank = excluded.rank, source = excluded.source, job = excluded.job, plan = excluded.plan,
    session = excluded.session, revision = excluded.revision, agents = excluded.agents, severity = excluded.severity,
    title = excluded.title, path = excluded.path, line = excluded.line, end_line = excluded.end_line,
    confidence = excluded.confidence, body = excluded.body, updated = now()
WHERE items.state = 'open'
RETURNING id, key

-- name: drop_opinions
DELETE FROM remit.opinions WHERE item = ANY (%(items)s::bigint[])

-- name: add_opinions
INSERT INTO remit.opinions (item, agent, definition, model, category, severity, confidence, claimed)
SELECT item, agent, definition, model, category, severity, confidence, claimed
FROM jsonb_to_recordset(%(opinions)s) AS given (
    item bigint, agent text, definition text, model text, category text, severity text, confidence double precision,
    claimed double precision)
ON CONFLICT DO NOTHING

-- name: get
SELECT {columns} FROM remit.review_items AS items LEFT JOIN remit.decisions ON decisions.id = items.decision
WHERE items.id = %(item)s

-- name: list
SELECT {columns} FROM remit.review_items AS items LEFT JOIN remit.decisions ON decisions.id = items.decision
WHERE {matching} AND (%(rank)s::integer IS NULL OR (items.rank, items.id) > (%(rank)s, %(after)s))
ORDER BY items.rank, items.id LIMIT %(limit)s

-- name: next
-- The item that the reviewer has locked, else the first free one. Two reviewers never get the same: each skips rows
-- that another one is just locking, and a locked row does not match.
WITH own AS (
    SELECT items.id FROM remit.review_items AS items
    WHERE locked_by = %(reviewer)s AND locked_until > now() AND {matching} ORDER BY items.rank, items.id LIMIT 1
), free AS (
    SELECT items.id FROM remit.review_items AS items
    WHERE {matching} AND (locked_until IS NULL OR locked_until <= now())
        AND (%(with_skipped)s OR NOT %(reviewer)s = ANY (skipped_by)) AND NOT EXISTS (SELECT 1 FROM own)
    ORDER BY items.rank, items.id LIMIT 1 FOR UPDATE OF items SKIP LOCKED
)
UPDATE remit.review_items SET locked_by = %(reviewer)s, locked_until = now() + make_interval(secs => %(seconds)s)
WHERE id = (SELECT id FROM own UNION ALL SELECT id FROM free LIMIT 1)
RETURNING id

-- name: lock
UPDATE remit.review_items SET locked_by = %(reviewer)s, locked_until = now() + make_interval(secs => %(seconds)s)
WHERE id = %(item)s AND (locked_until IS NULL OR locked_until <= now() OR locked_by = %(reviewer)s)
RETURNING id

-- name: renew
UPDATE remit.review_items SET locked_until = now() + make_interval(secs => %(seconds)s)
WHERE id = %(item)s AND locked_by = %(reviewer)s AND locked_until > now()
RETURNING id

-- name: release
UPDATE remit.review_items SET locked_by = NULL, locked_until = NULL WHERE id = %(item)s AND locked_by = %(reviewer)s

-- name: hold
SELECT id, kind, state, project, fingerprint, decision::text AS decision,
    CASE WHEN locked_until > now() THEN locked_by END AS locked_by
FROM remit.review_items WHERE id = %(item)s FOR UPDATE

-- name: decision_columns
    id::text AS id, item, verb, reviewer, note, at, undone, dismissal

-- name: decision
SELECT {decision_columns} FROM remit.decisions WHERE id = %(decision)s

-- name: add_decision
INSERT INTO remit.decisions (id, item, verb, reviewer, note, dismissal)
VALUES (%(decision)s, %(item)s, %(verb)s, %(reviewer)s, %(note)s, %(dismissal)s)
ON CONFLICT DO NOTHING
RETURNING {decision_columns}

-- name: close
UPDATE remit.review_items SET
    state = %(state)s, decision = %(decision)s, locked_by = NULL, locked_until = NULL, updated = now()
WHERE id = %(item)s

-- name: skip
UPDATE remit.review_items SET
    skipped_by = array_append(array_remove(skipped_by, %(reviewer)s), %(reviewer)s), locked_by = NULL,
    locked_until = NULL
WHERE id = %(item)s

-- name: undo
UPDATE remit.decisions SET
    undone = now(), undone_by = %(reviewer)s,
    dismissal = CASE dismissal WHEN 'written' THEN 'removing' WHEN 'pending' THEN 'removing' ELSE dismissal END
WHERE id = %(decision)s AND undone IS NULL
RETURNING {decision_columns}

-- name: reopen
-- The item is open again and locked for the reviewer. A skipped one is offered again.
UPDATE remit.review_items SET
    state = 'open', decision = NULL, locked_by = %(reviewer)s,
    locked_until = now() + make_interval(secs => %(seconds)s),
    skipped_by = array_remove(skipped_by, %(skipper)s), updated = now()
WHERE id = %(item)s AND (decision = %(decision)s OR decision IS NULL)

-- name: history
SELECT {decision_columns} FROM remit.decisions
WHERE (%(item)s::bigint IS NULL OR item = %(item)s) AND (%(reviewer)s::text IS NULL OR reviewer = %(reviewer)s)
    AND (%(before)s::timestamptz IS NULL OR at < %(before)s)
ORDER BY at DESC, id LIMIT %(limit)s

-- name: progress
SELECT
    count(*) FILTER (WHERE items.state = 'open') AS open,
    count(*) FILTER (WHERE items.state = 'confirmed') AS confirmed,
    count(*) FILTER (WHERE items.state = 'rejected') AS rejected,
    count(*) FILTER (WHERE items.state = 'unsure') AS unsure,
    count(*) FILTER (WHERE items.state = 'open' AND items.locked_until > now()) AS locked,
    count(*) FILTER (WHERE items.state = 'open' AND %(reviewer)s::text = ANY (items.skipped_by)) AS skipped,
    count(*) FILTER (WHERE items.state <> 'open' AND items.updated >= date_trunc('day', now(), 'UTC')) AS decided_today
FROM remit.review_items AS items WHERE {matching}

-- name: pending_dismissals
SELECT decisions.id::text AS id, decisions.dismissal, decisions.reviewer, decisions.note, decisions.at,
    items.id AS item, items.project, items.body
FROM remit.decisions JOIN remit.review_items AS items ON items.id = decisions.item
WHERE dismissal IN ('pending', 'removing') AND (%(project)s::text IS NULL OR items.project = %(project)s)
ORDER BY decisions.at LIMIT %(limit)s

-- name: set_dismissal
UPDATE remit.decisions SET dismissal = %(dismissal)s WHERE id = %(decision)s

-- name: decided_opinions
SELECT items.id AS item, opinions.agent, opinions.definition, opinions.model, opinions.category, opinions.severity,
    opinions.confidence, opinions.claimed, cardinality(items.agents) AS agents,
    items.state = 'confirmed' AS is_confirmed, decisions.at
FROM remit.review_items AS items
    JOIN remit.decisions ON decisions.id = items.decision
    JOIN remit.opinions ON opinions.item = items.id
WHERE items.state IN ('confirmed', 'rejected') AND (%(until)s::timestamptz IS NULL OR decisions.at <= %(until)s)
    AND (%(agent)s::text IS NULL OR opinions.agent = %(agent)s)
ORDER BY items.id, opinions.agent

-- name: precision
SELECT opinions.agent, opinions.definition, opinions.model,
    count(*) FILTER (WHERE items.state = 'confirmed') AS confirmed,
    count(*) FILTER (WHERE items.state = 'rejected') AS rejected
FROM remit.opinions JOIN remit.review_items AS items ON items.id = opinions.item
WHERE items.state IN ('confirmed', 'rejected') AND (%(agent)s::text IS NULL OR opinions.agent = %(agent)s)
GROUP BY opinions.agent, opinions.definition, opinions.model
