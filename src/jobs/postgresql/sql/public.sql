-- What has the rights of its caller is for all roles, also where the default privileges of the schema's owner take
-- functions from PUBLIC: it can do nothing that its caller may not do. The role of the nodes calls most of it.
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
