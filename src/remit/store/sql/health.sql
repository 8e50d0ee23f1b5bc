-- name: server
SELECT current_setting('server_version') AS version, (SELECT max(number) FROM remit.migrations) AS applied
