"""`foliot serve --store DATABASE --check` over a database that is damaged: each kind of damage is found and named."""

from kit.program_case import main
from nodes_test import NodesCase

# A job in the tube `t` that is ready, and one in `u` that a node has.
SOUND = """
TRUNCATE foliot.job, foliot.ready, foliot.delayed, foliot.reserved, foliot.buried, foliot.leaving, foliot.pause,
  foliot.tube, foliot.node, foliot.away, foliot.ready_floor;
SELECT foliot.put('t', 'waits'), foliot.put('u', 'is held');
SELECT foliot.announce('n', 1, 3600000000000, 0, NULL);
SELECT id FROM foliot.claim((SELECT session FROM foliot.node), 1, NULL, '{u}', 1, NULL);
"""
PLACE = "id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks"
NOT_GIVEN = 1 << 40
# By what is said of it: what does it.
DAMAGE = {
    "job {ready} has no state": "DELETE FROM foliot.ready",
    "job {ready} is buried and ready": f"INSERT INTO foliot.buried SELECT {PLACE}, 1 FROM foliot.ready",
    "job {reserved} is leaving and reserved": f"INSERT INTO foliot.leaving SELECT {PLACE}, 1, 1 FROM foliot.reserved",
    "job {ready} is ready, but its text is missing": "DELETE FROM foliot.job WHERE id = {ready}",
    "job {ready} is ready in another tube": "UPDATE foliot.ready SET tube = (SELECT tube FROM foliot.reserved)",
    "job {ready} is in a tube that is not known": "DELETE FROM foliot.tube WHERE name = 't'",
    "job {reserved} is reserved, but has had no reservation": "UPDATE foliot.reserved SET reserves = 0",
    "job {reserved} is reserved by a session that is over": "UPDATE foliot.reserved SET session = 999999",
    f"job {NOT_GIVEN} has an id that was not given yet":
        f"UPDATE foliot.job SET id = {NOT_GIVEN} WHERE id = {{ready}}; UPDATE foliot.ready SET id = {NOT_GIVEN}",
    "job {ready} lies before the floor of its tube":
        "INSERT INTO foliot.ready_floor SELECT tube, pri, id + 1 FROM foliot.ready; UPDATE foliot.ready SET part = 9",
    "job {ready} is in a tube that has moved to another database": "INSERT INTO foliot.away VALUES ('t', now())",
    "tube 999 is paused, but not known": "INSERT INTO foliot.pause VALUES (999, 9223372036854775807, 1)",
}


class DamagedDatabase(NodesCase):
    def sql(self, statement):
        return self.database.sql(self.database.folder, statement)

    def test_each_kind_of_damage_is_named(self):
        check = ["serve", "--store", self.database.database, "--check"]
        for text, damage in DAMAGE.items():
            with self.subTest(text):
                self.sql(SOUND)
                self.assertEqual(self.expect_done(*check), f"{self.database.folder}/jobs: no damage found\n")
                ids = {table: self.sql(f"SELECT id FROM foliot.{table}") for table in ["ready", "reserved"]}
                self.sql(damage.format(**ids))
                self.expect_error(f"the store in {self.database.folder}/jobs is damaged: {text.format(**ids)}\n", *check, code=1)


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
