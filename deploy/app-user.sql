-- Creates the user of the servers, or updates its password and permissions. Run it with psql as the user who migrates:
--   psql --set=ON_ERROR_STOP=1 --set=password=SECRET --file=app-user.sql "$ADMIN_URL"
SELECT 'CREATE ROLE app LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'app') \gexec
ALTER ROLE app PASSWORD :'password';

-- A server stops waiting for a statement after 30 seconds; the database then ends it too.
ALTER ROLE app SET statement_timeout = '60s';

GRANT USAGE ON SCHEMA loom TO app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA loom TO app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA loom TO app;
-- Tables that this user creates later.
ALTER DEFAULT PRIVILEGES IN SCHEMA loom GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
ALTER DEFAULT PRIVILEGES IN SCHEMA loom GRANT USAGE ON SEQUENCES TO app;
