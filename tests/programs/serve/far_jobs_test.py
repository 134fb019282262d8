"""The server's memory follows the jobs that are near, not those that are stored."""
import threading

from kit.beanstalk_client import need_space
from kit.program_case import main
from kit.serve_case import ServeCase

JOBS = 100_000
MEGABYTE = 1 << 20


class FarJobs(ServeCase):
    def test_far_jobs_take_no_memory(self):
        need_space(self, self.here, 1 << 29)
        server = self.serve()
        self.connect_alone(server)
        empty = self.resident(server)
        client = self.connect(server)
        body = b"%01000d"
        # 100 MB, due at different times within a year.
        puts = (b"put 0 %d 60 1000\r\n" % (10_000 + 300 * job % 31_000_000) + body % job + b"\r\n"
                for job in range(1, JOBS + 1))
        sender = threading.Thread(target=lambda: [client.send(each) for each in puts])
        sender.start()
        for job in range(1, JOBS + 1):
            self.assertEqual(client.answer(), b"INSERTED %d\r\n" % job)
        sender.join()
        self.assertEqual(server.stop(), (0, ""))
        server = self.serve()
        client = self.connect(server)
        self.assertEqual(client.numbers(b"stats\r\n")["current-jobs-delayed"], JOBS)
        for job in [1, JOBS // 2, JOBS]:
            self.assertEqual(client.ask(b"peek %d\r\n" % job), b"FOUND %d 1000\r\n" % job + body % job + b"\r\n")
        more = self.resident(server) - empty
        print(f"{JOBS} far jobs take {more} bytes of memory")
        self.assertLess(more, 50 * MEGABYTE)


if __name__ == "__main__":
    main()
