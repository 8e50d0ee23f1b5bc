-- Run once, in single-user mode, before the server of a data folder starts: the tables get an owner without any other
-- right. An empty line ends each statement.
DO $$ BEGIN
    CREATE ROLE remit_owner LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;

ALTER DATABASE postgres OWNER TO remit_owner;

DO $$ DECLARE statement text; BEGIN
    FOR statement IN
        SELECT format('ALTER SCHEMA %I OWNER TO remit_owner', nspname) FROM pg_namespace WHERE nspname = 'remit'
        UNION ALL
        SELECT format('ALTER %s %s OWNER TO remit_owner', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
        FROM pg_class WHERE relnamespace = to_regnamespace('remit') AND relkind IN ('r', 'p', 'v')
        UNION ALL
        SELECT format('ALTER SEQUENCE %s OWNER TO remit_owner', oid::regclass)
        FROM pg_class WHERE relnamespace = to_regnamespace('remit') AND relkind = 'S'
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i'))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO remit_owner', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = to_regnamespace('remit')
        UNION ALL
        SELECT format('ALTER TYPE %s OWNER TO remit_owner', pg_type.oid::regtype)
        FROM pg_type LEFT JOIN pg_class ON pg_class.oid = typrelid
        WHERE typnamespace = to_regnamespace('remit') AND (typtype IN ('e', 'd') OR relkind = 'c')
    LOOP
        EXECUTE statement;
    END LOOP;
END $$;

