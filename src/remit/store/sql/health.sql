-- name: server
SELECT current_setting('server_version') AS version
