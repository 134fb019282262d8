-- The step from version 4 of the schema to version 5: operations that happen once
-- (docs/decisions/0021-operations-that-happen-once.md). Versions 3 and 4 have no step: their tables are those of version 2.
-- A migration executes this file once, behind step_2.sql or over a schema of an earlier version. It stays as it is, except
-- for its comments.
--
-- Programs of earlier versions go on over this version. They know no such operations, and leave the table as it is.

-- What has happened, by the key of `once` (once.hpp): see once.sql. `answer` is null only in the transaction that executes
-- the operation. `kind` says which form the answer has. `tubes` are those of the operation, by their names, because a name
-- may get another number (tube_names.sql). `ends` is in milliseconds since 1970. The update that brings the answer makes a
-- longer row, and changes no index, because inserts leave room for it in the page.
CREATE TABLE foliot.once (
  key bytea PRIMARY KEY,
  request bytea,
  kind smallint,
  ends bigint NOT NULL,
  tubes bytea[],
  answer bigint[]
) WITH (fillfactor = 30);
CREATE INDEX once_ends ON foliot.once (ends);
-- Turns of the rotation have deleted what ended before this time, in milliseconds since 1970.
CREATE SEQUENCE foliot.once_floor AS bigint MINVALUE 0;
SELECT setval('foliot.once_floor', 0);

-- A role that deletes the numbers of its batches is one of nodes: so the programs of this version need no further GRANT.
DO $$
DECLARE
  each_role text;
BEGIN
  FOR each_role IN
    SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
    FROM pg_class c, aclexplode(c.relacl) a
    WHERE c.oid = 'foliot.batch'::regclass AND a.privilege_type = 'DELETE' AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON foliot.once TO %s', each_role);
  END LOOP;
END $$;

-- With their new arguments they are other functions: a call of an earlier version would fit both.
DROP FUNCTION IF EXISTS foliot.leave(bytea);
