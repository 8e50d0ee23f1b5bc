-- name: server
SELECT current_setting('server_version') AS version

-- name: owner
-- The database, and which of some roles may do everything.
SELECT current_database() AS database, ARRAY(
    SELECT rolname::text FROM pg_roles
    WHERE rolname = ANY (%(roles)s::text[]) AND (rolsuper OR EXISTS (
        SELECT 1 FROM pg_tables WHERE schemaname = 'remit' AND pg_has_role(pg_roles.oid, tableowner, 'MEMBER')))
) AS powerful
