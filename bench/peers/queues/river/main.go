// Measures River, a queue over PostgreSQL, for bench/compare_queues.py: see ../README.md.
//
// The settings are those of River's own benchmark (`river bench`), but for the number of workers, which is an argument.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	batch = 5000            // jobs of an insert
	lead  = 3 * time.Second // from the last insert to the first due time
)

type settings struct {
	workload string
	jobs     int
	rate     int
	seconds  int
	workers  int
}

type args struct {
	Due int64 `json:"due"` // microseconds since 1970, or 0
}

func (args) Kind() string { return "peer" }

// figures are what the workers have done. Any thread.
type figures struct {
	firstStart atomic.Int64 // nanoseconds since 1970
	finished   atomic.Int64
	lastFinish atomic.Int64
	mutex      sync.Mutex
	late       []float64 // milliseconds
}

type worker struct {
	river.WorkerDefaults[args]
	all *figures
}

func (w *worker) Work(_ context.Context, job *river.Job[args]) error {
	now := time.Now().UnixNano()
	w.all.firstStart.CompareAndSwap(0, now)
	if job.Args.Due != 0 {
		w.all.mutex.Lock()
		w.all.late = append(w.all.late, float64(now)/1e6-float64(job.Args.Due)/1e3)
		w.all.mutex.Unlock()
	}
	return nil
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/riverqueue/river" {
			return "River " + module.Version + ", " + info.GoVersion
		}
	}
	return "River"
}

func insert(ctx context.Context, client *river.Client[pgx.Tx], count int, dueOf func(n int) time.Time) error {
	for done := 0; done < count; {
		jobs := make([]river.InsertManyParams, min(batch, count-done))
		for i := range jobs {
			if dueOf == nil {
				jobs[i].Args = args{}
				continue
			}
			due := dueOf(done + i)
			jobs[i] = river.InsertManyParams{Args: args{Due: due.UnixMicro()}, InsertOpts: &river.InsertOpts{ScheduledAt: due}}
		}
		if _, err := client.InsertMany(ctx, jobs); err != nil {
			return err
		}
		done += len(jobs)
	}
	return nil
}

// pass writes a line, and waits for one.
func pass(input *bufio.Reader, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	_, err = input.ReadString('\n')
	if err == io.EOF {
		return nil
	}
	return err
}

// flow keeps between jobs/2 and jobs in stock, and returns the finished ones of the time after the first second.
func flow(ctx context.Context, client *river.Client[pgx.Tx], given settings, all *figures) (int64, float64, error) {
	put := int64(given.jobs)
	begin := time.Now()
	var from time.Time
	var before int64
	for {
		finished := all.finished.Load()
		if from.IsZero() && time.Since(begin) > time.Second {
			from, before = time.Now(), finished
		}
		if !from.IsZero() && time.Since(from) > time.Duration(given.seconds)*time.Second {
			return finished - before, time.Since(from).Seconds(), nil
		}
		if open := put - finished; open < int64(given.jobs)/2 {
			count := int64(given.jobs) - open
			if err := insert(ctx, client, int(count), nil); err != nil {
				return 0, 0, err
			}
			put += count
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func run(ctx context.Context, given settings) error {
	pool, err := pgxpool.New(ctx, "") // from the environment
	if err != nil {
		return err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	all := &figures{}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{all: all})
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: given.workers}},
		Workers:           workers,
	})
	if err != nil {
		return err
	}
	// An event comes when the end of a job has been committed.
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 1 << 20, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	go func() {
		for range events {
			all.lastFinish.Store(time.Now().UnixNano())
			all.finished.Add(1)
		}
	}()

	var dueOf func(n int) time.Time
	if given.workload == "lateness" {
		given.jobs = given.rate * given.seconds
		first := time.Now().Add(lead + time.Duration(given.jobs)*time.Second/3000)
		dueOf = func(n int) time.Time { return first.Add(time.Duration(n) * time.Second / time.Duration(given.rate)) }
	}
	if err = insert(ctx, client, given.jobs, dueOf); err != nil {
		return err
	}
	input := bufio.NewReader(os.Stdin)
	if err = pass(input, map[string]any{"ready": true}); err != nil {
		return err
	}
	if err = client.Start(ctx); err != nil {
		return err
	}
	result := map[string]any{"version": version()}
	if given.workload == "flow" {
		count, seconds, err := flow(ctx, client, given, all)
		if err != nil {
			return err
		}
		result["jobs"], result["seconds"] = count, seconds
	} else {
		for all.finished.Load() < int64(given.jobs) {
			time.Sleep(5 * time.Millisecond)
		}
		result["jobs"], result["seconds"] = given.jobs, float64(all.lastFinish.Load()-all.firstStart.Load())/1e9
	}
	if given.workload == "lateness" {
		sort.Float64s(all.late)
		at := func(part float64) float64 { return all.late[int(float64(len(all.late)-1)*part)] }
		result["early"] = sort.SearchFloat64s(all.late, 0)
		result["p50"], result["p99"], result["max"] = at(0.5), at(0.99), at(1)
	}
	if err = pass(input, result); err != nil {
		return err
	}
	return client.StopAndCancel(ctx)
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: river WORKLOAD JOBS RATE SECONDS WORKERS")
		os.Exit(2)
	}
	var numbers [4]int
	for i := range numbers {
		value, err := strconv.Atoi(os.Args[2+i])
		if err != nil {
			fmt.Fprintf(os.Stderr, "river: %q is not a number\n", os.Args[2+i])
			os.Exit(2)
		}
		numbers[i] = value
	}
	given := settings{os.Args[1], numbers[0], numbers[1], numbers[2], numbers[3]}
	if err := run(context.Background(), given); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}
