-- The last statement of a migration: rights to the functions.
--
-- A function that has the rights of its caller is open to all roles, because it can do nothing that its caller may not do;
-- the role of the nodes calls most of them. The statement repairs that where the default privileges of the schema's owner
-- take functions from PUBLIC. Functions that run with the rights of the owner, and put(), must be granted.
--
-- Called by: a migration. Locks: rows of the catalog, until the migration is committed.

DO $$
DECLARE
  each_function regprocedure;
BEGIN
  FOR each_function IN
    SELECT p.oid::regprocedure FROM pg_proc p
    WHERE p.pronamespace = 'foliot'::regnamespace AND NOT p.prosecdef AND p.proname <> 'put'
      AND NOT has_function_privilege('public', p.oid, 'EXECUTE')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', each_function);
  END LOOP;
END $$;
