-- name: add_token
INSERT INTO remit.tokens (name, role, digest, is_link, expires)
VALUES (%(name)s, %(role)s, %(digest)s, %(is_link)s, now() + make_interval(secs => %(seconds)s))
RETURNING id, name, role, created, expires

-- name: tokens
SELECT id, name, role, created, expires, used, revoked FROM remit.tokens WHERE NOT is_link ORDER BY id

-- name: revoke
-- The sessions that were begun with the token end, too.
WITH ended AS (
    DELETE FROM remit.web_sessions USING remit.tokens
    WHERE web_sessions.token = tokens.id AND tokens.id = %(token)s
)
UPDATE remit.tokens SET revoked = coalesce(revoked, now()) WHERE id = %(token)s AND NOT is_link RETURNING id, name

-- name: of_bearer
SELECT id, name, role FROM remit.tokens
WHERE digest = %(digest)s AND NOT is_link AND revoked IS NULL AND (expires IS NULL OR expires > now())

-- name: note_use
UPDATE remit.tokens SET used = now()
WHERE id = %(token)s AND (used IS NULL OR used < now() - interval '1 minute')

-- name: use_link
-- One statement: of two browsers with the same link, one gets the session.
UPDATE remit.tokens SET used = now()
WHERE digest = %(digest)s AND is_link AND used IS NULL AND revoked IS NULL AND (expires IS NULL OR expires > now())
RETURNING id

-- name: begin_session
WITH old AS (DELETE FROM remit.web_sessions WHERE expires < now())
INSERT INTO remit.web_sessions (digest, token, expires)
VALUES (%(digest)s, %(token)s, now() + make_interval(secs => %(seconds)s))

-- name: of_session
SELECT tokens.id, tokens.name, tokens.role
FROM remit.web_sessions JOIN remit.tokens ON tokens.id = web_sessions.token
WHERE web_sessions.digest = %(digest)s AND web_sessions.expires > now() AND tokens.revoked IS NULL

-- name: end_session
DELETE FROM remit.web_sessions WHERE digest = %(digest)s

-- name: drop_link
-- A link that was not used is void when its server stops.
DELETE FROM remit.tokens WHERE id = %(token)s AND is_link AND used IS NULL

-- name: begin_write
INSERT INTO remit.audit (who, role, host, action, target, details)
VALUES (%(who)s, %(role)s, %(host)s, %(action)s, %(target)s, %(details)s) RETURNING id

-- name: end_write
UPDATE remit.audit SET outcome = %(outcome)s WHERE id = %(id)s

-- name: audit
SELECT id, at, who, role, host, action, target, details, outcome FROM remit.audit
WHERE %(before)s::bigint IS NULL OR id < %(before)s ORDER BY id DESC LIMIT %(limit)s
