-- Run once, in single-user mode, before the server of a data folder starts: the tables get an owner without any other
-- right. An empty line ends each statement.
CREATE ROLE remit_owner LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS;

ALTER DATABASE postgres OWNER TO remit_owner;

