"""What tests, benchmarks and the demonstration of a cluster share: a client of beanstalk, servers, and cases of tests.

ctest and the scripts set PYTHONPATH to the folder of this package; the commands in bench/ find it beside them."""
