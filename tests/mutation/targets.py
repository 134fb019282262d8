"""What is mutated, and by which tests a mutant must be noticed.

A target has files, and stages: a mutant that passes the first stage, which is quick, goes on to the next. A stage compiles
its units with the mutant in place, and links them in front of what the program of a test is linked of, so that the linker
takes theirs; `keep` chooses among the objects of that program. Units of a library are found by the compiler's own list
of what each object depends on (`ninja -t deps`), where the stage names none.
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stage:
    program: str                    # the target of ninja
    units: tuple = ()               # sources; empty: those of the program's libraries that depend on the file
    keep: str = ""                  # a regular expression for the program's own objects; "": all of them
    only: str = "*"                 # --gtest_filter
    define: tuple = ()              # for the compiler
    environment: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    name: str
    files: tuple
    stages: tuple


def queue(name, kinds, files, *tests):
    suite = r"foliot_(conformance|twin|allocations)\.dir"
    define = (f"-DFOLIOT_MUTATED_QUEUES={kinds}",)
    unit = "tests/mutation/one_queue.cpp"
    random = {"RC_PARAMS": "seed=1 max_success=40"}
    stages = [Stage("tests/queue/queue_test", (unit,), suite, define=define, environment=random)]
    if tests:
        units = (unit, "tests/queue/conformance/exhaustive_test.cpp", *(f"tests/queue/{each}_test.cpp" for each in tests))
        more = {"RC_PARAMS": "seed=2 max_success=300"}
        stages.append(Stage("tests/queue/queue_test", units, suite, define=define, environment=more))
    return Target(name, tuple(f"include/foliot/queue/{each}.hpp" for each in files), tuple(stages))


def word(name, file, model, *own):
    """A word, by the model of the checker that looks at it, and then by tests of its own: pairs of a program and a source."""
    models = Stage("tests/model/model_test", (f"tests/model/{model}_test.cpp",), "^$")
    return Target(name, (file,), (models, *(Stage(program, (source,), "^$") for program, source in own)))


def library(name, folder, files, *stages):
    return Target(name, tuple(f"{folder}/{each}" for each in files), stages)


SEED = {"RC_PARAMS": "seed=1 max_success=100"}
TARGETS = (
    queue("foliot-queue", "foliot_queue,small_foliot_queue",
          ("foliot_queue", "detail/open_window", "detail/slot_table", "detail/ring_levels", "detail/place", "detail/chunk_pool",
           "detail/window_sort"), "foliot_queue", "foliot_queue_memory", "detail/ring_levels", "detail/window_sort"),
    queue("quad-heap", "quad_heap", ("quad_heap", "detail/quad_sift", "detail/deadline_heap"), "quad_heap", "heaps",
          "detail/quad_sift"),
    queue("quad-heap-lazy", "quad_heap_lazy", ("quad_heap_lazy",), "quad_heap_lazy", "heaps"),
    queue("goim-heap", "goim_heap", ("goim_heap",), "goim_heap", "heaps"),
    queue("red-black-tree", "red_black_tree", ("red_black_tree",), "red_black_tree"),
    queue("hashed-wheel", "hashed_wheel,small_hashed_wheel", ("hashed_wheel", "detail/wheel_ring"), "hashed_wheel", "wheels"),
    queue("hierarchical-wheel", "hierarchical_wheel,linux_wheel",
          ("hierarchical_wheel", "detail/wheel_level", "detail/wheel_levels"), "hierarchical_wheel", "wheels"),
    queue("erlang-wheel", "erlang_wheel,small_erlang_wheel", ("erlang_wheel", "detail/erlang_position"), "erlang_wheel", "wheels"),
    word("timer-word", "include/foliot/queue/detail/timer_word.hpp", "timer_word",
         ("tests/queue/queue_test", "tests/queue/detail/timer_word_test.cpp")),
    word("wait-word", "include/foliot/runtime/detail/wait_word.hpp", "wait_word",
         ("tests/runtime/runtime_test", "tests/runtime/wait_word_test.cpp")),
    word("parker", "src/runtime/parker.hpp", "parker"),
    word("run-queue", "src/runtime/run_queue.hpp", "run_queue"),
    word("timer-status", "src/runtime/timer_status.hpp", "timer_status",
         ("tests/runtime/runtime_test", "tests/runtime/timer_status_test.cpp")),
    word("idle-workers", "src/runtime/idle_workers.hpp", "idle"),
    word("lockless-path", "src/service/lockless_path.hpp", "lockless_counts"),
    library("shard", "src/service", ("shard.hpp", "lockless_path.hpp", "running_callbacks.hpp", "timer_thread.hpp", "batch_part.hpp"),
            Stage("tests/service/service_test", ("src/service/foliot_engine.cpp",))),
    library("broker", "src/jobs/broker",
            ("core.cpp", "claims.cpp", "claims.hpp", "availability.hpp", "batch_events.cpp", "held_jobs.hpp", "node_news.hpp",
             "parted_jobs.hpp", "request_queue.hpp", "tube_pauses.cpp", "tube_registry.hpp", "waiting_clients.hpp",
             "commit_delay.hpp", "event_buffer.cpp"),
            Stage("tests/jobs/broker_test", environment=SEED)),
    library("memory-store", "src/jobs/memory", ("executor.cpp", "executor.hpp", "memory_store.cpp"),
            Stage("tests/jobs/jobs_test", only="-*Canary*:*Policy*:*RandomJobs*"),
            Stage("tests/jobs/jobs_test", only="*AgreeWithTheOracle/*-*Canary*", environment=SEED)),
    library("embedded-store", "src/jobs/embedded",
            ("core.cpp", "job_indexes.cpp", "job_records.cpp", "once_records.cpp", "record.cpp", "reservations.hpp", "window.hpp",
             "tube.cpp", "tubes.cpp", "keys.hpp"),
            Stage("tests/jobs/embedded_conformance_test", only="-*RandomJobs*"),
            Stage("tests/jobs/embedded_store_test", environment=SEED),
            Stage("tests/jobs/embedded_conformance_test", only="*AgreeWithTheOracle/*",
                  environment={"RC_PARAMS": "seed=1 max_success=10"})),
)
